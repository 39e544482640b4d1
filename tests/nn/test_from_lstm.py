"""The layer for people who come from `nn.LSTM`: packed sequences, keywords and state, vmap, a short repr."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from mclstm import MCLSTM, MCLSTMCell
from support.variants import VARIANTS, build, inputs

LENGTHS = [2, 6, 4, 6]


def packed(value: Tensor, batch_first: bool = False) -> PackedSequence:
    return pack_padded_sequence(value, LENGTHS, batch_first, enforce_sorted=False)


@pytest.mark.parametrize("batch_first", [False, True])
def test_packed_sequences_are_padded_ones_with_lengths(batch_first: bool) -> None:
    layer = build("dynamic", batch_first=batch_first)
    x, a, static = inputs(6, 4)
    x, a = (value.transpose(0, 1) if batch_first else value for value in (x, a))
    h, c = layer(x, a, static=static, lengths=LENGTHS)
    h_packed, c_packed = layer(packed(x, batch_first), packed(a, batch_first), static=static)
    assert torch.equal(c_packed, c)
    shown, lengths = pad_packed_sequence(h_packed, batch_first)
    assert torch.equal(shown, h)
    assert lengths.tolist() == LENGTHS
    assert torch.equal(layer.last(packed(x, batch_first), packed(a, batch_first), static=static)[1], c)


def test_the_outflow_is_packed_as_nn_lstm_packs_its_output() -> None:
    x = packed(torch.rand(6, 4, 2))
    ours, (theirs, _) = MCLSTM(2, 0, 3)(x)[0], nn.LSTM(2, 3)(x)
    assert ours.data.shape == theirs.data.shape
    for name in ("batch_sizes", "sorted_indices", "unsorted_indices"):
        assert torch.equal(getattr(ours, name), getattr(theirs, name))


def test_sequences_that_were_sorted_before_packing() -> None:
    layer, x = MCLSTM(2, 0, 3), torch.rand(6, 3, 2)
    h, c = layer(pack_padded_sequence(x, [6, 3, 1]))
    wanted, stored = layer(x, lengths=[6, 3, 1])
    assert torch.equal(pad_packed_sequence(h)[0], wanted)
    assert torch.equal(c, stored)


def test_a_closed_system_may_have_packed_auxiliaries_only() -> None:
    a = torch.randn(6, 4, 1)
    h, c = MCLSTM(0, 1, 3, initial_state=1.0)(None, packed(a))
    total = pad_packed_sequence(h)[0].sum((0, 2)) + c.sum(-1)
    torch.testing.assert_close(total, torch.full((4,), 3.0))


X, A = torch.ones(6, 4, 1), torch.ones(6, 4, 2)
PAIR = (torch.zeros(1, 4, 3), torch.zeros(1, 4, 3))
CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "only x packed": ({"x": packed(X)}, "a is not packed and the other input is; pack both"),
    "only a packed": ({"a": packed(A)}, "x is not packed and the other input is; pack both"),
    "other lengths": (
        {"x": packed(X), "a": pack_padded_sequence(A, [6] * 4)},
        "x and a are packed with different lengths",
    ),
    "lengths twice": (
        {"x": packed(X), "a": packed(A), "lengths": LENGTHS},
        "lengths is given beside a Packed",
    ),
    "state in the place of a": ({"a": PAIR}, r"a is a tuple, as nn.LSTM's state .* pass c0=c, and auxiliary"),
    "state as c0": ({"c0": PAIR}, r"c0 is a tuple, as nn.LSTM's state \(h, c\) is; .* pass c0=c\.$"),
    "packed x and a state": ({"x": packed(X), "a": PAIR}, "a is a tuple, as nn.LSTM's state"),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_that_nn_lstm_would_take(name: str) -> None:
    change, message = CALLS[name]
    with pytest.raises(ValueError, match=message) as caught:
        MCLSTM(1, 2, 3)(**{"x": X, "a": A, **change})
    assert len(str(caught.value).splitlines()) == 1


def test_members_have_no_packed_form() -> None:
    with pytest.raises(ValueError, match="PackedSequence and the layer has members; give padded"):
        MCLSTM(1, 0, 3, members=2)(packed(X))


@pytest.mark.parametrize("kind", [MCLSTM, MCLSTMCell])
@pytest.mark.parametrize(
    ("option", "answer"),
    [
        ({"num_layers": 2}, "has no keyword 'num_layers'; raise hidden_size, or stack layers yourself"),
        ({"input_size": 3}, "say which inputs are mass"),
        ({"bidirectional": True}, "mass cannot flow back in time"),
        ({"dropout": 0.1}, "dropped outflow would be lost mass"),
        ({"bias": False}, "its gates always have biases"),
        ({"proj_size": 1}, "put a head behind it"),
        ({"hidden": 3}, "has no keyword 'hidden'; .*MCLSTM"),
    ],
)
def test_keywords_of_nn_lstm_are_answered(kind: type[nn.Module], option: dict[str, Any], answer: str) -> None:
    with pytest.raises(TypeError, match=answer):
        kind(1, 2, 3, **option)


def test_stacked_layers_are_what_the_answer_says_they_are() -> None:
    first, second = MCLSTM(2, 0, 3), MCLSTM(3, 0, 4)
    x = torch.rand(6, 4, 2)
    h, c = first(x)
    h, c_2 = second(h)
    torch.testing.assert_close(x.sum((0, 2)), h.sum((0, 2)) + c.sum(-1) + c_2.sum(-1))


@pytest.mark.parametrize("name", [name for name in VARIANTS if name != "hypernetwork"])
def test_vmap_over_samples_is_the_batch(name: str) -> None:
    layer = build(name, check=False)
    x, a, static = inputs(5, 3)
    h, c = layer(x, a, static=static)
    each = vmap(lambda x, a, static: layer(x, a, static=static), in_dims=(1, 1, 0), out_dims=(1, 0))
    h_each, c_each = each(x, a, static)
    torch.testing.assert_close(h_each, h)
    torch.testing.assert_close(c_each, c)


def test_gradients_of_each_sample() -> None:
    layer = build("dynamic", check=False)
    x, a, static = inputs(5, 3)

    def loss(weights: dict[str, Tensor], x: Tensor, a: Tensor, static: Tensor) -> Tensor:
        h, _ = functional_call(layer, weights, (x, a), {"static": static})
        return h.square().sum()

    weights = {name: value.detach() for name, value in layer.named_parameters()}
    gradients = vmap(grad(loss), in_dims=(None, 1, 1, 0))(weights, x, a, static)
    for sample in range(3):
        layer.zero_grad()
        layer(x[:, sample], a[:, sample], static=static[sample])[0].square().sum().backward()
        for name, value in layer.named_parameters():
            torch.testing.assert_close(gradients[name][sample], value.grad)


def test_vmap_needs_unchecked_values_and_says_so() -> None:
    layer, x = MCLSTM(1, 0, 3), torch.rand(5, 3, 1)
    with pytest.raises(ValueError, match=r"x is inside torch.vmap, where no value .* check=False"):
        vmap(layer, in_dims=1)(x)


def test_vmap_needs_plain_operations_and_says_so() -> None:
    layer = MCLSTM(1, 2, 3, check=False, backend="torch")
    with pytest.raises(ValueError, match="use backend='auto'"):
        torch.vmap(lambda x, a: layer(x, a)[0], in_dims=1)(torch.rand(4, 2, 1), torch.rand(4, 2, 2))


def test_unchecked_values_go_through_and_the_repr_says_so() -> None:
    layer = MCLSTM(1, 0, 3, check=False)
    assert layer(torch.full((2, 1, 1), float("nan")))[0].isnan().any()
    assert "check=False" in repr(layer)
    assert "check" not in repr(MCLSTM(1, 0, 3))
    with pytest.raises(ValueError, match="x has shape"):
        layer(torch.ones(2, 1, 2))


def test_flows_have_a_short_repr() -> None:
    x = torch.rand(6, 3, 2)
    shown = repr(MCLSTM(2, 0, 4).flows(x))
    assert shown.startswith("Flows(T=6, B=3, M=2, K=4, largest ledger error ")
    assert len(shown) < 80
    assert repr(MCLSTM(2, 0, 4, batch_first=True).flows(x)).startswith("Flows(T=3, B=6, M=2, K=4")
    assert repr(MCLSTM(2, 0, 4, members=5).flows(x)).startswith("Flows(E=5, T=6, B=3, M=2, K=4")
    assert repr(MCLSTM(2, 0, 4).flows(x[:0])) == "Flows(T=0, B=3, M=2, K=4, largest ledger error 0.0e+00)"
