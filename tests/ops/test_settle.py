"""What rounding loses in a step is given back: ten years close like one step, and no amount notices."""

from typing import Any

import pytest
import torch
from torch import Tensor

from mclstm import MCLSTM
from mclstm.ops import manual, reference
from mclstm.ops.settle import missing, settled
from support.variants import EACH_BACKEND, ring

pytestmark = pytest.mark.usefixtures("each_kernel")

DAYS = 3_650
EPS = torch.finfo(torch.float32).eps
# A form for each way through the kernel, and those in which mass may not go everywhere.
FORMS: dict[str, tuple[int, dict[str, Any]]] = {
    "dynamic": (24, {"redistribution_norm": "relu"}),
    "static": (24, {"redistribution": "static"}),
    "identity": (24, {"redistribution": "identity"}),
    "ring": (24, {"mask": ring(24)}),
    "few cells": (3, {"redistribution_norm": "relu"}),
    "one cell": (1, {"redistribution": "static"}),
    "alike": (8, {"redistribution": "static", "gates_see": ("aux",)}),
}


def residual(backend: str, form: str, lengths: list[int] | None = None, batch: int = 3) -> float:
    """What is missing after ten years behind outlets that are all but closed, in the worst sample.

    As a multiple of what is left over when one cell is rounded once a day, now up and now down.
    """
    torch.manual_seed(1)
    cells, options = FORMS[form]
    layer = MCLSTM(
        1, 4, cells, output_bias=-7.0, backend=backend, **{"gates_see": ("aux", "state", "mass")} | options
    )
    x, a = torch.rand(DAYS, batch, 1) * 5, torch.randn(DAYS, batch, 4)
    a = a[:, :1].expand_as(a) if form == "alike" else a
    with torch.no_grad():
        h, c = layer.trajectory(x, a, lengths=lengths)
    there = torch.arange(DAYS).unsqueeze(1) < torch.tensor(lengths or [DAYS] * batch)
    inflow = (x[..., 0].double() * there).sum(dim=0)
    rest = inflow - h.double().sum(dim=(0, 2)) - c[-1].double().sum(dim=-1)
    assert (c[-1].sum(dim=-1) > 300).all()  # a store to be rounded
    assert (c >= 0).all()
    return float(rest.abs().max() / (EPS / 2 * c.max() * DAYS**0.5))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("backend", EACH_BACKEND)
def test_ten_years_close(backend: str, form: str) -> None:
    assert residual(backend, form) < 1


@pytest.mark.parametrize("batch", [1, 20])
@pytest.mark.parametrize("form", ["dynamic", "static", "few cells"])
def test_ten_years_of_one_sample_and_of_many_close(form: str, batch: int) -> None:
    assert residual("native", form, batch=batch) < 1


@pytest.mark.parametrize("backend", EACH_BACKEND)
def test_padding_keeps_what_is_stored(backend: str) -> None:
    assert residual(backend, "dynamic", [DAYS, DAYS // 2, DAYS - 1]) < 1


@pytest.mark.parametrize("backend", ["torch", "reference"])
def test_rounding_alone_would_not(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (manual, reference):
        monkeypatch.setattr(module, "settled", lambda before, h, c: (h, c))
    assert residual(backend, "static") > 50


@pytest.mark.parametrize("backend", EACH_BACKEND)
def test_small_cells_keep_their_value(backend: str) -> None:
    """Cells of 1e-4 beside one of 1,000: each keeps its digits, although the large one is rounded by more."""
    torch.manual_seed(2)
    steps = 400
    layer = MCLSTM(
        1, 4, 24, redistribution="dynamic", redistribution_norm="relu", stay=0.999, output_bias=-9.0,
        backend=backend,
    )  # fmt: skip
    x, a = torch.rand(steps, 3, 1) * 1e-3, torch.randn(steps, 3, 4)
    c0 = torch.logspace(3.1, -4, 24).expand(3, -1).contiguous()
    with torch.no_grad():
        cells = layer.trajectory(x, a, c0)[1].double()
        layer.backend = "reference"
        exact = layer.double().trajectory(x.double(), a.double(), c0.double())[1]
    assert ((cells - exact).abs() / exact).max() < 8 * EPS * steps**0.5


@pytest.mark.parametrize("backend", EACH_BACKEND)
def test_a_large_cell_before_small_ones_loses_nothing(backend: str) -> None:
    """A rest too small for the first cell is for those behind it: inflow below its last digit stays."""
    layer = MCLSTM(1, 0, 8, redistribution="identity", output_bias=-1e4, backend=backend)
    c0 = torch.tensor([[1000.0] + 7 * [50.0]])
    x = torch.rand(DAYS, 1, 1) * 8e-5
    with torch.no_grad():
        h, c = layer.trajectory(x, c0=c0)
    rest = c0.double().sum() + x.double().sum() - h.double().sum() - c[-1].double().sum()
    assert rest.abs() < 0.1 * EPS / 2 * 1000.0 * DAYS**0.5


@pytest.mark.parametrize("backend", EACH_BACKEND)
def test_amounts_whose_sum_overflows_are_left_alone(backend: str) -> None:
    layer = MCLSTM(0, 0, 4, redistribution="identity", output_bias=-1e4, backend=backend)
    c0 = torch.full((2, 4), 2e38)
    with torch.no_grad():
        c = layer.trajectory(torch.zeros(50, 2, 0), c0=c0)[1]
    assert torch.equal(c[-1], c0)


def test_an_amount_that_is_not_finite_spoils_no_other() -> None:
    c, h = torch.tensor([1.0, torch.nan, 2.0, torch.inf]), torch.zeros(4)
    new_h, new_c = settled(c, h, c)
    assert torch.equal(new_h, h)
    assert new_c.isnan().tolist() == [False, True, False, False]
    assert new_c.isinf().tolist() == [False, False, False, True]


@pytest.mark.parametrize("backend", EACH_BACKEND)
def test_empty_cells_stay_empty(backend: str) -> None:
    """Mass can only reach the cells that a mask allows: rounding is no way around it."""
    forward_only = torch.tensor([[False, True, False], [False, True, False], [False, False, True]])
    layer = MCLSTM(0, 0, 3, mask=forward_only, backend=backend)
    with torch.no_grad():
        h, c = layer.trajectory(torch.zeros(300, 2, 0), c0=torch.tensor([[1.0, 0.0, 0.0]] * 2))
    assert c[1:, :, 1].all()
    assert not c[1:, :, [0, 2]].any()
    assert not h[:, :, [0, 2]].any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_rest_is_found_that_plain_sums_round_away(dtype: torch.dtype) -> None:
    eps = torch.finfo(dtype).eps
    before = torch.tensor([[1e3, 1.0, eps, 0.25]], dtype=dtype)
    after = torch.tensor([[1e3, 1.25]], dtype=dtype)
    assert missing(before, after).item() == eps
    assert before.sum() - after.sum() == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_amounts_take_a_few_eps_and_no_more(dtype: torch.dtype) -> None:
    eps = torch.finfo(dtype).eps
    c, h = torch.rand(50, 7, dtype=dtype), torch.rand(50, 7, dtype=dtype)
    lost = torch.linspace(-12, 12, 50, dtype=dtype).unsqueeze(-1) * eps  # of about 7 in all
    before = torch.cat([c + lost / 7, h], dim=-1)
    new_h, new_c = settled(before, h, c)
    assert ((new_c - c).abs() <= 8 * eps * c).all()
    assert ((new_h - h).abs() <= 8 * eps * h).all()
    left, were = (missing(before, torch.cat(pair, dim=-1)).abs() for pair in ((new_h, new_c), (h, c)))
    assert (left <= eps / 2).all()
    assert (were > 6 * eps).any()


def test_the_gradient_is_that_of_the_equations() -> None:
    def total(before: Tensor, h: Tensor, c: Tensor) -> Tensor:
        new_h, new_c = settled(before, h, c)
        return 2.0 * new_h.sum() + 3.0 * new_c.sum()

    before, h, c = (torch.rand(3, requires_grad=True) for _ in range(3))
    slopes = torch.autograd.grad(total(before, h, c), (before, h, c), allow_unused=True)
    assert slopes[0] is None
    assert (slopes[1] == 2).all()
    assert (slopes[2] == 3).all()
