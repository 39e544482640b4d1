"""The unitary RNN against its factors written as matrices, with complex numbers."""

import cmath
import math

import pytest
import torch

from mclstm_paper.baselines.urnn import URNN, mod_relu


def matrix_of(layer):
    """W = D₃ R₂ F⁻¹ D₂ Π R₁ F D₁ as a product of dense matrices."""
    n = layer.hidden_size
    theta, order = layer.theta.tolist(), layer.order.tolist()
    v = [[complex(*pair) for pair in vector] for vector in layer.v.tolist()]

    def dense(entry):
        return torch.tensor([[entry(r, c) for c in range(n)] for r in range(n)], dtype=torch.complex128)

    def turn(at):
        return dense(lambda r, c: cmath.exp(1j * theta[at][r]) if r == c else 0)

    def mirror(at):
        size = sum(abs(value) ** 2 for value in v[at])
        return dense(lambda r, c: (r == c) - 2 * v[at][r] * v[at][c].conjugate() / size)

    fourier = dense(lambda r, c: cmath.exp(-2j * math.pi * r * c / n) / math.sqrt(n))
    permutation = dense(lambda r, c: complex(order[r] == c))
    return turn(2) @ mirror(1) @ fourier.mH @ turn(1) @ permutation @ mirror(0) @ fourier @ turn(0)


def plain(layer, x):
    """One sequence x (T, I): complex scalars, one by one."""
    n, W, b = layer.hidden_size, matrix_of(layer).tolist(), layer.b.tolist()
    V, h0 = layer.V.tolist(), layer.h0.tolist()
    h, outputs = [complex(h0[k], h0[n + k]) for k in range(n)], []
    for now in x:
        drive = [sum(w * value for w, value in zip(row, now, strict=True)) for row in V]
        z = [sum(W[k][j] * h[j] for j in range(n)) + complex(drive[k], drive[n + k]) for k in range(n)]
        size = [abs(value) ** 2 if layer.published else abs(value) for value in z]
        h = [max(size[k] + b[k], 0.0) * z[k] / (size[k] + 1e-5) for k in range(n)]
        outputs.append([value.real for value in h] + [value.imag for value in h])
    return torch.tensor(outputs, dtype=torch.float64)


def build(published=False, **rest):
    torch.manual_seed(3)
    layer = URNN(2, 5, published=published, dtype=torch.float64, **rest)
    torch.nn.init.uniform_(layer.b, -0.4, 0.1)  # far enough from 0 that some moduli are cut
    return layer


@pytest.mark.parametrize("published", [False, True])
def test_equations(published):
    layer = build(published)
    x = torch.randn(6, 3, 2, dtype=torch.float64)
    h, h_n = layer(x)
    assert h.eq(0).any()
    for sample in range(3):
        torch.testing.assert_close(h[:, sample], plain(layer, x[:, sample].tolist()), rtol=1e-11, atol=1e-12)
    assert torch.equal(h_n, h[-1])


def test_unitary():
    layer = build()
    torch.testing.assert_close(layer.unitary(), matrix_of(layer), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(layer.unitary() @ layer.unitary().mH, torch.eye(5, dtype=torch.complex128))


@pytest.mark.parametrize("published", [False, True])
def test_gradients(published):
    layer = build(published, members=2)
    x = torch.randn(3, 2, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, *_: layer(x)[0], (x, *layer.parameters()))


def test_norm_is_kept_without_bias_and_input():
    layer = build()
    torch.nn.init.zeros_(layer.b)
    h, _ = layer(torch.zeros(40, 2, 2, dtype=torch.float64))
    start = layer.h0.norm()
    torch.testing.assert_close(h[-1].norm(dim=-1), start.expand(2), rtol=40 * 5e-5, atol=0.0)


def test_zero_has_a_gradient():
    z = torch.zeros(2, requires_grad=True)
    mod_relu(z, torch.tensor([-0.1])).sum().backward()
    assert torch.equal(z.grad, torch.zeros(2))


@pytest.mark.parametrize("published", [False, True])
def test_start_is_arjovskys(published):
    """As published b starts at 0; the rest is Arjovsky's under both protocols."""
    layer = URNN(2, 64, published=published, members=20, seeds=range(20))
    assert layer.b.eq(0.0).all() == published
    bounds = {
        "theta": math.pi,
        "v": (6 / 130) ** 0.5,
        "V": (6 / 130) ** 0.5,
        "h0": (3 / 128) ** 0.5,
    }
    for name, bound in (bounds if published else bounds | {"b": 0.01}).items():
        values = getattr(layer, name).detach().flatten()
        assert values.abs().max() <= bound
        # The variance of n uniform numbers scatters by sqrt(4/5 / n) around bound² / 3.
        assert abs(values.var() / (bound**2 / 3) - 1) < 5 * (0.8 / values.numel()) ** 0.5, name
    assert torch.equal(layer.order.sort(dim=-1).values, torch.arange(64).expand(20, 64))
    assert not torch.equal(layer.order[0], layer.order[1])
