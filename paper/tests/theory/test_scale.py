"""Scale equivariance: twice the mass in, twice the mass out, if no gate sees how much there is."""

import pytest
import torch

STEPS, BATCH, MASS, AUX, CELLS = 25, 3, 2, 3, 5
EPS = torch.finfo(torch.float64).eps
FORMS = [
    {"redistribution": redistribution, "gates_see": gates_see, "redistribution_norm": norm}
    for redistribution in ("dynamic", "static", "outer", "identity")
    for gates_see in (("aux",), ("aux", "state"))
    for norm in ("softmax", "relu")
]


def run(layer, scale, scale_state=True):
    torch.manual_seed(3)
    x, a = torch.rand(STEPS, BATCH, MASS).double(), torch.randn(STEPS, BATCH, AUX).double()
    c0 = torch.rand(BATCH, CELLS).double()
    with torch.no_grad():
        return layer.trajectory(scale * x, a, scale * c0 if scale_state else c0)


def mismatch(layer, scale, **options):
    """|h(s x, s c0) - s h(x, c0)| relative to the largest outflow."""
    once, scaled = run(layer, 1.0)[0], run(layer, scale, **options)[0]
    return ((scaled - scale * once).abs().max() / (scale * once).max()).item()


@pytest.mark.parametrize("scale", [2.0, 2.0**-20, 2.0**30])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(map(str, form.values())))
def test_powers_of_two_scale_bit_for_bit(build, form, scale):
    layer = build(MASS, AUX, CELLS, **form)
    for once, scaled in zip(run(layer, 1.0), run(layer, scale), strict=True):
        assert torch.equal(scaled, scale * once)


@pytest.mark.parametrize("scale", [3.0, 0.1, 1e6])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(map(str, form.values())))
def test_other_scales_to_rounding(build, form, scale):
    """A rounding error of one step reaches later ones through mass (once) and through gates (damped)."""
    assert mismatch(build(MASS, AUX, CELLS, **form), scale) <= 4 * EPS * (STEPS + CELLS)


def test_fails_when_gates_see_mass(build):
    layer = build(MASS, AUX, CELLS, gates_see=("aux", "state", "mass"))
    assert mismatch(layer, 2.0) > 0.01


def test_fails_when_the_initial_state_is_not_scaled(build):
    assert mismatch(build(MASS, AUX, CELLS), 2.0, scale_state=False) > 0.01


def test_fails_when_a_hypernetwork_sees_raw_cells(build):
    """The paper's hypernetwork takes c itself, not c / |c|, so this form is not equivariant by itself."""
    assert mismatch(build(MASS, AUX, CELLS, redistribution="module"), 2.0) > 0.01


def test_fails_for_the_published_batch_normalisation(build):
    """c / (|c| + 1e-5) is not homogeneous: small masses look emptier than large ones."""
    layer = build(MASS, AUX, CELLS, state_norm="batch")
    assert mismatch(layer, 2.0**-20) > 0.01
