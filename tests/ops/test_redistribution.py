"""Redistribution starts where it should, and an empty row goes where it should."""

import pytest
import torch

from mclstm import MCLSTM
from mclstm.ops.normalise import NORMALISERS, normalise
from mclstm.ops.redistribution import fallback_rows, outer_logits, stay_logits
from support.variants import ring


@pytest.mark.parametrize("norm", NORMALISERS)
@pytest.mark.parametrize("cells", [2, 10, 64])
@pytest.mark.parametrize("kind", ["dynamic", "static", "outer"])
@pytest.mark.parametrize("sees", [("aux", "state"), ("state",)])
def test_diagonal_starts_at_stay_for_any_state(
    norm: str, cells: int, kind: str, sees: tuple[str, ...]
) -> None:
    options = {"redistribution": kind, "redistribution_norm": norm, "gates_see": sees}
    layer = MCLSTM(1, 2, cells, stay=0.9, **options)
    full = torch.eye(cells) * 3.0
    states = torch.cat([torch.zeros(1, cells), full, torch.rand(50, cells), 1e20 * torch.rand(50, cells)])
    x, a = torch.ones(1, len(states), 1), torch.zeros(1, len(states), 2)
    R = layer.flows(x, a, states).R
    assert ((R.diagonal(dim1=-2, dim2=-1) - 0.9).abs() <= 0.02).all()


@pytest.mark.parametrize("norm", NORMALISERS)
@pytest.mark.parametrize("stay", [0.01, 0.3, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("cells", [2, 3, 50])
def test_stay_logits_hit_any_share_exactly(norm: str, stay: float, cells: int) -> None:
    everywhere = torch.ones(cells, cells, dtype=torch.bool)
    R = normalise(stay_logits(stay, norm, everywhere), norm, torch.eye(cells, dtype=torch.float64))
    torch.testing.assert_close(R.diagonal(), torch.full((cells,), stay, dtype=torch.float64))
    elsewhere = R[~torch.eye(cells, dtype=torch.bool)]
    torch.testing.assert_close(elsewhere, torch.full_like(elsewhere, (1 - stay) / (cells - 1)))


@pytest.mark.parametrize("norm", NORMALISERS)
def test_stay_respects_the_mask(norm: str) -> None:
    mask = ring(5)
    mask[2] = torch.tensor([False, False, True, False, False])
    mask[3] = torch.tensor([True, True, False, False, False])
    R = (
        MCLSTM(1, 0, 5, mask=mask, redistribution="static", redistribution_norm=norm, stay=0.8)
        .flows(torch.ones(1, 1, 1))
        .R[0, 0]
    )
    assert (R[~mask] == 0).all()
    torch.testing.assert_close(R.diagonal(), torch.tensor([0.8, 0.8, 1.0, 0.0, 0.8]))
    torch.testing.assert_close(R[3], torch.tensor([0.5, 0.5, 0.0, 0.0, 0.0]))


def test_fallback_stays_or_spreads_over_what_is_allowed() -> None:
    mask = torch.tensor([[True, True, True], [True, False, True], [False, False, True]])
    expected = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.0, 0.5], [0.0, 0.0, 1.0]])
    assert torch.equal(fallback_rows(mask, torch.eye(len(mask))), expected)


def test_outer_logits_are_the_three_factors() -> None:
    u, v, B = torch.randn(4, 3), torch.randn(4, 3), torch.randn(3, 3)
    logits = outer_logits(u, v, B)
    for sample in range(4):
        torch.testing.assert_close(logits[sample], torch.outer(u[sample], v[sample]) * B)


def test_hydrology_start_is_plain_orthogonal_with_zero_bias() -> None:
    gates = MCLSTM(1, 4, 8, stay=None).gates
    W = gates.W_r.detach().view(64, -1)
    torch.testing.assert_close(W.T @ W, torch.eye(W.shape[1]))
    assert (gates.B_r == 0).all()


def test_static_relu_without_stay_can_still_learn() -> None:
    layer = MCLSTM(1, 0, 4, redistribution="static", redistribution_norm="relu", stay=None)
    h, _ = layer(torch.rand(5, 2, 1))
    h[-1, :, 0].sum().backward()
    assert layer.gates.B_r.grad.abs().sum() > 0
