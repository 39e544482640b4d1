"""Where the protocols of the comparison with Hamiltonian networks differ, beside those of the pendulum."""

from mclstm_paper.pendulum.switches import NETWORK_SEES_CELLS, SEPARATE_SCALES, WEIGHT_DECAY
from mclstm_paper.protocols import Switch

__all__ = ["LEAKED_MOTION", "SWITCHES"]

LEAKED_MOTION = Switch(
    "hnn: leaked motion",
    "MC-LSTM sees the observed angle and velocity of every step, also of those it predicts; otherwise it "
    "sees the nine sine curves of the pendulum.",
)

SWITCHES = (LEAKED_MOTION, SEPARATE_SCALES, NETWORK_SEES_CELLS, WEIGHT_DECAY)
