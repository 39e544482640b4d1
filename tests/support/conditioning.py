"""Problems whose outlets are nearly open or nearly closed, and how much rounding their numbers changes."""

import copy
import random
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mclstm import MCLSTM
from support.cases import NORMS

__all__ = ["Sensitive", "draw", "largest_gap", "nudged", "run", "turnover"]

SEES = (("state",), ("aux", "state"), ("aux", "state", "mass"), ("state", "mass"))
KINDS = ("dynamic", "dynamic", "dynamic", "static", "outer", "identity")


class Sensitive(NamedTuple):
    """A layer in float64 whose gates see its state, and what goes into it."""

    layer: MCLSTM
    inputs: dict[str, Tensor]  # x (T, B, M), a (T, B, A), static (B, S), c0 (B, K)


def draw(seed: int) -> Sensitive:
    """A random form with random weights; every outlet's logit is 2 to 62 away from zero."""
    choose, noise = random.Random(seed), torch.Generator().manual_seed(seed)
    K, T, B = choose.choice((1, 2, 3, 5, 8, 16, 33)), choose.choice((5, 12, 25)), choose.choice((2, 3, 9))
    M, A, S = choose.choice((1, 1, 2, 4)), choose.randint(0, 4), choose.choice((0, 0, 4))
    torch.manual_seed(seed)
    layer = MCLSTM(M, A, K, static_size=S, dtype=torch.float64, **_options(choose, noise, K))

    def uniform(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=noise, dtype=torch.float64)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=noise, dtype=torch.float64)

    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(choose.choice((0.1, 0.5, 1.0)) * normal(*parameter.shape))
        open_share = choose.choice((0.0, 0.5, 1.0))
        signs = torch.where(uniform(K) < open_share, 1.0, -1.0)
        layer.gates.b_o.copy_(signs * (2.0 + choose.choice((4.0, 18.0, 60.0)) * uniform(K)))
    x = uniform(T, B, M) * (uniform(T, B, M) < choose.choice((0.3, 1.0)))
    x = x * normal(T, B, M).sign() if layer.gates.form.signed else x
    c0 = choose.choice((0.0, 1.0, 100.0)) * uniform(B, K)
    return Sensitive(layer, {"x": x, "a": normal(T, B, A), "static": normal(B, S), "c0": c0})


def _options(choose: random.Random, noise: torch.Generator, cells: int) -> dict[str, Any]:
    kind = choose.choice(KINDS)
    masked = kind != "identity" and choose.random() < 0.25
    allowed = torch.rand(cells, cells, generator=noise) < 0.6
    return {
        "redistribution": kind,
        "redistribution_norm": choose.choice(NORMS),
        "input_norm": choose.choice(NORMS),
        "gates_see": choose.choice(SEES),
        "mask": allowed | torch.eye(cells, dtype=torch.bool) if masked else None,
        "stay": choose.choice((None, 0.5, 0.9)),
        "allow_negative_mass": choose.random() < 0.1,
    }


def nudged(problem: Sensitive, dtype: torch.dtype) -> Sensitive:
    """The same problem with inputs and weights off by the rounding of a dtype."""
    layer = copy.deepcopy(problem.layer)
    noise = torch.Generator().manual_seed(0)

    def moved(value: Tensor) -> Tensor:
        if dtype == torch.float32:
            return value.float().double()
        eps = torch.finfo(dtype).eps
        return value * (1.0 + eps * torch.randint(-1, 2, value.shape, generator=noise, dtype=dtype))

    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(moved(parameter))
    return Sensitive(layer, {name: moved(value) for name, value in problem.inputs.items()})


@torch.no_grad()
def run(problem: Sensitive, backend: str, dtype: torch.dtype, samples: slice = slice(None)) -> list[Tensor]:
    """h (T, B, K) and c (T + 1, B, K) of a backend, in float64; of some samples alone, if asked."""
    layer = copy.deepcopy(problem.layer).to(dtype)
    layer.backend = backend
    inputs = {
        name: (value[samples] if name in ("static", "c0") else value[:, samples]).to(dtype)
        for name, value in problem.inputs.items()
    }
    return [value.double() for value in layer.trajectory(**inputs)]


def largest_gap(one: list[Tensor], other: list[Tensor]) -> float:
    """The largest difference between the tensors of two lists."""
    gaps = [(first - second).abs().max() for first, second in zip(one, other, strict=True)]
    return torch.stack(gaps).max().item()  # torch's max keeps NaN


def turnover(problem: Sensitive) -> float:
    """All mass that was ever in a sample: of the richest one."""
    x, c0 = problem.inputs["x"], problem.inputs["c0"]
    return float((x.abs().sum(dim=(0, 2)) + c0.abs().sum(dim=-1)).max())
