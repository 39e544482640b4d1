"""Rows of i and R sum to one and are non-negative, whatever the logits; R starts near the identity."""

import pytest
import torch

from mclstm import MCLSTM
from mclstm.ops.normalise import NORMALISERS, fallback_rows, normalise, outer_logits, sigmoid, stay_logits
from support.variants import ring

DTYPES = (torch.float32, torch.float64)


def even(cells: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.full((cells,), 1.0 / cells, dtype=dtype)


def assert_stochastic(rows: torch.Tensor) -> None:
    cells, eps = rows.shape[-1], torch.finfo(rows.dtype).eps
    assert torch.isfinite(rows).all()
    assert (rows >= 0).all()
    assert ((rows.double().sum(-1) - 1).abs() <= 2 * cells * eps).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", NORMALISERS)
@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1.0, 30.0, 1e4])
def test_a_million_random_rows(kind: str, dtype: torch.dtype, scale: float) -> None:
    for cells, count in ((1, 20_000), (2, 60_000), (10, 15_000), (64, 3_000), (128, 2_000)):
        z = (2 * torch.rand(count, cells, dtype=dtype) - 1) * scale
        assert_stochastic(normalise(z, kind, even(cells, dtype)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", NORMALISERS)
@pytest.mark.parametrize("value", [-1e4, -1.0, -0.0, 0.0, 1e-40, 1.0, 1e4, 1e30])
def test_equal_logits_share_evenly(kind: str, dtype: torch.dtype, value: float) -> None:
    rows = normalise(torch.full((3, 7), value, dtype=dtype), kind, even(7, dtype))
    assert_stochastic(rows)
    torch.testing.assert_close(rows, even(7, dtype).expand(3, 7))


@pytest.mark.parametrize("dtype", DTYPES)
def test_relu_row_without_positive_entry_takes_the_fallback(dtype: torch.dtype) -> None:
    eye = torch.eye(4, dtype=dtype)
    z = torch.tensor([[-1.0, -2, 0, -3], [0, 0, 0, 0], [-1, 2, -1, 2], [-1e4, -1e4, -1e4, -1e4]], dtype=dtype)
    rows = normalise(z, "relu", eye)
    expected = torch.stack([eye[0], eye[1], torch.tensor([0, 0.5, 0, 0.5], dtype=dtype), eye[3]])
    assert torch.equal(rows, expected)


@pytest.mark.parametrize("kind", NORMALISERS)
@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_masked_shares_are_exactly_zero(kind: str, scale: float) -> None:
    mask = torch.rand(50, 9) < 0.4
    mask[:, 4] = True
    fallback = mask.double() / mask.double().sum(-1, keepdim=True)
    rows = normalise(scale * torch.randn(200, 50, 9, dtype=torch.float64), kind, fallback, mask)
    assert_stochastic(rows)
    assert (rows[:, ~mask] == 0).all()


def test_sigmoid_rows_keep_proportions_of_very_negative_logits() -> None:
    z = torch.tensor([[-1000.0, -1000.0 - torch.log(torch.tensor(3.0)).item()]], dtype=torch.float64)
    rows = normalise(z, "sigmoid", even(2, torch.float64))
    torch.testing.assert_close(rows, torch.tensor([[0.75, 0.25]], dtype=torch.float64))


@pytest.mark.parametrize("kind", ["sigmoid", "relu"])
def test_equals_the_papers_formula(kind: str) -> None:
    z = torch.randn(100, 6, dtype=torch.float64)
    raw = 1 / (1 + torch.exp(-z)) if kind == "sigmoid" else z.clamp(min=0)
    raw[raw.sum(-1) == 0] = 1.0
    torch.testing.assert_close(normalise(z, kind, even(6, torch.float64)), raw / raw.sum(-1, keepdim=True))


@pytest.mark.parametrize("dtype", DTYPES)
def test_sigmoid_matches_torch_and_never_has_nan_gradients(dtype: torch.dtype) -> None:
    z = torch.tensor([-1e30, -1e4, -79.0, -1.0, 0.0, 1.0, 79.0, 1e4, 1e30], dtype=dtype, requires_grad=True)
    value = sigmoid(z)
    torch.testing.assert_close(value, torch.sigmoid(z))
    (slope,) = torch.autograd.grad(value.sum(), z)
    torch.testing.assert_close(slope, torch.sigmoid(z) * (1 - torch.sigmoid(z)))


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
