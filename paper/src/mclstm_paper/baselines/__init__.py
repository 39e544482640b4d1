"""The models MC-LSTM is compared with, each with an ensemble dimension.

`BASELINES` are sequence layers `layer(x) -> (h, state)`, built with (input_size, hidden_size); each has an
`output_size`. `UNITS` are the feed-forward arithmetic units, built with (input_size, output_size).

>>> layer = BASELINES["nau"](2, 10, members=3, seeds=[0, 1, 2])
>>> head = Linear(layer.output_size, 1, members=3)
"""

from collections.abc import Callable
from functools import partial

from mclstm_paper.baselines.arithmetic_units import UNITS, RecurrentUnit
from mclstm_paper.baselines.linear import Linear
from mclstm_paper.baselines.lstm import LNLSTM, LSTM
from mclstm_paper.baselines.urnn import URNN

__all__ = ["BASELINES", "UNITS", "Linear"]

BASELINES: dict[str, Callable[..., LSTM | LNLSTM | URNN | RecurrentUnit]] = {
    "lstm": LSTM,
    "ln-lstm": LNLSTM,
    "urnn": URNN,
    **{kind: partial(RecurrentUnit, kind) for kind in UNITS},
}
