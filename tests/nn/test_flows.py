"""Flows name everything that moved, and their ledger closes."""

import pytest
import torch

from mclstm import MCLSTM, ConservationError
from mclstm.ops import dispatch
from support.variants import EVERY, build, inputs

pytestmark = pytest.mark.usefixtures("each_kernel")


@pytest.mark.parametrize("name", EVERY)
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
    bound = 4 * torch.finfo(torch.float64).eps * (6 + 4)
    assert (flows.residual.abs() <= bound * flows.ledger.turnover).all()
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


def test_flows_are_seven_tensors() -> None:
    flows = build("dynamic").flows(*inputs(6, 3)[:2], static=inputs(6, 3)[2])
    x, _, _, _, c, h, residual = flows
    assert flows._fields == ("x", "i", "o", "R", "c", "h", "residual")
    assert (x.shape, c.shape, h.shape, residual.shape) == ((6, 3, 2), (7, 3, 4), (6, 3, 4), (6, 3))


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (2, 3), (3, 2), (3, 3), (3,)])
def test_the_layout_follows_from_the_shapes(shape: tuple[int, ...], batch_first: bool) -> None:
    flows = MCLSTM(2, 0, 4, batch_first=batch_first).flows(torch.rand(*shape, 2))
    assert flows.layout == (batch_first and len(shape) == 2, len(shape) == 1, None)


@pytest.mark.parametrize("backend", ["reference", "torch", "native", "auto"])
def test_an_audit_returns_what_the_backend_computed(backend: str) -> None:
    layer = build("hydrology", backend=backend)
    x, a, static = inputs(6, 3)
    flows = layer.audit(x, a, static=static)
    h, c = layer.trajectory(x, a, static=static)
    assert torch.equal(flows.h, h)
    assert torch.equal(flows.c, c)


@pytest.mark.parametrize("name", ["dynamic", "hypernetwork"])
def test_a_backend_that_loses_mass_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = dispatch.BACKENDS["native"]

    def lossy(*given: object) -> tuple[torch.Tensor, torch.Tensor]:
        h, c = (value.clone() for value in honest(*given))
        h[2, 1] *= 0.999
        return h, c

    layer = build(name, backend="native")
    x, a, static = inputs(6, 3)
    layer.audit(x, a, static=static)
    monkeypatch.setitem(dispatch.BACKENDS, "native", lossy)
    with pytest.raises(ConservationError, match="sample 1, step 2"):
        layer.audit(x, a, static=static)
    layer.flows(x, a, static=static)
