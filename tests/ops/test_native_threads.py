"""What the kernel's threads must not change: results, bits in deterministic mode, the caller's denormals."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from mclstm import MCLSTM
from mclstm.ops.native import call
from mclstm.ops.native.build import library
from support.cases import Case, in_float32, run
from support.tolerance import assert_close
from support.variants import build, inputs

pytestmark = [
    pytest.mark.usefixtures("each_kernel"),
    pytest.mark.skipif(library() is None, reason="the kernel is not built"),
]

# A problem for each way through the kernel: its options, the samples of a batch.
ALIKE: dict[str, Any] = {"redistribution": "static", "gates_see": ("aux",), "static_size": 0}
KERNELS: dict[str, tuple[dict[str, Any], int]] = {
    "uniform": (ALIKE, 150),
    "small": ({}, 150),
    "worker": ({"cells": 24}, 70),
    "worker, static": ({"cells": 24, "redistribution": "static"}, 150),
    "one sequence": ({"cells": 24}, 1),
    "uniform members": (ALIKE | {"members": 3}, 70),
    "small members": ({"members": 3}, 70),
    "worker members": ({"cells": 24, "members": 3}, 40),
}


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Threads even for little work; everything as it was afterwards."""
    monkeypatch.setattr(call, "WORK_OF_A_THREAD", 1)
    flushed = flushes()
    yield
    torch.set_flush_denormal(flushed)
    torch.use_deterministic_algorithms(False)


def flushes() -> bool:
    """Whether denormals count as zero in this thread."""
    return float(torch.tensor(1e-45) * 1) == 0.0


def problem(name: str) -> tuple[MCLSTM, dict[str, Tensor]]:
    """A layer and its inputs in float32, all but an `a` that all samples share with a gradient."""
    options, batch = KERNELS[name]
    layer = build("dynamic", dtype=torch.float32, backend="native", **options)
    x, a, s = inputs(6, batch, torch.float32)
    given = {
        "x": x,
        "static": s[:, : layer.gates.static_size],
        "c0": torch.rand(batch, layer.gates.hidden_size),
    }
    given = {key: value.requires_grad_() for key, value in given.items()}
    return layer, given | {"a": a[:, :1].expand_as(a) if "uniform" in name else a.requires_grad_()}


def results(layer: MCLSTM, given: dict[str, Tensor], last: bool) -> list[Tensor]:
    """Outflows, cells and all gradients; of torch's own sums only those over members are among them."""
    h, c = (layer.last if last else layer.trajectory)(**given)
    noise = torch.Generator().manual_seed(1)
    worth = [torch.randn(value.shape, generator=noise) for value in (h, c)]
    leaves = [value for value in (*given.values(), *layer.parameters()) if value.requires_grad]
    return [h, c, *torch.autograd.grad((h, c), leaves, worth)]


def same(one: list[Tensor], other: list[Tensor]) -> bool:
    return all(torch.equal(mine, yours) for mine, yours in zip(one, other, strict=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("name", ["dynamic", "static"])
def test_batches_divided_among_threads_are_those_of_the_reference(
    name: str, threads: int, dtype: torch.dtype
) -> None:
    layer, (x, a, s) = build(name, cells=24), inputs(batch=150)
    noise = [torch.randn(steps, 150, 24, dtype=torch.float64) for steps in (5, 6)]
    c0 = torch.rand(150, 24, dtype=torch.float64)
    case = in_float32(Case(layer, {"x": x, "a": a, "static": s, "c0": c0}, None, *noise))
    exact = run(case, "reference", torch.float64)
    own = run(case, "reference", dtype)
    torch.set_num_threads(threads)
    assert_close(run(case, "native", dtype), exact, own, torch.finfo(dtype).eps, steps=5)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_repetition_gives_the_same_bits_with_any_threads(name: str, last: bool) -> None:
    layer, given = problem(name)
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        first = results(layer, given, last)
        assert all(same(first, results(layer, given, last)) for _ in range(3))


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_deterministic_bits_do_not_depend_on_threads(name: str, last: bool) -> None:
    layer, given = problem(name)
    torch.use_deterministic_algorithms(True)
    first = results(layer, given, last)
    for threads in (2, 3):
        torch.set_num_threads(threads)
        assert same(first, results(layer, given, last))


def test_threads_do_change_bits_otherwise() -> None:
    """Or the test before would say nothing."""
    layer, given = problem("worker")
    first = results(layer, given, False)
    torch.set_num_threads(3)
    assert not same(first, results(layer, given, False))


@pytest.mark.parametrize("flushed", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", KERNELS)
def test_denormals_are_left_as_they_were(name: str, threads: int, flushed: bool) -> None:
    layer, given = problem(name)
    torch.set_num_threads(threads)
    assert torch.set_flush_denormal(flushed)
    results(layer, given, False)
    assert flushes() is flushed


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", KERNELS)
def test_denormals_beside_large_masses_are_flushed_in_every_thread(name: str, threads: int) -> None:
    """They cost a hundred cycles each: only where they are all there is, they are kept."""
    layer, given = problem(name)
    torch.set_num_threads(threads)
    torch.set_flush_denormal(False)
    with torch.no_grad():
        layer.gates.b_o.fill_(-1e3)  # what leaves of a mass of 1e-5 is a denormal number
        amounts = {key: torch.full_like(given[key], 1e-5) for key in ("x", "c0")}
        assert not layer.trajectory(**given | amounts)[0].any()
        layer.backend = "reference"
        assert layer.trajectory(**given | amounts)[0].any()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", KERNELS)
def test_masses_that_are_denormal_are_kept_in_every_thread(name: str, threads: int) -> None:
    layer, given = problem(name)
    torch.set_num_threads(threads)
    amounts = {"x": torch.full_like(given["x"], 1e-40), "c0": torch.zeros_like(given["c0"])}
    torch.set_flush_denormal(True)  # the caller's mode does not matter
    with torch.no_grad():
        h, c = layer.trajectory(**given | amounts)
    torch.set_flush_denormal(False)
    expected = 12e-40  # 6 steps of 2 inputs
    stored = h.double().sum(dim=(-3, -1)) + c.double().select(-3, -1).sum(dim=-1)
    assert ((stored - expected).abs() <= 0.01 * expected).all()
