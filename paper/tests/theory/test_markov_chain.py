"""Without inflow, outflow and change, a layer is a finite Markov chain."""

import numpy as np
import pytest
import torch

from mclstm_paper.theory.markov_chain import closed_layer, random_markov, trajectory

EPS = np.finfo(np.float64).eps


def stationary(R):
    """The left eigenvector of eigenvalue 1, as a probability vector, by numpy: (K, K) -> (K,)."""
    values, vectors = np.linalg.eig(R.T)
    vector = np.real(vectors[:, np.argmin(np.abs(values - 1.0))])
    return torch.from_numpy(vector / vector.sum())


def distance(c, pi):
    """L1 distance of every step from the stationary distribution: (T + 1, K), (K,) -> (T + 1,)."""
    return (c - pi).abs().sum(-1)


@pytest.mark.parametrize("seed", range(4))
def test_irreducible_aperiodic_chain_converges(seed):
    R = random_markov(6, "exponential", seed)
    pi = stationary(R)
    start = torch.eye(6, dtype=torch.float64)[seed]
    gap = distance(trajectory(closed_layer(torch.from_numpy(R)), start, 300), pi)
    assert gap[0] > 0.5
    assert gap[-1] <= 6 * 300 * EPS
    # An R contracts L1 distances of probability vectors, so the distance never grows.
    assert gap.diff().max() <= 6 * EPS


def test_rate_is_the_second_eigenvalue():
    R = random_markov(6, "exponential", seed=1)
    second = np.sort(np.abs(np.linalg.eigvals(R)))[-2]
    gap = distance(trajectory(closed_layer(torch.from_numpy(R)), torch.eye(6)[0], 14), stationary(R))
    measured = (gap[12] / gap[2]).item() ** 0.1
    assert measured == pytest.approx(second, rel=0.15)


def test_limit_forgets_the_start():
    R = torch.from_numpy(random_markov(5, "uniform", seed=3))
    ends = trajectory(closed_layer(R), torch.eye(5), 200)[-1]
    torch.testing.assert_close(ends, ends[:1].expand(5, 5))


def test_periodic_chain_is_irreducible_and_does_not_converge():
    """The paper asks for irreducible only; a cycle is irreducible, has period K, and turns for ever."""
    cycle = torch.eye(4, dtype=torch.float64).roll(1, dims=1)
    reach = torch.linalg.matrix_power(cycle + torch.eye(4, dtype=torch.float64), 3)
    assert (reach > 0).all()  # every cell reaches every other: irreducible
    start = torch.tensor([0.7, 0.1, 0.1, 0.1], dtype=torch.float64)
    c = trajectory(closed_layer(cycle), start, 400)
    gap = distance(c, stationary(cycle.numpy()))
    assert torch.equal(c[4:], c[:-4])  # the same bits after every round
    assert gap.min() > 0.89
    # What irreducible does give: the mean over time converges.
    torch.testing.assert_close(c[1:].mean(0), torch.full((4,), 0.25, dtype=torch.float64))


def test_lazy_cycle_converges():
    """Any chance to stay makes the cycle aperiodic: `stay` > 0 at the start of training does so."""
    cycle = torch.eye(4, dtype=torch.float64).roll(1, dims=1)
    lazy = 0.1 * torch.eye(4, dtype=torch.float64) + 0.9 * cycle
    c = trajectory(closed_layer(lazy), torch.eye(4)[0], 800)
    torch.testing.assert_close(c[-1], torch.full((4,), 0.25, dtype=torch.float64))


def test_reducible_chain_remembers_its_start():
    blocks = torch.block_diag(torch.full((2, 2), 0.5), torch.full((3, 3), 1.0 / 3.0)).double()
    c = trajectory(closed_layer(blocks), torch.tensor([0.9, 0.0, 0.0, 0.1, 0.0]), 50)
    torch.testing.assert_close(c[-1, :2].sum(), torch.tensor(0.9, dtype=torch.float64), rtol=1e-6, atol=0.0)
