"""Models by name: from inputs in their units to predictions in theirs."""

from collections.abc import Callable

from torch import nn

from mclstm.models.lstm import build_lstm
from mclstm.models.mass import build_mass

__all__ = ["MODELS"]

# Each takes (sizes, moments, **options) and gives a module (x, a, static, state) -> Output.
MODELS: dict[str, Callable[..., nn.Module]] = {
    "mclstm": build_mass,
    "lstm": build_lstm,
}
