"""Without gates the layer is a linear flow: c' = c R moves densities by 1 / |det R| and keeps the L1 norm."""

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from mclstm_paper.theory.markov_chain import closed_layer, random_markov, trajectory

EPS = np.finfo(np.float64).eps
CELLS = 5


def jacobian(layer, c0):
    """dc'_j / dc_k by autograd: (K, K), row j."""
    x = torch.zeros(1, 0, dtype=torch.float64)
    return torch.autograd.functional.jacobian(lambda c: layer(x, c0=c)[1], c0)


def logits_of_state(scale):
    """A hypernetwork: logits that turn with the cells, or stay where they are for scale 0."""

    class Turning(torch.nn.Module):
        def forward(self, x, a, c):
            return scale * c.unsqueeze(-1) * torch.arange(CELLS, dtype=c.dtype)

    return Turning()


@pytest.mark.parametrize("seed", range(3))
def test_jacobian_is_the_redistribution(seed):
    """Paper: dc'/dc = R in columns; in rows the same matrix is the transpose, with the same determinant."""
    R = torch.from_numpy(random_markov(CELLS, "exponential", seed))
    J = jacobian(closed_layer(R), torch.rand(CELLS).double())
    torch.testing.assert_close(J, R.T)
    torch.testing.assert_close(torch.linalg.det(J), torch.linalg.det(R))


def test_jacobian_is_not_the_redistribution_when_it_sees_the_state(build):
    layer = build(0, 0, CELLS, redistribution="module")
    layer.gates.hypernetwork = logits_of_state(1.0)
    with torch.no_grad():
        layer.gates.W_o.zero_()
        layer.gates.b_o.fill_(-1000.0)
    c0 = torch.rand(CELLS).double()
    R = layer.flows(torch.zeros(1, 0).double(), c0=c0).R[0]
    assert (jacobian(layer, c0) - R.T).abs().max() > 0.01
    layer.gates.hypernetwork = logits_of_state(0.0)
    R = layer.flows(torch.zeros(1, 0).double(), c0=c0).R[0]
    torch.testing.assert_close(jacobian(layer, c0), R.T)


@pytest.mark.parametrize("seed", range(3))
def test_log_density_against_a_gaussian(seed):
    """A Gaussian stays one: N(μ, Σ) becomes N(μ R, Rᵀ Σ R), whose density scipy knows without any flow."""
    R = random_markov(CELLS, "exponential", seed)
    draw = np.random.default_rng(seed)
    A = draw.normal(size=(CELLS, CELLS))
    mean, cov = np.full(CELLS, 50.0), A @ A.T + np.eye(CELLS)
    before = draw.multivariate_normal(mean, cov, size=20)
    after = trajectory(closed_layer(torch.from_numpy(R)), torch.from_numpy(before), 1)[-1].numpy()
    flow = multivariate_normal(mean, cov).logpdf(before) - np.linalg.slogdet(R)[1]
    direct = multivariate_normal(mean @ R, R.T @ cov @ R).logpdf(after)
    np.testing.assert_allclose(flow, direct, rtol=1e-7)
    assert (flow > multivariate_normal(mean, cov).logpdf(before)).all()  # |det R| < 1: densities only grow


@pytest.mark.parametrize("cells", [2, 3, 5, 16])
def test_determinant_is_at_most_one(cells):
    for seed in range(50):
        R = random_markov(cells, "exponential", seed)
        assert abs(np.linalg.det(R)) < 1.0
        # Mass is conserved, so the shrinking happens inside the surfaces of equal mass, all of it.
        basis = np.linalg.qr(np.column_stack([np.ones(cells), np.eye(cells)[:, 1:]]))[0][:, 1:]
        inside = np.linalg.det(basis.T @ R @ basis)
        np.testing.assert_allclose(inside, np.linalg.det(R), rtol=1e-6, atol=cells * EPS)


def test_determinant_is_one_only_for_permutations():
    cycle = torch.eye(CELLS).roll(1, dims=1).double()
    assert torch.linalg.det(cycle).abs() == 1.0
    assert torch.linalg.det(0.999 * cycle + 0.001 * torch.eye(CELLS).double()).abs() < 1.0


def test_l1_norm_is_kept_and_l2_is_not():
    R = torch.from_numpy(random_markov(CELLS, "exponential", seed=0))
    c = trajectory(closed_layer(R), torch.rand(8, CELLS).double(), 100)
    torch.testing.assert_close(c.sum(-1), c[0].sum(-1).expand(101, 8), rtol=4 * EPS * (100 + CELLS), atol=0.0)
    assert (c[-1].norm(dim=-1) / c[0].norm(dim=-1) - 1).abs().max() > 0.05
