"""Layers far from their start: every parameter drawn at random, so that no theorem holds by accident."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from mclstm import MCLSTM

Build = Callable[..., MCLSTM]


class FromEverything(torch.nn.Module):
    """A hypernetwork that sees raw mass, auxiliary inputs and raw cells."""

    def __init__(self, mass_size: int, aux_size: int, hidden_size: int) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(mass_size + aux_size + hidden_size, hidden_size**2)

    def forward(self, x: torch.Tensor, a: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.linear(torch.cat([x, a, c], dim=-1))
        return logits


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


@pytest.fixture
def build() -> Build:
    """Build a layer of standard normal parameters; `redistribution="module"` takes a hypernetwork."""

    def built(mass_size: int, aux_size: int, hidden_size: int, *, seed: int = 0, **options: Any) -> MCLSTM:
        torch.manual_seed(seed)
        options.setdefault("dtype", torch.float64)
        if options.get("redistribution") == "module":
            options["redistribution"] = FromEverything(mass_size, aux_size, hidden_size)
        layer = MCLSTM(mass_size, aux_size, hidden_size, **options).to(options["dtype"])
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.normal_()
        return layer

    return built
