"""Random problems for the backends: shapes, options and weights, from a seed."""

import copy
import random
from typing import Any, NamedTuple
from unittest.mock import patch

import torch
from torch import Tensor

from mclstm import MCLSTM
from mclstm.ops import reference

NORMS = ("softmax", "sigmoid", "relu")
LARGEST_LOGIT, KINK = 10.0, 1e-4


class Case(NamedTuple):
    """A layer in float64 and what goes into it."""

    layer: MCLSTM
    inputs: dict[str, Tensor]  # x, a, static, c0
    lengths: Tensor | None
    weight_h: Tensor  # (T, B, K), the loss is sum(weight_h h) + sum(weight_c c)
    weight_c: Tensor  # (T + 1, B, K)


class Results(NamedTuple):
    """What a backend returned."""

    forward: dict[str, Tensor]
    gradients: dict[str, Tensor]


def draw(seed: int) -> Case:
    """A case whose logits are at most 10 and none near the kink of a ReLU."""
    for attempt in range(100):
        case = _draw(random.Random(f"{seed} {attempt}"), torch.Generator().manual_seed(seed * 100 + attempt))
        if _well_conditioned(case):
            return case
    raise AssertionError(f"no case for seed {seed}")


def in_float32(case: Case) -> Case:
    """The same numbers after rounding, so that only the arithmetic differs."""
    layer = copy.deepcopy(case.layer).float().double()
    rounded = {name: value.float().double() for name, value in case.inputs.items()}
    return case._replace(
        layer=layer,
        inputs=rounded,
        weight_h=case.weight_h.float().double(),
        weight_c=case.weight_c.float().double(),
    )


def _draw(choose: random.Random, noise: torch.Generator) -> Case:
    M, A, S = choose.choice((0, 1, 1, 2, 4)), choose.randint(0, 4), choose.choice((0, 0, 1, 5))
    K = choose.choice((1, 2, 3, 4, 5, 7, 8, 11, 16, 19, 33))
    T, B = choose.choice((1, 2, 3, 7, 20)), choose.choice((1, 2, 3, 8, 9, 17, 40, 70))
    signed, kind = choose.random() < 0.15, choose.choice(("dynamic",) * 4 + ("static", "outer", "identity"))
    options: dict[str, Any] = {
        "static_size": S,
        "redistribution": kind,
        "redistribution_norm": choose.choice(NORMS),
        "input_norm": choose.choice(NORMS),
        "gates_see": tuple(name for name in ("aux", "state", "mass") if choose.random() < 0.75),
        "mask": _mask(K, noise, kind == "identity") if choose.random() < 0.3 else None,
        "initial_state": choose.choice(("zero", "learned", 0.5)),
        "allow_negative_mass": signed,
    }
    layer = MCLSTM(M, A, K, dtype=torch.float64, backend="reference", **options)
    _set_weights(layer, noise)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=noise, dtype=torch.float64)

    x = normal(T, B, M) if signed else normal(T, B, M).relu()
    inputs = {"x": x, "a": normal(T, B, A), "static": normal(B, S)}
    if choose.random() < 0.5:
        inputs["c0"] = normal(B, K).abs()
    lengths = torch.randint(0, T + 1, (B,), generator=noise) if choose.random() < 0.3 else None
    return Case(layer, inputs, lengths, normal(T, B, K), normal(T + 1, B, K))


def _mask(cells: int, noise: torch.Generator, must_stay: bool) -> Tensor:
    mask = torch.rand(cells, cells, generator=noise) < 0.6
    mask[torch.arange(cells), torch.randint(cells, (cells,), generator=noise)] = True
    return mask | torch.eye(cells, dtype=torch.bool) if must_stay else mask


@torch.no_grad()
def _set_weights(layer: MCLSTM, noise: torch.Generator) -> None:
    """Biases far from zero and weights that cannot bring the logits there; some rows without a taker."""
    for name, parameter in layer.named_parameters():
        values = torch.randn(parameter.shape, generator=noise, dtype=torch.float64)
        if name.startswith("gates.W"):
            parameter.copy_(0.05 * values)
        elif name != "gates.log_c0":
            parameter.copy_(values.sign() * (0.5 + values.abs()))


def _well_conditioned(case: Case) -> bool:
    seen: list[Tensor] = []
    normalise = reference.normalise

    def watched(z: Tensor, kind: str, *rest: Any) -> Tensor:
        seen.append(z.detach())
        return normalise(z, kind, *rest)

    with torch.no_grad(), patch.object(reference, "normalise", watched):
        case.layer(**case.inputs, lengths=case.lengths)
    values = [z.abs() for z in seen if z.numel() > 0]
    return all(bool((z <= LARGEST_LOGIT).all() and (z >= KINK).all()) for z in values)


def run(case: Case, backend: str, dtype: torch.dtype) -> Results:
    """h, c and the gradients of every input and parameter, computed by one backend in one precision."""
    layer = case.layer.to(dtype)  # the caller goes from float64 to float32 and back with fresh values
    layer.backend = backend
    inputs = {name: value.to(dtype).requires_grad_() for name, value in case.inputs.items()}
    h, c = layer.trajectory(**inputs, lengths=case.lengths)
    loss = (case.weight_h.to(dtype) * h).sum() + (case.weight_c.to(dtype) * c).sum()
    leaves = inputs | dict(layer.named_parameters())
    found = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
    zeros = [torch.zeros_like(value) for value in leaves.values()]
    grads = [zero if grad is None else grad for grad, zero in zip(found, zeros, strict=True)]
    forward = {"h": h.detach(), "c": c.detach()}
    return Results(forward, dict(zip(leaves, grads, strict=True)))
