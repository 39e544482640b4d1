"""Corollary 1: cells never hold more than ever came in, and their sum converges with the inputs' series."""

import pytest
import torch

from mclstm_paper.theory.markov_chain import SHUT

STEPS, CELLS = 120, 4
EPS = torch.finfo(torch.float64).eps


def run(layer, x, c0):
    torch.manual_seed(2)
    a = torch.randn(len(x), layer.gates.aux_size, dtype=torch.float64)
    with torch.no_grad():
        h, c = layer.trajectory(x, a, c0)
    return h, c


def shut(layer):
    with torch.no_grad():
        layer.gates.W_o.zero_()
        layer.gates.b_o.fill_(SHUT)


def geometric(steps, mass=1):
    """x(t) = 2^-t: the series converges to 1 for each mass input."""
    return (0.5 ** torch.arange(1, steps + 1, dtype=torch.float64)).unsqueeze(-1).expand(steps, mass)


@pytest.mark.parametrize("redistribution", ["dynamic", "static", "outer", "identity"])
def test_cells_are_bounded_by_what_came_in(build, redistribution):
    layer = build(2, 3, CELLS, redistribution=redistribution, gates_see=("aux", "state", "mass"))
    x, c0 = torch.rand(STEPS, 2, dtype=torch.float64), torch.rand(CELLS, dtype=torch.float64)
    h, c = run(layer, x, c0)
    came = torch.cat([c0.sum().view(1), c0.sum() + x.sum(-1).cumsum(0)])
    assert c.min() >= 0
    assert h.min() >= 0
    assert (c.max(dim=-1).values <= came * (1 + 4 * EPS * (STEPS + CELLS))).all()


def test_bound_is_reached(build):
    """One cell, shut outlet: the bound holds with equality, so no smaller one is true in general."""
    layer = build(1, 1, 1)
    shut(layer)
    x = torch.ones(STEPS, 1, dtype=torch.float64)
    _, c = run(layer, x, torch.ones(1, dtype=torch.float64))
    assert c.flatten().tolist() == list(range(1, STEPS + 2))


@pytest.mark.parametrize("seed", range(5))
def test_sum_of_cells_converges_with_the_series(build, seed):
    """Mass here plus mass still to come never grows and never gets negative: hence the sum converges."""
    h, c = run(build(1, 3, CELLS, seed=seed), geometric(STEPS), torch.rand(CELLS, dtype=torch.float64))
    stored, outflow = c.sum(-1), h.sum(-1).cumsum(0)
    to_come = 1.0 - torch.cat([torch.zeros(1, dtype=torch.float64), geometric(STEPS).sum(-1).cumsum(0)])
    potential = stored + to_come
    tolerance = 4 * EPS * (STEPS + CELLS) * potential[0]
    assert potential.diff().max() <= tolerance
    assert potential.min() >= 0
    # What remains to move bounds how far the sum is from its limit.
    remaining = to_come[1:] + (outflow[-1] - outflow)
    assert ((stored[1:] - stored[-1]).abs() <= remaining + tolerance).all()


def test_limit_is_everything_when_outlets_are_shut(build):
    layer = build(1, 3, CELLS)
    shut(layer)
    c0 = torch.rand(CELLS, dtype=torch.float64)
    _, c = run(layer, geometric(STEPS), c0)
    torch.testing.assert_close(c[-1].sum(), c0.sum() + 1.0)
    _, grows = run(layer, torch.ones(STEPS, 1, dtype=torch.float64), c0)
    assert grows[-1].sum() > STEPS  # a diverging series may diverge in the cells


def test_bound_needs_non_negative_mass(build):
    """The statement says |c_k|; with negative mass |c_k| exceeds the sum, as the proof admits."""
    layer = build(1, 0, 2, redistribution="identity", allow_negative_mass=True)
    shut(layer)
    _, c = run(layer, torch.zeros(3, 1, dtype=torch.float64), torch.tensor([1.0, -1.0], dtype=torch.float64))
    assert c.sum(-1).tolist() == [0.0] * 4
    assert (c.abs() == 1.0).all()
