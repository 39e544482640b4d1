"""The kernel as a torch operator: its registration, dispatch modes, fake tensors."""

import json
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from mclstm import MCLSTM
from mclstm.ops.native import operator
from mclstm.ops.native.build import library
from mclstm.ops.problem import Problem
from support.variants import AUX, MASS, STATIC, VARIANTS, build, inputs

pytestmark = [
    pytest.mark.usefixtures("each_kernel"),
    pytest.mark.skipif(library() is None, reason="the kernel is not built"),
]

FORMS: dict[str, dict[str, Any]] = {
    "hydrology": {},
    "static": {},
    "identity": {},
    "masked": {},
    "members": {"members": 2},
    "padded": {},
}


SCHEMA = ("test_schema", "test_autograd_registration", "test_faketensor")


class Watch(TorchDispatchMode):
    """Changes nothing and keeps the names of the operators it saw."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.add(func.name())
        return func(*args, **(kwargs or {}))


def arguments(name: str) -> tuple[list[Tensor | None], str]:
    """The tensors of a small problem, every second with a gradient, and its form as the operator takes it."""
    layer, (x, a, s) = build("dynamic" if name in ("members", "padded") else name, **FORMS[name]), inputs()
    c0, valid = torch.rand(3, 4, dtype=torch.float64), torch.rand(5, 3) < 0.7 if name == "padded" else None
    lead = [value.expand(2, *value.shape) if name == "members" else value for value in (x, a, s, c0)]
    problem = Problem(*lead, valid, layer.gates.weights(), layer.gates.form)
    leaves = [value if value is None else value.detach().clone() for value in operator.flat(problem)]
    for value in leaves[1:10:2]:
        if value is not None:
            value.requires_grad_()
    return leaves, json.dumps(layer.gates.form)


@pytest.mark.parametrize("name", FORMS)
def test_the_operator_is_well_registered(name: str) -> None:
    tensors, form = arguments(name)
    # Compiling it ahead of time, forward and backward, takes seconds: for one form of all.
    tests = SCHEMA if name != "hydrology" else (*SCHEMA, "test_aot_dispatch_dynamic")
    torch.library.opcheck(operator.native_sequence, (*tensors, form), test_utils=tests)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("name", FORMS)
def test_the_backward_operator_is_well_registered(name: str, last: bool) -> None:
    tensors, form = arguments(name)
    tensors = [value if value is None else value.detach() for value in tensors]
    h, c = operator.native_sequence(*tensors, form)
    dh, dc = (value.select(-3, -1) if last else value for value in (h, c))
    c = c.narrow(-3, 0, 5) if last else c
    inputs = (*tensors, form, 10 * [True], c, dh, dc, last)
    torch.library.opcheck(operator.native_backward, inputs, test_utils=SCHEMA)


@pytest.mark.parametrize("members", [None, 3])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("name", ["hydrology", "static"])
def test_a_dispatch_mode_around_the_way_back_changes_nothing(
    name: str, last: bool, members: int | None
) -> None:
    layer, (x, a, s) = build(name, backend="native", members=members), inputs()
    leaves = [value.requires_grad_() for value in (x, a, s)] + list(layer.parameters())
    found: list[tuple[Tensor, ...]] = []
    watch = Watch()
    for around in (None, watch):
        h, c = (layer.last if last else layer)(x, a, static=s)
        loss = h.square().sum() + c.pow(3).sum()
        with around or nullcontext():
            found.append(torch.autograd.grad(loss, leaves))
    assert "mclstm::sequence_backward" in watch.seen
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


@pytest.mark.parametrize("members", [None, 2])
@pytest.mark.parametrize("name", ["hydrology", "static", "identity", "masked", "outer"])
def test_a_layer_of_fake_tensors_has_the_shapes_of_a_real_one(name: str, members: int | None) -> None:
    shapes = []
    for mode in (nullcontext(), FakeTensorMode()):
        with mode:
            options = VARIANTS[name](4) | {"static_size": STATIC, "dtype": torch.float64}
            layer, (x, a, s) = MCLSTM(MASS, AUX, 4, members=members, **options), inputs()
            h, c = layer(x, a, static=s)
            (h.sum() + c.sum()).backward()
            h_last, c_last = layer.last(x, a, static=s)
            grads = [parameter.grad for parameter in layer.parameters()]
            shapes.append([value.shape for value in (h, c, h_last, c_last, *grads) if value is not None])
    assert shapes[0] == shapes[1]
