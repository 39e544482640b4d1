"""Every form of the layer that a user can choose, by name: VARIANTS and, coupling samples, COUPLED."""

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from mclstm import MCLSTM
from mclstm.ops.dispatch import BACKENDS

MASS, AUX, STATIC = 2, 3, 2
EACH_BACKEND = [name for name in BACKENDS if name != "auto"]
Module = TypeVar("Module", bound=nn.Module)


class AnyModule(nn.Module):
    """A small network from everything it may see to the logits of R."""

    def __init__(self, cells: int, aux: int = AUX + STATIC, mass: int = MASS) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(mass + aux + cells, 5), nn.Tanh(), nn.Linear(5, cells * cells))

    def forward(self, x: Tensor, a: Tensor, c: Tensor) -> Tensor:
        logits: Tensor = self.net(torch.cat([x, a, c], dim=-1))
        return logits


def ring(cells: int) -> Tensor:
    """Mass may stay or go to the next cell."""
    eye = torch.eye(cells, dtype=torch.bool)
    return eye | eye.roll(1, dims=1)


VARIANTS: dict[str, Callable[[int], dict[str, Any]]] = {
    "dynamic": lambda K: {},
    "dynamic-hydrology-start": lambda K: {"stay": None},
    "static": lambda K: {"redistribution": "static"},
    "outer": lambda K: {"redistribution": "outer"},
    "identity": lambda K: {"redistribution": "identity"},
    "hypernetwork": lambda K: {"redistribution": AnyModule(K)},
    "masked": lambda K: {"mask": ring(K)},
    "masked-relu": lambda K: {"mask": ring(K), "redistribution_norm": "relu"},
    "masked-sigmoid": lambda K: {"mask": ring(K), "redistribution_norm": "sigmoid"},
    "sigmoid-softmax": lambda K: {"redistribution_norm": "sigmoid", "input_norm": "softmax"},
    "relu-sigmoid": lambda K: {"redistribution_norm": "relu", "input_norm": "sigmoid"},
    "softmax-relu": lambda K: {"redistribution_norm": "softmax", "input_norm": "relu"},
    "sees-nothing": lambda K: {"gates_see": ()},
    "sees-aux": lambda K: {"gates_see": ("aux",)},
    "sees-state": lambda K: {"gates_see": ("state",)},
    "sees-mass": lambda K: {"gates_see": ("mass",)},
    "sees-all": lambda K: {"gates_see": ("aux", "state", "mass")},
    "hydrology": lambda K: {
        "gates_see": ("aux", "state", "mass"),
        "redistribution_norm": "relu",
        "input_norm": "sigmoid",
        "stay": None,
    },
    "learned-start": lambda K: {"initial_state": "learned"},
    "constant-outlet": lambda K: {"outlet": "constant"},
    "closed": lambda K: {"outlet": "none"},
    "sees-amounts": lambda K: {"state_norm": "none", "gates_see": ("state",)},
    "filled-start": lambda K: {"initial_state": 2.5},
    "signed": lambda K: {"allow_negative_mass": True},
}

# Samples of a batch see each other's stores, so that one alone, or with padding beside it, has other results:
# not for tests that compare a sample alone with itself in a batch.
COUPLED: dict[str, Callable[[int], dict[str, Any]]] = {
    "batch-state-norm": lambda K: {"state_norm": "batch", "stay": None},
}

EVERY = VARIANTS | COUPLED

ABLATIONS = ("input", "redistribution", "output")


def build(name: str, cells: int = 4, **options: Any) -> MCLSTM:
    """The named variant in float64, its weights shaken so that every gate depends on what it sees."""
    defaults = {"static_size": STATIC, "dtype": torch.float64}
    layer = MCLSTM(MASS, AUX, cells, **{**defaults, **EVERY[name](cells), **options})
    layer.to(layer.gates.W_i.dtype)
    return shaken(layer)


@torch.no_grad()
def shaken(layer: Module, size: float = 0.5) -> Module:
    """Add noise to every parameter."""
    for parameter in layer.parameters():
        parameter.add_(size * torch.randn_like(parameter))
    return layer


def inputs(
    steps: int = 5, batch: int = 3, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor, Tensor]:
    """x (T, B, M), a (T, B, A), static (B, S)."""
    x = torch.rand(steps, batch, MASS, dtype=dtype)
    a = torch.randn(steps, batch, AUX, dtype=dtype)
    return x, a, torch.randn(batch, STATIC, dtype=dtype)
