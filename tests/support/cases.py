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
    weight_h: Tensor  # (T, B, K), led by E with members, the loss is sum(weight_h h) + sum(weight_c c)
    weight_c: Tensor  # (T + 1, B, K), likewise
    constant: tuple[str, ...] = ()  # inputs without a gradient


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
    E, T, B, K = _sizes(choose)
    M, A = choose.choice((0, 1, 1, 2, 4)), choose.randint(0, 4)
    # Gates that are the same for all samples have a kernel of their own, and are rare without help.
    alike = choose.random() < 0.12
    options = _options(choose, noise, K, alike)
    layer = MCLSTM(M, A, K, members=E, dtype=torch.float64, backend="reference", **options)
    _set_weights(layer, noise)

    def normal(*shape: int, shared: float = 0.0) -> Tensor:
        """`shared`: how likely all members have the same."""
        lead = () if E is None or choose.random() < shared else (E,)
        return torch.randn(*lead, *shape, generator=noise, dtype=torch.float64)

    x, a = normal(T, B, M, shared=0.5), normal(T, 1 if alike else B, A, shared=0.5)
    inputs = {"x": x if options["allow_negative_mass"] else x.relu(), "a": a.expand(*a.shape[:-2], B, A)}
    inputs["static"] = normal(B, options["static_size"], shared=0.5)
    if choose.random() < 0.5:
        inputs["c0"] = normal(B, K, shared=0.5).abs()
    lengths = torch.randint(0, T + 1, (B,), generator=noise) if not alike and choose.random() < 0.3 else None
    return Case(layer, inputs, lengths, normal(T, B, K), normal(T + 1, B, K), ("a",) if alike else ())


def _sizes(choose: random.Random) -> tuple[int | None, int, int, int]:
    """E, T, B, K; large batches and many cells for few steps, for the reference takes its time with them."""
    E, rare = choose.choice((None, None, None, 1, 3)), choose.random()
    if rare < 0.03:
        return E, choose.choice((1, 2, 3)), 300, choose.choice((1, 3, 4, 8))
    if rare < 0.05:
        return E, choose.choice((1, 2)), choose.choice((1, 2, 9)), 64
    K = choose.choice((1, 2, 3, 4, 5, 7, 8, 11, 16, 19, 33))
    return E, choose.choice((1, 2, 3, 7, 20)), choose.choice((1, 2, 3, 8, 9, 17, 40, 70)), K


def _options(choose: random.Random, noise: torch.Generator, K: int, alike: bool) -> dict[str, Any]:
    kinds = ("static", "identity") if alike else ("dynamic",) * 4 + ("static", "outer", "identity")
    kind = choose.choice(kinds)
    seen = tuple(name for name in ("aux", "state", "mass") if choose.random() < 0.75)
    return {
        "static_size": 0 if alike else choose.choice((0, 0, 1, 5)),
        "redistribution": kind,
        "redistribution_norm": choose.choice(NORMS),
        "input_norm": choose.choice(NORMS),
        "gates_see": ("aux",) if alike else seen,
        "mask": _mask(K, noise, kind == "identity") if choose.random() < 0.3 else None,
        "initial_state": choose.choice(("zero", "learned", 0.5)),
        "outlet": choose.choice(("gate",) * 4 + ("constant", "none")),
        "state_norm": choose.choice(("sample",) * 5 + ("none",)),
        "allow_negative_mass": choose.random() < 0.15,
    }


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
        elif name != "gates.c0":
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
    inputs = {
        name: value.to(dtype).requires_grad_(name not in case.constant) for name, value in case.inputs.items()
    }
    h, c = layer.trajectory(**inputs, lengths=case.lengths)
    loss = (case.weight_h.to(dtype) * h).sum() + (case.weight_c.to(dtype) * c).sum()
    leaves = {name: value for name, value in inputs.items() if value.requires_grad}
    leaves |= dict(layer.named_parameters())
    raw = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
    zeros = [torch.zeros_like(value) for value in leaves.values()]
    grads = [zero if grad is None else grad for grad, zero in zip(raw, zeros, strict=True)]
    forward = {"h": h.detach(), "c": c.detach()}
    return Results(forward, dict(zip(leaves, grads, strict=True)))
