"""Flows name everything that moved, and their ledger closes."""

import pytest
import torch

from mclstm import MCLSTM
from support.variants import VARIANTS, build, inputs


@pytest.mark.parametrize("name", VARIANTS)
def test_flows_rebuild_every_step(name: str) -> None:
    layer = build(name)
    x, a, static = inputs(6, 3)
    flows = layer.flows(x, a, static=static, lengths=[6, 2, 4])
    into = flows.transfers.sum(-2) + (flows.x.unsqueeze(-1) * flows.i).sum(-2)
    torch.testing.assert_close(flows.c[1:] + flows.h, into)
    torch.testing.assert_close(flows.h, flows.o * into)
    torch.testing.assert_close(flows.transfers.sum(-1), flows.c[:-1])
    h, c = layer(x, a, static=static, lengths=[6, 2, 4])
    torch.testing.assert_close(flows.h, h)
    torch.testing.assert_close(flows.c[-1], c)
    book = flows.ledger
    torch.testing.assert_close(book.initial + book.inflow, book.outflow + book.storage + book.residual)
    assert flows.residual.dtype == torch.float64


@pytest.mark.parametrize("norm", ["softmax", "sigmoid", "relu"])
def test_masked_transfers_are_exactly_zero(norm: str) -> None:
    mask = torch.rand(6, 6) < 0.3
    mask.fill_diagonal_(True)
    flows = MCLSTM(1, 0, 6, mask=mask, redistribution_norm=norm).flows(torch.rand(20, 4, 1))
    assert (flows.transfers[..., ~mask] == 0).all()
    torch.testing.assert_close(flows.R.sum(-1), torch.ones(20, 4, 6))


def test_layouts_come_back_as_they_went_in() -> None:
    x, a, static = inputs(6, 3)
    layer = build("dynamic", batch_first=True)
    flows = layer.flows(x.transpose(0, 1), a.transpose(0, 1), static=static)
    assert flows.R.shape == (3, 6, 4, 4)
    assert flows.c.shape == (3, 7, 4)
    assert flows.transfers.shape == (3, 6, 4, 4)
    assert flows.residual.shape == (3, 6)
    one = layer.flows(x[:, 0], a[:, 0], static=static[0])
    assert one.R.shape == (6, 4, 4)
    assert one.transfers.shape == (6, 4, 4)
    assert one.ledger.residual.shape == (6, 1)


def test_a_broken_ledger_is_named_by_sample_and_step() -> None:
    class Leaky(torch.nn.Module):
        def forward(self, x: torch.Tensor, a: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
            poisoned = torch.zeros(c.shape[0], 2, 2)
            poisoned[1, 0, 0] = float("nan") if float(c[1].sum()) > 2.5 else 0.0
            return poisoned

    layer = MCLSTM(1, 0, 2, redistribution=Leaky(), output_bias=-50.0)
    with pytest.raises(ValueError, match="sample 1, step 3"):
        layer.audit(torch.ones(6, 2, 1))
    assert layer.audit(torch.ones(3, 2, 1)).h.shape == (3, 2, 2)
