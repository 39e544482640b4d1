"""The models MC-LSTM is compared with, each with an ensemble dimension.

All of `BASELINES` are sequence layers `layer(x) -> (h, state)`, built with (input_size, hidden_size), and say
their `output_size`; `UNITS` are the feed-forward arithmetic units, built with (input_size, output_size).

>>> layer = BASELINES["nau"](2, 10, members=3, seeds=[0, 1, 2])
>>> head = Linear(layer.output_size, 1, members=3)
"""

from collections.abc import Callable
from functools import partial

from mclstm_paper.baselines.linear import Linear
from mclstm_paper.baselines.ln_lstm import LNLSTM
from mclstm_paper.baselines.lstm import LSTM
from mclstm_paper.baselines.recurrent import UNITS, RecurrentUnit
from mclstm_paper.baselines.urnn import URNN

__all__ = ["BASELINES", "UNITS", "Linear"]

BASELINES: dict[str, Callable[..., LSTM | LNLSTM | URNN | RecurrentUnit]] = {
    "lstm": LSTM,
    "ln-lstm": LNLSTM,
    "urnn": URNN,
    "nac": partial(RecurrentUnit, "nac"),
    "nac-mul": partial(RecurrentUnit, "nac-mul"),
    "nalu": partial(RecurrentUnit, "nalu"),
    "nau": partial(RecurrentUnit, "nau"),
    "nmu": partial(RecurrentUnit, "nmu"),
}
