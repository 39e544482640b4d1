"""Theorem 1: stored mass = initial mass + everything that came in - everything that went out."""

import math

import pytest
import torch

STEPS, BATCH, MASS, AUX, CELLS = 40, 3, 2, 3, 5

FORMS = [
    {
        "redistribution": redistribution,
        "redistribution_norm": norm,
        "input_norm": norm,
        "gates_see": gates_see,
    }
    for redistribution in ("dynamic", "static", "outer", "identity", "module")
    for norm in ("softmax", "sigmoid", "relu")
    for gates_see in (("aux",), ("state",), ("aux", "state"), ("aux", "state", "mass"))
]


def inputs(dtype):
    torch.manual_seed(1)
    x = torch.rand(STEPS, BATCH, MASS, dtype=dtype) * torch.tensor([1e-3, 1.0, 1e3], dtype=dtype).view(
        1, 3, 1
    )
    return x, torch.randn(STEPS, BATCH, AUX, dtype=dtype), torch.rand(BATCH, CELLS, dtype=dtype)


def exact_residual(flows, step, sample):
    """m_c(0) + Σ x - Σ h - m_c(step + 1), added without rounding; and all mass there ever was."""
    came = [*flows.c[0, sample].tolist(), *flows.x[: step + 1, sample].flatten().tolist()]
    gone = [*flows.h[: step + 1, sample].flatten().tolist(), *flows.c[step + 1, sample].tolist()]
    return math.fsum([*came, *(-amount for amount in gone)]), math.fsum(came)


def worst_error(layer, dtype):
    """The largest relative error over samples and times, in units of eps (t + K)."""
    with torch.no_grad():
        flows = layer.flows(*inputs(dtype))
    errors = []
    for step in (0, 1, STEPS // 2, STEPS - 1):
        for sample in range(BATCH):
            missing, turnover = exact_residual(flows, step, sample)
            errors.append(abs(missing) / turnover / torch.finfo(dtype).eps / (step + 1 + CELLS))
    return max(errors)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(map(str, form.values())))
def test_every_form_conserves_to_rounding(build, form, dtype):
    assert worst_error(build(MASS, AUX, CELLS, dtype=dtype, **form), dtype) <= 4.0


def test_masked_and_learned_start_conserve(build):
    mask = torch.eye(CELLS, dtype=torch.bool) | torch.eye(CELLS, dtype=torch.bool).roll(1, dims=1)
    layer = build(MASS, AUX, CELLS, mask=mask, initial_state="learned")
    assert worst_error(layer, torch.float64) <= 4.0
    x, a, _ = inputs(torch.float64)
    h, c = layer(x, a)
    torch.testing.assert_close(
        h.sum((0, 2)) + c.sum(-1), x.sum((0, 2)) + layer.gates.first_state(BATCH).sum(-1)
    )


@pytest.mark.parametrize("ablated", ["input", "redistribution", "output"])
def test_ablations_break_the_theorem(build, ablated):
    """Each of the three changes to LSTM is needed: without it mass appears or disappears."""
    layer = build(MASS, AUX, CELLS, not_conserving=(ablated,), allow_negative_mass=True)
    with torch.no_grad():
        layer.gates.B_r.fill_(0.1)
        layer.gates.W_r.zero_()
    assert worst_error(layer, torch.float64) > 1e6


def test_induction_step(build):
    """The proof's one step: Σ m_tot = m_c(t-1) + Σ x(t), and the outlet takes its share out of that."""
    x, a, c0 = inputs(torch.float64)
    with torch.no_grad():
        flows = build(MASS, AUX, CELLS).flows(x, a, c0)
    m = torch.einsum("tbk,tbkj->tbj", flows.c[:-1], flows.R) + torch.einsum("tbm,tbmk->tbk", flows.x, flows.i)
    torch.testing.assert_close(m.sum(-1), flows.c[:-1].sum(-1) + x.sum(-1))
    torch.testing.assert_close(flows.h, flows.o * m)
    torch.testing.assert_close(flows.c[1:], (1 - flows.o) * m)
