"""Bad input gets one sentence: what was given, what is expected, how to fix it."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from mclstm import (
    MCFC,
    MCLSTM,
    LinearHead,
    MCFCHead,
    MCLSTMCell,
    MultiplicativeMCFC,
    ScaledHead,
    SumHead,
    rollout,
)
from mclstm.nn.hydrology import guide_penalty

NAN, INF = float("nan"), float("inf")


def put(value: float, shape: tuple[int, ...], at: tuple[int, ...]) -> Tensor:
    tensor = torch.ones(shape)
    tensor[at] = value
    return tensor


def good() -> dict[str, Any]:
    return {
        "x": torch.ones(5, 3, 1),
        "a": torch.ones(5, 3, 2),
        "c0": torch.ones(3, 4),
        "static": torch.ones(3, 2),
        "lengths": [5, 2, 0],
    }


CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "x of one dimension": ({"x": torch.ones(5)}, r"x has shape \(5,\), expected \(T, B, 1\)"),
    "x of four dimensions": ({"x": torch.ones(5, 3, 1, 1)}, r"x has shape .* expected \(T, B, 1\)"),
    "x too wide": ({"x": torch.ones(5, 3, 2)}, r"x has shape \(5, 3, 2\), expected \(T, B, 1\)"),
    "a too narrow": ({"a": torch.ones(5, 3, 1)}, r"a has shape \(5, 3, 1\), expected \(T, B, 2\)"),
    "a unbatched beside a batch": ({"a": torch.ones(5, 2)}, r"a has shape \(5, 2\), expected \(T, B, 2\)"),
    "a shorter": ({"a": torch.ones(4, 3, 2)}, "x has 5 steps of 3 samples and a has 4 of 3"),
    "a with other samples": ({"a": torch.ones(5, 2, 2)}, "x has 5 steps of 3 samples and a has 5 of 2"),
    "a missing": ({"a": None}, "a is missing; the layer was built for 2 auxiliary inputs"),
    "x and a missing": ({"x": None, "a": None}, "Neither x nor a is given"),
    "static missing": ({"static": None}, "static is missing; the layer was built for 2"),
    "static per step": ({"static": torch.ones(5, 3, 2)}, r"static has shape .* expected \(3, 2\)"),
    "c0 transposed": ({"c0": torch.ones(4, 3)}, r"c0 has shape \(4, 3\), expected \(3, 4\)"),
    "x in float64": ({"x": torch.ones(5, 3, 1).double()}, r"x is torch.float64, the layer torch.float32"),
    "x in whole numbers": ({"x": torch.ones(5, 3, 1).long()}, r"x is torch.int64.* x.to\(torch.float32\)"),
    "a in half": ({"a": torch.ones(5, 3, 2).half()}, "a is torch.float16, the layer torch.float32"),
    "static in float64": ({"static": torch.ones(3, 2).double()}, "static is torch.float64"),
    "c0 in float64": ({"c0": torch.ones(3, 4).double()}, "c0 is torch.float64"),
    "x elsewhere": ({"x": torch.ones(5, 3, 1, device="meta")}, "x is on meta, the layer on cpu"),
    "negative mass": (
        {"x": put(-0.5, (5, 3, 1), (3, 0, 0))},
        r"x is -0.5 at step 3, sample 0, input 0; .* >= 0.*allow_negative_mass",
    ),
    "missing mass": ({"x": put(NAN, (5, 3, 1), (4, 0, 0))}, "x is nan at step 4, sample 0, input 0"),
    "infinite mass": ({"x": put(INF, (5, 3, 1), (0, 0, 0))}, "x is inf at step 0, sample 0, input 0"),
    "missing auxiliary": ({"a": put(NAN, (5, 3, 2), (2, 0, 1))}, "a is nan at step 2, sample 0, input 1"),
    "infinite static": ({"static": put(INF, (3, 2), (1, 0))}, "static is inf at sample 1, input 0"),
    "negative state": ({"c0": put(-1.0, (3, 4), (2, 3))}, "c0 is -1.0 at sample 2, cell 3"),
    "missing state": ({"c0": put(NAN, (3, 4), (0, 0))}, "c0 is nan at sample 0, cell 0"),
    "length too long": ({"lengths": [5, 6, 1]}, r"lengths\[1\] is 6, but the sequences have 5 steps"),
    "length negative": ({"lengths": [5, 5, -1]}, r"lengths\[2\] is -1"),
    "too few lengths": ({"lengths": [5]}, r"lengths is torch.int64 of shape \(1,\); give 3 whole numbers"),
    "x as an array": ({"x": np.ones((5, 3, 1))}, r"x is a numpy.ndarray; give a torch tensor, such as"),
    "a as a list": ({"a": [[1.0]]}, "a is a list; give a torch tensor"),
    "static as an array": ({"static": np.ones((3, 2))}, "static is a numpy.ndarray"),
    "c0 as a number": ({"c0": 1.0}, "c0 is a float; give a torch tensor"),
    "lengths of words": ({"lengths": ["a", "b", "c"]}, "lengths is a list of something else than numbers"),
    "ragged lengths": ({"lengths": [[1], [2, 3]]}, "lengths is a list of .*; give 3 whole numbers"),
    "broken lengths": ({"lengths": torch.ones(3)}, "lengths is torch.float32"),
}


@pytest.mark.parametrize("name", CALLS)
def test_bad_calls(name: str) -> None:
    change, message = CALLS[name]
    layer = MCLSTM(1, 2, 4, static_size=2)
    layer(**good())
    with pytest.raises(ValueError, match=message) as caught:
        layer(**{**good(), **change})
    assert len(str(caught.value).splitlines()) == 1


BUILDS: dict[str, tuple[dict[str, Any], str]] = {
    "no cells": ({"hidden_size": 0}, "hidden_size is 0; give a whole number of at least 1"),
    "negative mass size": ({"mass_size": -1}, "mass_size is -1"),
    "aux size a float": ({"aux_size": 1.5}, "aux_size is 1.5"),
    "bool size": ({"aux_size": True}, "aux_size is True"),
    "unknown norm": ({"input_norm": "tanh"}, "input_norm is 'tanh'; choose one of softmax, sigmoid, relu"),
    "unknown redistribution": ({"redistribution": "module"}, "redistribution is 'module'; choose one of"),
    "unknown sight": ({"gates_see": ("aux", "cells")}, "gates_see is 'cells'; choose one of"),
    "unknown ablation": ({"not_conserving": "gate"}, "not_conserving is 'gate'"),
    "unknown backend": ({"backend": "cuda"}, "backend is 'cuda'; choose one of"),
    "unknown state norm": ({"state_norm": "layer"}, "state_norm is 'layer'"),
    "unknown outlet": ({"outlet": None}, "outlet is None; choose one of gate, constant, none"),
    "ablation of no outlet": (
        {"outlet": "none", "not_conserving": "output"},
        "outlet is 'none' and not_conserving names 'output'",
    ),
    "learned from a debt": (
        {"initial_state": "learned", "learned_from": -1.0},
        "learned_from is -1.0; give a finite amount >= 0",
    ),
    "learned from, but not learned": (
        {"learned_from": 100.0},
        "learned_from is 100.0 and initial_state is 'zero'; set initial_state='learned'",
    ),
    "stay of one": ({"stay": 1.0}, "stay is 1.0; give a share between 0 and 1"),
    "negative start": ({"initial_state": -1.0}, "initial_state is -1.0"),
    "unknown start": ({"initial_state": "random"}, "initial_state is 'random'"),
    "stay in words": ({"stay": "x"}, "stay is 'x'; give a share between 0 and 1"),
    "stay of True": ({"stay": True}, "stay is True"),
    "no start": (
        {"initial_state": None},
        "initial_state is None; give 'zero', 'learned', or a finite amount",
    ),
    "start as a list": ({"initial_state": [1.0]}, r"initial_state is \[1.0\]"),
    "output bias in words": ({"output_bias": "low"}, "output_bias is 'low'; give a finite number"),
    "sight as a number": ({"gates_see": 3}, "gates_see is 3; give any of aux, state, mass"),
    "mask as a list": ({"mask": [[True] * 4] * 4}, "mask is a list; give a torch tensor"),
    "half": ({"dtype": torch.float16}, "dtype is torch.float16; mass is kept in"),
    "mask of floats": ({"mask": torch.ones(4, 4)}, "mask is torch.float32"),
    "mask too small": ({"mask": torch.ones(3, 3).bool()}, r"give a bool tensor \(4, 4\)"),
    "mask that locks a cell": ({"mask": put(0.0, (4, 4), (2,)).bool()}, "forbids every transfer of cell 2"),
    "identity that may not stay": (
        {"mask": ~torch.eye(4, dtype=torch.bool), "redistribution": "identity"},
        "mask forbids staying",
    ),
}


@pytest.mark.parametrize("name", BUILDS)
def test_bad_constructions(name: str) -> None:
    change, message = BUILDS[name]
    sizes = {"mass_size": 1, "aux_size": 2, "hidden_size": 4}
    MCLSTM(**sizes)
    with pytest.raises(ValueError, match=message) as caught:
        MCLSTM(**{**sizes, **change})
    assert len(str(caught.value).splitlines()) == 1


def test_half_precision_weights_are_refused() -> None:
    with pytest.raises(ValueError, match="in which mass cannot be kept"):
        MCLSTM(1, 0, 2).half()(torch.ones(3, 1, 1).half())


def test_negative_mass_is_welcome_when_declared() -> None:
    layer = MCLSTM(1, 0, 3, allow_negative_mass=True)
    flows = layer.audit(torch.tensor([[[1.0]], [[-3.0]], [[0.5]]]))
    assert (flows.c < 0).any()


PARTS = {
    "MCFC shape": (lambda: MCFC(3, 2)(torch.ones(4, 2)), r"x has shape \(4, 2\), expected \(..., 3\)"),
    "MCFC negative": (lambda: MCFC(1, 2)(-torch.ones(1, 1)), "x is -1.0 at row 0, input 0"),
    "product of negatives": (
        lambda: MultiplicativeMCFC(1, 2)(-torch.ones(1, 1)),
        "x is -1.0 at row 0, input 0",
    ),
    "sum of nothing": (lambda: SumHead(1), "leaves no cell beside the trash cell"),
    "outlet without cell": (
        lambda: SumHead(3, {"north": [3]}),
        "outlet 'north' names cell 3; cells are 0 to 2",
    ),
    "cell with two outlets": (lambda: SumHead(3, {"a": [1], "b": [1]}), "outlet 'b' names cell 1 again"),
    "scaled head of one": (lambda: ScaledHead(1), "hidden_size is 1; give a whole number of at least 2"),
    "guided by another shape": (lambda: guide_penalty(torch.ones(3, 2), torch.ones(3)), r"choose one cell"),
    "roll-out without steps": (
        lambda: rollout(MCLSTMCell(0, 1, 2), torch.ones(1, 2), torch.ones(1, 1), next_aux=lambda a, c: a),
        "a holds those of the first step; give `steps`",
    ),
    "cell with an array": (lambda: MCLSTMCell(2, 0, 3)(np.ones((4, 2))), "x is a numpy.ndarray"),
    "roll-out from an array": (
        lambda: rollout(MCLSTMCell(0, 1, 2), np.ones((1, 2)), torch.ones(3, 1, 1)),
        "c0 is a numpy.ndarray",
    ),
    "roll-out without static": (
        lambda: rollout(MCLSTMCell(0, 1, 2, static_size=1), torch.ones(1, 2), torch.ones(3, 1, 1)),
        "static is missing",
    ),
    "outlets as a word": (lambda: LinearHead(3, "flow"), r"outlets is 'flow'; give a tuple of names"),
    "shares of a word": (lambda: MCFCHead(3, "flow"), r"outlets is 'flow'; give a tuple of names"),
    "sums of a word": (lambda: SumHead(3, "flow"), "outlets is 'flow'; say which cells each has"),
    "no outlets": (lambda: LinearHead(3, ()), r"outlets is \(\); give at least one name"),
    "an outlet twice": (lambda: MCFCHead(3, ("a", "a")), "give at least one name, and each once"),
    "a head of nothing": (lambda: LinearHead(0), "hidden_size is 0"),
    "a sum of other cells": (
        lambda: SumHead(3)(torch.ones(2, 4)),
        r"h has shape \(2, 4\), expected \(",
    ),
    "a layer on other cells": (lambda: LinearHead(3)(torch.ones(2, 4)), r"h has shape \(2, 4\), expected"),
    "one seed for all": (lambda: MCLSTM(1, 0, 2, members=3, seeds=3), "seeds is 3; give a whole number or"),
    "seeds in words": (lambda: MCLSTM(1, 0, 2, members=1, seeds=["a"]), "give a whole number or a torch.Gen"),
    "cell with a sequence": (
        lambda: MCLSTMCell(1, 2, 4)(torch.ones(5, 3, 1)),
        r"x has shape \(5, 3, 1\), expected \(B, 1\), one step",
    ),
    "roll-out of a layer": (
        lambda: rollout(MCLSTM(0, 1, 2), torch.ones(1, 2), torch.ones(3, 1, 1)),
        "cell is a MCLSTM; give an MCLSTMCell",
    ),
    "roll-out backwards": (
        lambda: rollout(
            MCLSTMCell(0, 1, 2), torch.ones(1, 2), torch.ones(1, 1), next_aux=lambda a, c: a, steps=-1
        ),
        "steps is -1; give a whole number of at least 0",
    ),
    "cell of wrong width": (lambda: MCLSTMCell(2, 0, 3)(torch.ones(4, 1)), "x has shape"),
}


@pytest.mark.parametrize("name", PARTS)
def test_bad_use_of_parts(name: str) -> None:
    call, message = PARTS[name]
    with pytest.raises(ValueError, match=message):
        call()


def test_a_keyword_the_cell_does_not_have() -> None:
    with pytest.raises(TypeError, match="MCLSTMCell has no keyword 'backend'"):
        MCLSTMCell(1, 0, 2, backend="native")


@pytest.mark.parametrize("form", [MCFC, MultiplicativeMCFC])
def test_feed_forward_forms_have_the_door_of_the_layer(form: type[MCFC] | type[MultiplicativeMCFC]) -> None:
    layer, x = form(3, 2), torch.ones(4, 3)
    for bad, message in (
        (x.double(), "x is torch.float64, the layer torch.float32"),
        (x.long(), r"x is torch.int64.* x.to\(torch.float32\)"),
        (x.to("meta"), "x is on meta, the layer on cpu"),
        (x.numpy(), "x is a numpy.ndarray"),
        (torch.ones(()), r"x has shape \(\), expected \(..., 3\)"),
    ):
        with pytest.raises(ValueError, match=message):
            layer(bad)
    with torch.autocast("cpu", dtype=torch.float16):
        assert layer(x.half()).dtype == torch.float32
    with pytest.raises(ValueError, match="in which mass cannot be kept"):
        form(3, 2).half()(x.half())


def test_linear_head_takes_anything() -> None:
    assert LinearHead(2)(-torch.ones(3, 2)).shape == (3, 1)
