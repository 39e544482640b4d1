"""Shift: the paper claims equivariance. Of amounts it fails; of time it holds from an empty start."""

import pytest
import torch

from mclstm import MCLSTM

STEPS, AUX, CELLS = 30, 2, 4


def half_open():
    """One cell that lets out half of what it holds: h(t) = (c(t-1) + x(t)) / 2."""
    layer = MCLSTM(1, 0, 1, redistribution="identity", output_bias=0.0, dtype=torch.float64)
    with torch.no_grad():
        layer.gates.W_o.zero_()
    return layer


def outflow(layer, x):
    with torch.no_grad():
        return layer(x)[0].sum(-1)


def test_counterexample_for_amounts():
    """x + 1 gives h + (1/2, 3/4, 7/8, ...): neither h + 1 nor h plus any other constant."""
    layer = half_open()
    x = torch.tensor([[0.25], [0.0], [3.0], [1.0]], dtype=torch.float64)
    difference = outflow(layer, x + 1.0) - outflow(layer, x)
    assert difference.tolist() == [0.5, 0.75, 0.875, 0.9375]


def test_truth_for_amounts_without_state_in_the_gates(build):
    """Adding d to every input adds d times the step response: constant only once the start is forgotten."""
    layer = build(1, AUX, CELLS, gates_see=("aux",))
    x, a = torch.rand(STEPS, 1).double(), torch.randn(STEPS, AUX).double()
    with torch.no_grad():
        plain, shifted = layer(x, a)[0], layer(x + 0.7, a)[0]
        step_response = layer(torch.ones_like(x), a)[0]
    torch.testing.assert_close(shifted, plain + 0.7 * step_response)
    assert step_response.sum(-1).std() > 0.05


def test_constant_gates_settle_on_the_shift():
    """Constant gates with an open outlet: in the long run as much more leaves as comes in."""
    layer = half_open()
    x = torch.rand(60, 1).double()
    difference = outflow(layer, x + 0.7) - outflow(layer, x)
    assert difference[-1].item() == pytest.approx(0.7, rel=1e-12)


def test_difference_depends_on_the_input_when_gates_see_the_state(build):
    layer = build(1, AUX, CELLS)
    torch.manual_seed(7)
    a = torch.randn(STEPS, AUX).double()
    differences = []
    with torch.no_grad():
        for _ in range(2):
            x = torch.rand(STEPS, 1).double()
            differences.append(layer(x + 0.7, a)[0] - layer(x, a)[0])
    assert (differences[0] - differences[1]).abs().max() > 0.01


@pytest.mark.parametrize("gates_see", [("aux",), ("aux", "state", "mass")])
def test_delay_in_time_delays_the_output_bit_for_bit(build, gates_see):
    """Late by 5 steps, auxiliaries too, anything before: nothing stored, nothing remembers the delay."""
    layer = build(1, AUX, CELLS, gates_see=gates_see)
    torch.manual_seed(8)
    x, a = torch.rand(STEPS, 1).double(), torch.randn(STEPS, AUX).double()
    late_x = torch.cat([torch.zeros(5, 1).double(), x])
    late_a = torch.cat([torch.randn(5, AUX).double(), a])
    with torch.no_grad():
        h, late_h = layer(x, a)[0], layer(late_x, late_a)[0]
    assert torch.equal(late_h[5:], h)
    assert not late_h[:5].any()


def test_delay_fails_from_a_filled_start(build):
    layer = build(1, AUX, CELLS, initial_state=1.0)
    torch.manual_seed(8)
    x, a = torch.rand(STEPS, 1).double(), torch.randn(STEPS, AUX).double()
    late_x, late_a = (torch.cat([torch.zeros_like(value[:5]), value]) for value in (x, a))
    with torch.no_grad():
        assert (layer(late_x, late_a)[0][5:] - layer(x, a)[0]).abs().max() > 0.01
