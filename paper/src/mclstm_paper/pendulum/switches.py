"""Where the protocols of the pendulum differ."""

from mclstm_paper.protocols import Switch

__all__ = ["NETWORK_SEES_CELLS", "OUTLET_ONLY_WITH_FRICTION", "SEPARATE_SCALES", "SWITCHES", "WEIGHT_DECAY"]

SEPARATE_SCALES = Switch(
    "pendulum: separate scales",
    "Each energy is scaled to [0, 1] by its own least and largest value in the training part, so that cells "
    "that conserve mass do not conserve energy; otherwise both are divided by the first total.",
)

OUTLET_ONLY_WITH_FRICTION = Switch(
    "pendulum: outlet only with friction",
    "The outlet is removed where the data set has no friction, which tells the model that nothing is lost.",
)

NETWORK_SEES_CELLS = Switch(
    "pendulum: network sees cells",
    "The hypernetwork sees the cells instead of their shares of the total.",
)

WEIGHT_DECAY = Switch(
    "pendulum: weight decay",
    "Adam has a weight decay of 1e-5, which the text does not mention.",
)

SWITCHES = (SEPARATE_SCALES, OUTLET_ONLY_WITH_FRICTION, NETWORK_SEES_CELLS, WEIGHT_DECAY)
