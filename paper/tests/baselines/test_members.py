"""Every baseline: a member of an ensemble equals the single model of its seed, whatever the inputs' shape."""

import pytest
import torch

from mclstm.nn.ensemble_dim import generators
from mclstm_paper.baselines import BASELINES, UNITS, Linear
from mclstm_paper.baselines.arithmetic_units import RecurrentUnit
from mclstm_paper.baselines.lstm import LNLSTM, LSTM
from mclstm_paper.baselines.urnn import URNN

SEEDS = [11, 5, 7]
LAYERS = {
    **BASELINES,
    "lstm without forget gate": lambda i, k, **rest: LSTM(i, k, forget_gate=False, **rest),
    "lstm published": lambda i, k, **rest: LSTM(i, k, published=True, forget_bias=0.0, **rest),
    "ln-lstm published": lambda i, k, **rest: LNLSTM(i, k, published=True, **rest),
    "urnn published": lambda i, k, **rest: URNN(i, k, published=True, **rest),
}
FORWARD = {**UNITS, "linear": Linear}


def single(build, seed, inputs, outputs):
    torch.manual_seed(seed)
    return build(inputs, outputs, dtype=torch.float64)


def close(left, right):
    torch.testing.assert_close(left, right, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("shared", [True, False])
def test_sequence_members_equal_singles(name, shared):
    x = torch.rand(3, 6, 4, 2, dtype=torch.float64)
    layer = LAYERS[name](2, 5, members=3, seeds=SEEDS, dtype=torch.float64)
    h, state = layer(x[0] if shared else x)
    assert h.shape == (3, 6, 4, layer.output_size)
    for member, seed in enumerate(SEEDS):
        alone = single(LAYERS[name], seed, 2, 5)
        for key, value in alone.state_dict().items():
            assert torch.equal(layer.state_dict()[key][member], value), key
        h_alone, state_alone = alone(x[0 if shared else member])
        close(h[member], h_alone)
        if isinstance(state, tuple):
            close(state[1][member], state_alone[1])
        else:
            close(state[member], state_alone)


@pytest.mark.parametrize("name", LAYERS)
def test_a_given_state_continues_a_sequence(name):
    x = torch.rand(6, 4, 2, dtype=torch.float64)
    layer = LAYERS[name](2, 5, members=3, seeds=SEEDS, dtype=torch.float64)
    whole, _ = layer(x)
    first, state = layer(x[:4])
    rest, _ = layer(x[4:], state)
    close(torch.cat([first, rest], dim=1), whole)


@pytest.mark.parametrize("name", FORWARD)
@pytest.mark.parametrize("shape", [(4, 3), (3, 4, 3), (3, 2, 4, 3)])
def test_forward_members_equal_singles(name, shape):
    x = torch.rand(shape, dtype=torch.float64) + 0.1
    unit = FORWARD[name](3, 2, members=3, seeds=SEEDS, dtype=torch.float64)
    y = unit(x)
    assert y.shape == ((3, 4, 2) if len(shape) == 2 else (*shape[:-1], 2))
    for member, seed in enumerate(SEEDS):
        alone = single(FORWARD[name], seed, 3, 2)
        close(y[member], alone(x if len(shape) == 2 else x[member]))


@pytest.mark.parametrize("name", LAYERS)
def test_training_members_together_equals_training_them_alone(name):
    x = torch.rand(5, 4, 2, dtype=torch.float64)
    layer = LAYERS[name](2, 3, members=2, seeds=SEEDS[:2], dtype=torch.float64)
    layer(x)[0].square().mean(dim=(1, 2, 3)).sum().backward()
    for member, seed in enumerate(SEEDS[:2]):
        alone = single(LAYERS[name], seed, 2, 3)
        alone(x)[0].square().mean().backward()
        for together, one in zip(layer.parameters(), alone.parameters(), strict=True):
            torch.testing.assert_close(together.grad[member], one.grad, rtol=1e-9, atol=1e-12)


def test_generators_carry_on_from_layer_to_head():
    sources = generators(2, [3, 4])
    layer = BASELINES["nau"](2, 5, members=2, seeds=sources)
    head = UNITS["nau"](5, 1, members=2, seeds=sources)
    torch.manual_seed(4)
    layer_alone, head_alone = BASELINES["nau"](2, 5), UNITS["nau"](5, 1)
    assert torch.equal(layer.unit.W[1], layer_alone.unit.W)
    assert torch.equal(head.W[1], head_alone.W)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: LSTM(2, 3, members=0), "members is 0"),
        (lambda: LSTM(2, 3, members=2, seeds=[1]), "1 seeds are given for 2 members"),
        (lambda: RecurrentUnit("nap", 2, 3), "unit is 'nap'; choose one of nac"),
        (lambda: LSTM(2, 3)(torch.rand(4, 5, 3)), r"expected \(T, B, 2\)"),
        (lambda: LSTM(2, 3)(torch.rand(0, 5, 2)), "no steps"),
        (lambda: LSTM(2, 3, members=2)(torch.rand(3, 4, 5, 2)), r"or \(2, T, B, 2\)"),
        (lambda: UNITS["nac"](2, 3, members=2)(torch.rand(3, 4, 2)), "leading 2"),
        (lambda: UNITS["nac"](2, 3)(torch.rand(4, 3)), r"expected \(\.\.\., 2\)"),
    ],
)
def test_what_cannot_be_used_is_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()
