"""The kernel gives what rounding lost in a step back to the stores: ten years close like one step."""

import pytest
import torch

from mclstm import MCLSTM
from mclstm.ops.native.build import status

pytestmark = [
    pytest.mark.usefixtures("each_kernel"),
    pytest.mark.skipif(not status().available, reason="needs the kernel"),
]

DAYS = 3_650


def residual(backend: str, form: str, lengths: list[int] | None = None, batch: int = 3) -> float:
    """What is missing after ten years behind outlets that are all but closed, in the worst sample.

    As a multiple of what is left over when one cell is rounded once a day, now up and now down.
    """
    torch.manual_seed(1)
    layer = MCLSTM(
        1, 4, 24,
        redistribution=form,  # type: ignore[arg-type]
        redistribution_norm="relu" if form == "dynamic" else "softmax",
        output_bias=-7.0, gates_see=("aux", "state", "mass"), backend=backend,
    )  # fmt: skip
    x, a = torch.rand(DAYS, batch, 1) * 5, torch.randn(DAYS, batch, 4)
    with torch.no_grad():
        h, c = layer.trajectory(x, a, lengths=lengths)
    there = torch.arange(DAYS).unsqueeze(1) < torch.tensor(lengths or [DAYS] * batch)
    inflow = (x[..., 0].double() * there).sum(dim=0)
    missing = inflow - h.double().sum(dim=(0, 2)) - c[-1].double().sum(dim=-1)
    assert (c[-1].sum(dim=-1) > 300).all()  # a store to be rounded
    assert (c >= 0).all()
    rounded = torch.finfo(torch.float32).eps / 2 * c.max() * DAYS**0.5
    return float(missing.abs().max() / rounded)


@pytest.mark.parametrize("batch", [1, 3, 20])
@pytest.mark.parametrize("form", ["dynamic", "static"])
def test_ten_years_close(form: str, batch: int) -> None:
    assert residual("native", form, batch=batch) < 1


def test_padding_keeps_what_is_stored() -> None:
    assert residual("native", "dynamic", [DAYS, DAYS // 2, DAYS - 1]) < 1


def test_small_cells_keep_their_value() -> None:
    torch.manual_seed(2)
    layer = MCLSTM(
        1, 4, 24, redistribution="dynamic", redistribution_norm="relu", stay=0.999, output_bias=-9.0,
        backend="native",
    )  # fmt: skip
    x, a = torch.rand(DAYS, 3, 1) * 1e-3, torch.randn(DAYS, 3, 4)
    c0 = torch.logspace(3.1, -4, 24).expand(3, -1).contiguous()
    with torch.no_grad():
        found = layer.trajectory(x, a, c0)[1].double()
        layer.backend = "reference"
        exact = layer.double().trajectory(x.double(), a.double(), c0.double())[1]
    # A 4096th a step at most, and that only while a cell is so small that the rounding of others is much.
    assert ((found - exact).abs() / exact).max() < 8 / 4096


def test_rounding_alone_would_not() -> None:
    assert residual("reference", "static") > 50
