"""How each MC-LSTM of the pendulum is built and trained.

A recipe was chosen on the settings of `task.TUNING` and committed before it met the 120 data sets. `scoring`
counts how often the 120 sets have been scored with a recipe of this model; a change after that raises it.
Result rows keep the hash of their recipe: another recipe under the same number is refused.
"""

import hashlib
import json
from typing import Literal, NamedTuple

from mclstm.nn.arguments import one_of
from mclstm.ops.hypernetwork import Sight
from mclstm_paper.pendulum.switches import NETWORK_SEES_CELLS, SEPARATE_SCALES, WEIGHT_DECAY
from mclstm_paper.protocols import Protocol

__all__ = ["LSTM", "LSTM_CELLS", "MASS_MODELS", "Aux", "Recipe", "recipe"]

Aux = Literal["sines", "clock", "nothing", "motion"]
LSTM, LSTM_CELLS = "lstm", 256

CELLS = Sight("cells", (0, 1), (1.0, 1.0), (0.0, 0.0))
SHARES = Sight("share", (0, 1), (1.0, 1.0), (0.0, 0.0))
KINETIC_SHARE = Sight("share", (0,), (2.0,), (-1.0,))
KINETIC_SHARE_AND_CHANGE = Sight("share and change", (0,), (2.0, 12.0), (-1.0, 0.0))


class Recipe(NamedTuple):
    """A model, its start, and its training."""

    aux: Aux  # what it sees at every step beside the state
    sight: Sight = SHARES
    outlet: Literal["gate", "constant"] = "gate"  # sees the cells, or nothing
    outlet_start: float = -8.0  # logit
    stay: float | None = None  # logit on R's diagonal at the start; None: U(0, 1) for every logit
    last_layer: float = 1.0  # factor of the last layer's start
    separate_scales: bool = False
    offset: tuple[float, float] = (1.02, -0.01)  # slope and intercept from a cell to a prediction
    updates: int = 1_500
    rate: float = 0.01
    falls_after: float = 1.0  # share of the updates
    falls_to: float = 1.0  # factor of the rate at the end
    weight_decay: float = 0.0
    clip: float | None = None  # norm of a member's gradient
    keep_best: bool = False  # the weights of the lowest error at the largest window
    restarts: int = 1  # of which the one with the lowest training error counts
    scoring: int = 1

    def digest(self) -> str:
        """A hash of everything but the number of the scoring.

        >>> one, again, other = Recipe("clock"), Recipe("clock", scoring=2), Recipe("clock", rate=0.1)
        >>> one.digest() == again.digest() != other.digest()
        True
        """
        content = json.dumps(self._replace(scoring=0)._asdict(), sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    def rates(self, updates: int) -> list[float]:
        """The learning rate of every update, for a training of this length.

        >>> [round(rate, 4) for rate in Recipe("nothing", falls_after=0.5, falls_to=0.01).rates(4)]
        [0.01, 0.01, 0.01, 0.001]
        """
        start = int(self.falls_after * updates)
        shares = [max(0, update - start) / max(1, updates - start) for update in range(updates)]
        return [self.rate * self.falls_to**share for share in shares]


def published_or_stated(protocol: Protocol) -> Recipe:
    """The paper's own MC-LSTM, and the LSTM as far as it has the same settings."""
    return Recipe(
        aux="sines",
        sight=CELLS if NETWORK_SEES_CELLS.on(protocol) else SHARES,
        outlet_start=-5.0,
        separate_scales=SEPARATE_SCALES.on(protocol),
        weight_decay=1e-5 if WEIGHT_DECAY.on(protocol) else 0.0,
    )


INVARIANT = Recipe(
    aux="nothing",
    sight=KINETIC_SHARE_AND_CHANGE,
    outlet="constant",
    stay=2.5,
    last_layer=0.3,
    offset=(1.0, 0.0),
    updates=3_000,
    rate=0.003,
    falls_after=0.5,
    falls_to=0.02,
    clip=0.1,
    keep_best=True,
    restarts=4,
)
CLOCK = Recipe(
    aux="clock",
    sight=KINETIC_SHARE,
    outlet="constant",
    offset=(1.0, 0.0),
    falls_after=0.5,
    falls_to=0.05,
    keep_best=True,
)
MASS_MODELS = ("mclstm", "mclstm-invariant", "mclstm-clock")


def recipe(model: str, protocol: Protocol) -> Recipe:
    """The recipe of a model under a protocol.

    >>> recipe("mclstm", "published").weight_decay, recipe("mclstm-clock", "stated").aux
    (1e-05, 'clock')
    """
    one_of("model", model, (*MASS_MODELS, LSTM))
    variants = {"mclstm-invariant": INVARIANT, "mclstm-clock": CLOCK}
    return variants[model] if model in variants else published_or_stated(protocol)
