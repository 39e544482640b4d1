"""Models by name: from inputs in physical units to predictions in physical units."""

from collections.abc import Callable

from torch import nn

from mclstm.models.lstm_model import LSTMModel
from mclstm.models.mass_model import build_hybrid, build_mass

__all__ = ["MODELS"]

# Each takes (sizes, moments, **options) and returns a module (x, a, static, state) -> Output.
MODELS: dict[str, Callable[..., nn.Module]] = {
    "mclstm": build_mass,
    "hybrid": build_hybrid,
    "lstm": LSTMModel,
}
