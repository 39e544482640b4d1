"""Additivity: when gates see neither mass nor state, the layer is linear in the masses and mixes nothing."""

import pytest
import torch

STEPS, BATCH, MASS, AUX, CELLS = 25, 3, 2, 3, 5
EPS = torch.finfo(torch.float64).eps


def masses(seed):
    torch.manual_seed(seed)
    return torch.rand(STEPS, BATCH, MASS).double(), torch.rand(BATCH, CELLS).double()


def superposition_error(layer):
    """|F(x1 + x2, c1 + c2) - F(x1, c1) - F(x2, c2)| over outflows and cells, relative to all mass."""
    torch.manual_seed(4)
    a = torch.randn(STEPS, BATCH, AUX).double()
    (x1, c1), (x2, c2) = masses(5), masses(6)
    with torch.no_grad():
        both = layer.trajectory(x1 + x2, a, c1 + c2)
        first, second = layer.trajectory(x1, a, c1), layer.trajectory(x2, a, c2)
    gaps = [(t - u - v).abs().max() for t, u, v in zip(both, first, second, strict=True)]
    return (max(gaps) / (x1 + x2).sum()).item()


@pytest.mark.parametrize("norm", ["softmax", "sigmoid", "relu"])
@pytest.mark.parametrize("redistribution", ["dynamic", "static", "outer", "identity"])
def test_superposition(build, redistribution, norm):
    layer = build(
        MASS, AUX, CELLS, redistribution=redistribution, redistribution_norm=norm, gates_see=("aux",)
    )
    assert superposition_error(layer) <= 4 * EPS * (STEPS + CELLS)


@pytest.mark.parametrize("gates_see", [("aux", "state"), ("aux", "mass")])
def test_fails_when_gates_see_mass_or_state(build, gates_see):
    assert superposition_error(build(MASS, AUX, CELLS, gates_see=gates_see)) > 1e-4


def test_response_is_a_sum_of_pulses(build):
    """Linear and causal: the outflow is the sum of the answers to each input and to the initial state."""
    layer = build(MASS, AUX, CELLS, gates_see=("aux",))
    torch.manual_seed(4)
    a = torch.randn(STEPS, BATCH, AUX).double()
    x, c0 = masses(5)
    with torch.no_grad():
        whole = layer(x, a, c0)[0]
        parts = layer(torch.zeros_like(x), a, c0)[0]
        for t in range(STEPS):
            pulse = torch.zeros_like(x)
            pulse[t] = x[t]
            parts = parts + layer(pulse, a)[0]
    torch.testing.assert_close(whole, parts, rtol=0.0, atol=4 * EPS * (STEPS + CELLS) * x.sum().item())
