"""The built-in hypernetwork: what it sees, its state, and members that equal networks alone."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from mclstm import MCLSTM, Hypernetwork
from support.variants import AUX, MASS, STATIC, inputs, shaken

SEES: dict[str, dict[str, Any]] = {
    "cells": {},
    "share": {"sees": "share", "activation": "tanh"},
    "share and change": {"sees": "share and change"},
    "one share, scaled": {
        "sees": "share and change", "cells": [1], "scale": (2.0, 12.0), "shift": (-1.0, 0.0),
    },
}  # fmt: skip


def network(members: int | None = None, **options: Any) -> Hypernetwork:
    return Hypernetwork(AUX + STATIC, 3, (6, 5), members=members, dtype=torch.float64, **options)


def layer(inner: Hypernetwork, **options: Any) -> MCLSTM:
    options |= {"static_size": STATIC, "members": inner.members, "dtype": torch.float64}
    return shaken(MCLSTM(MASS, AUX, 3, redistribution=inner, **options))


def alone(together: MCLSTM, member: int, **options: Any) -> MCLSTM:
    """A plain layer with the parameters of one member."""
    one = layer(network(**options), backend=together.backend)
    one.load_state_dict({name: value[member] for name, value in together.state_dict().items()})
    return one


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("backend", ["reference", "torch"])
@pytest.mark.parametrize("sees", SEES)
def test_members_equal_layers_alone(sees: str, backend: str, shared: bool) -> None:
    together = layer(network(3, **SEES[sees]), backend=backend)
    x, a, s = inputs(batch=4)
    x, a, s = (x, a, s) if shared else (torch.stack([v, 0.5 * v, v.flip(-2)]) for v in (x, a, s))
    h, c = together.trajectory(x, a, static=s, lengths=[5, 3, 0, 4])
    (h.square().sum() + c.pow(3).sum()).backward()
    for member in range(3):
        one = alone(together, member, **SEES[sees])
        x_e, a_e, s_e = (value if shared else value[member] for value in (x, a, s))
        h_e, c_e = one.trajectory(x_e, a_e, static=s_e, lengths=[5, 3, 0, 4])
        (h_e.square().sum() + c_e.pow(3).sum()).backward()
        torch.testing.assert_close(h[member], h_e, rtol=1e-12, atol=1e-14)
        torch.testing.assert_close(c[member], c_e, rtol=1e-12, atol=1e-14)
        for many, single in zip(together.parameters(), one.parameters(), strict=True):
            torch.testing.assert_close(many.grad[member], single.grad, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("members", [None, 2])
@pytest.mark.parametrize("sees", SEES)
def test_backends_agree_and_a_second_half_continues(sees: str, members: int | None) -> None:
    both = layer(network(members, **SEES[sees]), backend="reference")
    x, a, s = inputs(9)
    h, c = both(x, a, static=s)
    for backend in ("reference", "torch"):
        both.backend = backend
        h_1, c_1 = both(x[:4], a[:4], static=s)
        h_2, c_2 = both(x[4:], a[4:], c_1, static=s)
        torch.testing.assert_close(torch.cat([h_1, h_2], dim=-3), h, rtol=1e-12, atol=1e-14)
        torch.testing.assert_close(c_2, c, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("members", [None, 2])
@pytest.mark.parametrize("backend", ["reference", "torch"])
def test_an_audit_closes_and_moves_the_state_once(backend: str, members: int | None) -> None:
    inner = network(members, sees="share and change")
    both = layer(inner, backend=backend)
    x, a, s = inputs(4)
    flows = both.audit(x, a, static=s)
    h, c = both.trajectory(x, a, static=s)
    assert torch.equal(flows.h, h)
    assert torch.equal(flows.c, c)
    seen = torch.stack(inner.seen) if members else inner.seen[0]
    before = c.select(-3, -2)
    torch.testing.assert_close(seen, before / before.sum(-1, keepdim=True))


def test_logits_are_the_formula() -> None:
    inner = network(**SEES["one share, scaled"])
    assert [tuple(W.shape) for W in inner.W] == [(6, 7), (5, 6), (9, 5)]
    a, first, second = torch.randn(2, 5).double(), torch.rand(2, 3).double(), torch.rand(2, 3).double()
    shares = [(c / c.sum(-1, keepdim=True))[:, 1:2] for c in (first, second)]
    changes = [torch.zeros_like(shares[0]), shares[1] - shares[0]]
    for c, share, change in zip((first, second), shares, changes, strict=True):
        z = torch.cat([a, 2 * share - 1, 12 * change], dim=-1)
        for W, b in zip(inner.W[:2], inner.b[:2], strict=True):
            z = torch.relu(z @ W.T + b)
        wanted = (z @ inner.W[2].T + inner.b[2]).view(2, 3, 3)
        torch.testing.assert_close(inner(a[:, :0], a, c), wanted)


def test_a_copy_begins_a_new_sequence() -> None:
    inner = network(sees="share and change", next_aux_size=2)
    a, c = torch.randn(2, 5).double(), torch.rand(2, 3).double()
    first = inner(a, a, c)
    inner(a, a, torch.rand(2, 3).double())
    assert inner.next_aux.shape == (2, 2)
    again = copy.deepcopy(inner)
    assert again.next_aux is None
    assert torch.equal(again(a, a, c), first)
    inner.reset_state()
    assert torch.equal(inner(a, a, c), first)


def test_seeds_start_members_as_networks_alone() -> None:
    together = network(2, seeds=[5, 9])
    for member, seed in enumerate([5, 9]):
        torch.manual_seed(seed)
        for name, value in network().state_dict().items():
            assert torch.equal(together.state_dict()[name][member], value), name


@pytest.mark.parametrize("sees", SEES)
def test_derivatives(sees: str) -> None:
    both = layer(network(2, **SEES[sees] | {"activation": "tanh"}))
    names = [name for name, _ in both.named_parameters()]
    x, a, s = inputs(2, 2)
    c0 = torch.rand(2, 3).double() + 0.1

    def run(x: Tensor, a: Tensor, c0: Tensor, s: Tensor, *values: Tensor) -> tuple[Tensor, ...]:
        both.gates.start()
        weights = dict(zip(names, values, strict=True))
        result: tuple[Tensor, ...] = torch.func.functional_call(both, weights, (x, a, c0), {"static": s})
        return result

    leaves = [value.detach().clone().requires_grad_() for value in (x, a, c0, s, *both.parameters())]
    assert gradcheck(run, leaves, fast_mode=True)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "activation": ({"activation": "gelu"}, "activation is 'gelu'; choose one of relu, tanh"),
    "sight": ({"sees": "mass"}, "sees is 'mass'; choose one of cells, share, share and change"),
    "cell": ({"cells": [3]}, "cells names cell 3; cells are 0 to 2"),
    "scale": ({"scale": (1.0, 2.0)}, r"scale is \(1.0, 2.0\); give one number, or 3"),
    "shift": ({"shift": "x"}, "shift is 'x'; give one number, or 3"),
    "layers": ({"layers": 5}, "layers is 5; give whole numbers"),
    "layer": ({"layers": (5, 0)}, "layers is 0; give a whole number of at least 1"),
    "inputs": ({"next_aux_size": -1}, "next_aux_size is -1"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_constructions(name: str) -> None:
    options, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        Hypernetwork(1, 3, **options)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="whose members is None, and the layer's is 3; give both the same"):
        MCLSTM(1, 2, 3, members=3, redistribution=Hypernetwork(2, 3))
    with pytest.raises(ValueError, match="whose members is 2, and the layer's is None"):
        MCLSTM(1, 2, 3, redistribution=Hypernetwork(2, 3, members=2))
    with pytest.raises(ValueError, match=r"a has shape \(1, 1, 2\), expected \(..., 4\)"):
        MCLSTM(1, 2, 3, redistribution=Hypernetwork(4, 3))(torch.ones(5, 1, 1), torch.ones(5, 1, 2))
