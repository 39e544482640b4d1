"""Rounding changes results as much as it changes inputs and weights: five hundred configurations.

The gates of these layers see c / |c|, and their outlets are nearly open or nearly closed. If a store kept the
difference m - h, the gates would see nothing but its rounding.

    error <= 4 (change that rounded inputs and weights cause in float64) + 64 eps (mass)
"""

import pytest
import torch

from mclstm import MCLSTM
from support.conditioning import Sensitive, draw, largest_gap, nudged, run, turnover
from support.kernels import untested
from support.variants import EACH_BACKEND

pytestmark = pytest.mark.usefixtures("each_kernel")

BLOCKS, CASES = 10, 500


def bound(change: float, mass: float, dtype: torch.dtype) -> float:
    return 4.0 * change + 64.0 * torch.finfo(dtype).eps * mass


@pytest.mark.parametrize("block", range(BLOCKS))
def test_float32_is_as_exact_as_its_inputs(block: int, each_kernel: str | None) -> None:
    for seed in range(block, CASES, BLOCKS):
        problem = draw(seed)
        rounded = nudged(problem, torch.float32)
        exact = run(rounded, "reference", torch.float64)
        change = largest_gap(exact, run(problem, "reference", torch.float64))
        allowed = bound(change, turnover(problem), torch.float32)
        for backend in untested(EACH_BACKEND, each_kernel):
            together = run(rounded, backend, torch.float32)
            assert largest_gap(together, exact) <= allowed, f"seed {seed}, {backend}"
            alone = run(rounded, backend, torch.float32, slice(0, 1))
            assert largest_gap(alone, [value[:, :1] for value in together]) <= allowed, (
                f"seed {seed}, {backend}"
            )


@pytest.mark.parametrize("block", range(BLOCKS))
def test_float64_does_not_depend_on_the_batch(block: int, each_kernel: str | None) -> None:
    for seed in range(block, CASES, BLOCKS):
        problem = draw(seed)
        exact = run(problem, "reference", torch.float64)
        change = largest_gap(exact, run(nudged(problem, torch.float64), "reference", torch.float64))
        allowed = bound(change, turnover(problem), torch.float64)
        for backend in untested(EACH_BACKEND, each_kernel):
            together = exact if backend == "reference" else run(problem, backend, torch.float64)
            assert largest_gap(together, exact) <= allowed, f"seed {seed}, {backend}"
            alone = run(problem, backend, torch.float64, slice(1, 2))
            assert largest_gap(alone, [value[:, 1:2] for value in together]) <= allowed, (
                f"seed {seed}, {backend}"
            )


@pytest.mark.parametrize("backend", EACH_BACKEND)
def test_a_sample_alone_equals_itself_in_a_batch(backend: str) -> None:
    """The configuration in which the two differed by 9.5e-12 while stores were differences."""
    for seed in range(20):
        torch.manual_seed(seed)
        layer = MCLSTM(
            1, 3, 4, static_size=4, redistribution="static", input_norm="relu",
            gates_see=("aux", "state", "mass"), dtype=torch.float64,
        )  # fmt: skip
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.add_(torch.randn_like(parameter))
            layer.gates.b_o.fill_(20.0)
        x, a = torch.rand(30, 9, 1, dtype=torch.float64), torch.randn(30, 9, 3, dtype=torch.float64)
        inputs = {
            "x": x,
            "a": a,
            "static": torch.randn(9, 4, dtype=torch.float64),
            "c0": torch.rand(9, 4).double(),
        }
        problem = Sensitive(layer, inputs)
        together = run(problem, backend, torch.float64)
        alone = run(problem, backend, torch.float64, slice(3, 4))
        eps = torch.finfo(torch.float64).eps
        assert largest_gap(alone, [value[:, 3:4] for value in together]) <= 64 * eps * turnover(problem)
