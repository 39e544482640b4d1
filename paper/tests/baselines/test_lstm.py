"""LSTM and layer-normalised LSTM against their equations, cell by cell, and against `torch.nn.LSTM`."""

import math

import pytest
import torch

from mclstm_paper.baselines.lstm import LNLSTM, LSTM


def sigma(z):
    return 1 / (1 + math.exp(-z))


def normalised(z, alpha, beta):
    mean = sum(z) / len(z)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in z) / len(z) + 1e-5)
    return [a * (value - mean) / deviation + b for value, a, b in zip(z, alpha, beta, strict=True)]


def times(W, x):
    return [sum(w * value for w, value in zip(row, x, strict=True)) for row in W]


def plain_lstm(layer, x):
    """The equations for one sequence x, lists only."""
    W, U, b, K = layer.W.tolist(), layer.U.tolist(), layer.b.tolist(), layer.hidden_size
    h, c, outputs = [0.0] * K, [0.0] * K, []
    for now in x:
        z = [p + q + r for p, q, r in zip(times(W, now), times(U, h), b, strict=True)]
        o, i, g = z[:K], z[K : 2 * K], z[-K:]
        f = [sigma(value) for value in z[2 * K : 3 * K]] if layer.forget_gate else [1.0] * K
        c = [f[k] * c[k] + sigma(i[k]) * math.tanh(g[k]) for k in range(K)]
        h = [sigma(o[k]) * math.tanh(c[k]) for k in range(K)]
        outputs.append(h)
    return torch.tensor(outputs, dtype=torch.float64)


def plain_ln_lstm(layer, x):
    """Equations 20 to 22 of Ba et al. for one sequence x, lists only."""
    p = {name: value.tolist() for name, value in layer.named_parameters()}
    K = layer.hidden_size
    h, c, outputs = [0.0] * K, [0.0] * K, []
    for now in x:
        from_h = normalised(times(p["U"], h), p["alpha_h"], p["beta_h"])
        from_x = normalised(times(p["W"], now), p["alpha_x"], p["beta_x"])
        i, o, f, g = ([from_h[k] + from_x[k] for k in range(at * K, (at + 1) * K)] for at in range(4))
        c = [sigma(f[k]) * c[k] + sigma(i[k]) * math.tanh(g[k]) for k in range(K)]
        seen = normalised(c, p["alpha_c"], p["beta_c"])
        c = seen if layer.published else c
        h = [sigma(o[k]) * math.tanh(seen[k]) for k in range(K)]
        outputs.append(h)
    return torch.tensor(outputs, dtype=torch.float64)


def scrambled(layer):
    """Off the start, where zero biases and unit scales would hide mistakes."""
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return layer


CASES = [
    (lambda **rest: LSTM(2, 3, **rest), plain_lstm),
    (lambda **rest: LSTM(2, 3, forget_gate=False, **rest), plain_lstm),
    (lambda **rest: LNLSTM(2, 3, **rest), plain_ln_lstm),
    (lambda **rest: LNLSTM(2, 3, published=True, **rest), plain_ln_lstm),
]


@pytest.mark.parametrize(("build", "plain"), CASES)
def test_equations(build, plain):
    torch.manual_seed(0)
    layer = scrambled(build(dtype=torch.float64))
    x = torch.randn(6, 4, 2, dtype=torch.float64)
    h, (h_n, _) = layer(x)
    for sample in range(4):
        torch.testing.assert_close(h[:, sample], plain(layer, x[:, sample].tolist()), rtol=1e-12, atol=1e-13)
    assert torch.equal(h_n, h[-1])


@pytest.mark.parametrize(("build", "plain"), CASES)
def test_gradients(build, plain):
    torch.manual_seed(1)
    layer = scrambled(build(members=2, dtype=torch.float64))
    x = torch.randn(3, 2, 2, dtype=torch.float64, requires_grad=True)

    state = tuple(torch.randn(2, 2, 3, dtype=torch.float64, requires_grad=True) for _ in range(2))

    def run(x, h, c, *_):
        h, (h_n, c_n) = layer(x, (h, c))
        return h, h_n, c_n

    assert torch.autograd.gradcheck(run, (x, *state, *layer.parameters()))


def test_same_as_torch():
    torch.manual_seed(2)
    ours, theirs = scrambled(LSTM(2, 3)), torch.nn.LSTM(2, 3)
    order = [1, 2, 3, 0]  # torch's i, f, g, o among our o, i, f, g
    with torch.no_grad():
        for mine, name in ((ours.W, "weight_ih_l0"), (ours.U, "weight_hh_l0"), (ours.b, "bias_ih_l0")):
            getattr(theirs, name).copy_(torch.cat([mine.chunk(4)[at] for at in order]))
        theirs.bias_hh_l0.zero_()
    x = torch.randn(9, 5, 2)
    torch.testing.assert_close(ours(x)[0], theirs(x)[0])


def starts_gate_by_gate(layer, bias, gates=4):
    """Orthogonal W and identity U of every gate, no bias but that of the forget gate, the third of four."""
    assert layer.W.shape[1] == layer.U.shape[1] == bias.shape[1] == gates * 10
    eye_in, eye = torch.eye(2).expand(3, 2, 2), torch.eye(10).expand(3, 10, 10)
    for gate in range(gates):
        block = slice(gate * 10, (gate + 1) * 10)
        torch.testing.assert_close(layer.W[:, block].mT @ layer.W[:, block], eye_in)
        assert torch.equal(layer.U[:, block], eye)
        assert bias[:, block].eq(3.0 if (gates, gate) == (4, 2) else 0.0).all()


@pytest.mark.parametrize("forget_gate", [True, False])
def test_start_is_the_papers(forget_gate):
    layer = LSTM(2, 10, forget_gate=forget_gate, members=3)
    starts_gate_by_gate(layer, layer.b, gates=4 if forget_gate else 3)


@pytest.mark.parametrize("published", [False, True])
def test_start_with_layer_norm_is_the_papers(published):
    """Under both protocols: the published variant differs in what it carries, not in how it starts."""
    layer = LNLSTM(2, 10, published=published, members=3)
    starts_gate_by_gate(layer, layer.beta_x)
    assert all(alpha.eq(1.0).all() for alpha in (layer.alpha_x, layer.alpha_h, layer.alpha_c))
    assert layer.beta_h.eq(0.0).all()
    assert layer.beta_c.eq(0.0).all()


def test_published_start_is_not_orthogonal():
    gate = LSTM(2, 10, published=True, seeds=[0]).W[:10]
    assert not torch.allclose(gate.mT @ gate, torch.eye(2), atol=0.05)


def test_published_layer_norm_cannot_accumulate():
    x = torch.ones(50, 1, 1)
    sizes = [LNLSTM(1, 4, published=p, seeds=[0])(x)[1][1].abs().max().item() for p in (False, True)]
    assert sizes[0] > 5.0
    assert sizes[1] <= math.sqrt(3) + 1e-5  # (4 - 1)^(1/2): the most a normalised vector of 4 can hold
