"""Gradient flow: R = I is an LSTM with forget gate 1 - o; total mass always carries gradient one."""

import numpy as np
import pytest
import torch

from mclstm_paper.theory.markov_chain import first_redistribution, random_markov

STEPS, AUX, CELLS = 12, 3, 5
EPS = torch.finfo(torch.float64).eps


def state_jacobian(run, c0):
    """dc_T,j / dc_0,k by autograd: (K, K), row j."""
    return torch.autograd.functional.jacobian(run, c0)


def twin_lstm(layer):
    """An LSTM whose forget gate is 1 - o = σ(-W_o a - b_o) and whose gates see the auxiliaries only."""
    cell = torch.nn.LSTMCell(AUX, CELLS, dtype=torch.float64)
    with torch.no_grad():
        cell.weight_hh.zero_()
        cell.bias_hh.zero_()
        cell.weight_ih[CELLS : 2 * CELLS] = -layer.gates.W_o  # torch's order: i, f, g, o
        cell.bias_ih[CELLS : 2 * CELLS] = -layer.gates.b_o
    return cell


def test_identity_has_the_gradient_of_an_lstm_with_forget_gate(build):
    layer = build(1, AUX, CELLS, redistribution="identity", gates_see=("aux",))
    x, a, c0 = torch.rand(STEPS, 1).double(), torch.randn(STEPS, AUX).double(), torch.rand(CELLS).double()
    lstm = twin_lstm(layer)

    def run_lstm(c):
        h = torch.zeros_like(c)
        for now in a:
            h, c = lstm(now, (h, c))
        return c

    ours = state_jacobian(lambda c: layer(x, a, c)[1], c0)
    torch.testing.assert_close(ours, torch.diag((1 - layer.flows(x, a, c0).o).prod(dim=0)))
    torch.testing.assert_close(ours, state_jacobian(run_lstm, c0))


def test_redistribution_enters_as_a_matrix_product(build):
    """In general, with gates that do not see the state: dc_T/dc_0 = Π_t R_t diag(1 - o_t), in rows."""
    layer = build(1, AUX, CELLS, gates_see=("aux",))
    x, a, c0 = torch.rand(STEPS, 1).double(), torch.randn(STEPS, AUX).double(), torch.rand(CELLS).double()
    flows = layer.flows(x, a, c0)
    product = torch.eye(CELLS).double()
    for R, o in zip(flows.R, flows.o, strict=True):
        product = product @ R @ torch.diag(1 - o)
    torch.testing.assert_close(state_jacobian(lambda c: layer(x, a, c)[1], c0), product.T)
    # A product of stochastic matrices is stochastic, and closing outlets only makes it smaller.
    assert torch.linalg.matrix_norm(product, 2) <= CELLS**0.5


@pytest.mark.parametrize("redistribution", ["dynamic", "static", "outer", "identity", "module"])
def test_total_mass_has_gradient_one(build, redistribution):
    """Theorem 1, differentiated: stored plus released mass answers one to one to every input, in any form."""
    layer = build(2, AUX, CELLS, redistribution=redistribution, gates_see=("aux", "state", "mass"))
    x = torch.rand(STEPS, 3, 2).double().requires_grad_()
    c0 = torch.rand(3, CELLS).double().requires_grad_()
    h, c = layer(x, torch.randn(STEPS, 3, AUX).double(), c0)
    gradients = torch.autograd.grad(h.sum() + c.sum(), (x, c0))
    for gradient in gradients:
        torch.testing.assert_close(gradient, torch.ones_like(gradient), rtol=0.0, atol=1e4 * EPS)


def test_norm_of_any_product_is_bounded_for_every_size():
    """Stronger than the paper's limit K -> ∞: 1 <= |R_1 ... R_T|_2 <= sqrt(K), random or not."""
    for cells in (2, 5, 20):
        matrices = [random_markov(cells, "exponential", seed) ** 3 for seed in range(30)]
        rows = [R / R.sum(axis=1, keepdims=True) for R in matrices]
        product = np.linalg.multi_dot(rows)
        for R in (*rows, product):
            assert 1.0 - 1e-12 <= np.linalg.norm(R, 2) <= cells**0.5
    one_cell_takes_all = np.zeros((9, 9))
    one_cell_takes_all[:, 0] = 1.0
    assert np.linalg.norm(one_cell_takes_all, 2) == pytest.approx(3.0)  # sqrt(K) is reached


def second_eigenvalue(R):
    return np.sort(np.abs(np.linalg.eigvals(R)))[-2]


@pytest.mark.parametrize("cells", [4, 16, 64])
def test_where_the_mass_sits_is_forgotten_by_random_redistribution(cells):
    """Both starts keep the total; only `stay` keeps a gradient for the place: λ₂ = 0.9 - 0.1 / (K - 1)."""
    near_identity = second_eigenvalue(first_redistribution(cells, "static", seed=0, stay=0.9))
    assert near_identity == pytest.approx(0.9 - 0.1 / (cells - 1), rel=1e-9)
    random = second_eigenvalue(first_redistribution(cells, "dynamic", seed=0))
    # Logits of size |a| / K under the softmax: the place fades within one step or two.
    assert random < 2.0 * 30**0.5 / cells**1.5
