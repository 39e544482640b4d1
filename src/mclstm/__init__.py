"""Mass-Conserving LSTM: what flows in is stored or flows out, exactly.

The public names are loaded on first use, so that commands that need no tensors never import torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mclstm.errors import ConservationError as ConservationError

__version__ = "0.1.0"

PUBLIC = {
    "ConservationError": "mclstm.errors",
}

__all__ = ["ConservationError"]


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module 'mclstm' has no attribute {name!r}")
    return getattr(import_module(PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted([*PUBLIC, "__version__"])
