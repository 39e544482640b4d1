"""Ensemble members: each equals the layer alone, whatever the backend, the form and what is shared."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from mclstm import MCFC, MCLSTM, LinearHead, MCFCHead, MCLSTMCell, MultiplicativeMCFC, ScaledHead, SumHead
from mclstm.nn.ensemble_dim import generators
from mclstm.ops.ledger import ledger
from support.variants import COUPLED, EACH_BACKEND, VARIANTS, AnyModule, build, inputs, shaken

pytestmark = pytest.mark.usefixtures("each_kernel")

SEEDS = [11, 5, 7]
FORMS = {name: make for name, make in (VARIANTS | COUPLED).items() if name != "hypernetwork"}


def alone(layer: MCLSTM, member: int, **options: Any) -> MCLSTM:
    """A plain layer with the parameters of one member."""
    gates = layer.gates
    sizes = (gates.mass_size, gates.aux_size, gates.hidden_size)
    one = MCLSTM(
        *sizes, static_size=gates.static_size, dtype=gates.W_i.dtype, backend=layer.backend, **options
    )
    state = layer.state_dict()
    one.load_state_dict({key: state[key] if key == "gates.mask" else state[key][member] for key in state})
    return one


def each(value: Tensor) -> Tensor:
    """Inputs of their own for three members: the first member's are the given ones."""
    return torch.stack([value, 0.5 * value, value.flip(-2)])


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("backend", EACH_BACKEND)
@pytest.mark.parametrize("name", FORMS)
def test_members_equal_layers_alone(name: str, backend: str, shared: bool) -> None:
    layer, given = build(name, members=3, backend=backend), inputs(batch=9)
    x, a, s = given if shared else (each(value) for value in given)
    lengths = torch.arange(9) % 6
    h, c = layer.trajectory(x, a, static=s, lengths=lengths)
    (h.square().sum() + c.pow(3).sum()).backward()
    assert h.shape == (3, 5, 9, 4)
    assert c.shape == (3, 6, 9, 4)
    for member in range(3):
        one = alone(layer, member, **FORMS[name](4))
        x_e, a_e, s_e = (value if shared else value[member] for value in (x, a, s))
        h_e, c_e = one.trajectory(x_e, a_e, static=s_e, lengths=lengths)
        (h_e.square().sum() + c_e.pow(3).sum()).backward()
        if backend == "reference":
            assert torch.equal(h[member], h_e)
            assert torch.equal(c[member], c_e)
        torch.testing.assert_close(h[member], h_e, rtol=1e-12, atol=1e-14)
        torch.testing.assert_close(c[member], c_e, rtol=1e-12, atol=1e-14)
        for together, single in zip(layer.parameters(), one.parameters(), strict=True):
            if single.grad is not None:
                torch.testing.assert_close(together.grad[member], single.grad, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("backend", EACH_BACKEND)
@pytest.mark.parametrize("name", ["hydrology", "static", "outer", "identity"])
def test_derivatives_of_members(name: str, backend: str) -> None:
    layer, (x, a, s) = build(name, cells=2, members=2, backend=backend), inputs(steps=2, batch=2)
    names = [name for name, _ in layer.named_parameters()]
    c0 = torch.rand(2, 2, 2, dtype=torch.float64) + 0.1
    values = [parameter.detach().clone() for parameter in layer.parameters()]

    def function(x: Tensor, a: Tensor, c0: Tensor, s: Tensor, *values: Tensor) -> tuple[Tensor, ...]:
        weights = dict(zip(names, values, strict=True))
        result: tuple[Tensor, ...] = torch.func.functional_call(layer, weights, (x, a, c0), {"static": s})
        return result

    # x and s are shared, their gradients sums over the members; a and c0 are each member's own.
    given = [value.requires_grad_() for value in (x, torch.stack([a, 2 * a]), c0, s, *values)]
    assert gradcheck(function, given)
    assert gradgradcheck(function, given, fast_mode=True)


@pytest.mark.parametrize("backend", EACH_BACKEND)
def test_shared_and_separate_inputs_agree(backend: str) -> None:
    layer, given = build("hydrology", members=3, backend=backend), inputs(batch=9)
    given = tuple(value.requires_grad_() for value in given)
    copies = tuple(value.detach().expand(3, *value.shape).clone().requires_grad_() for value in given)
    c0 = torch.rand(9, 4, dtype=torch.float64)
    h, c = layer(*given[:2], c0, static=given[2])
    h_own, c_own = layer(*copies[:2], c0.expand(3, 9, 4).clone(), static=copies[2])
    torch.testing.assert_close(h, h_own, rtol=0, atol=0)
    torch.testing.assert_close(c, c_own, rtol=0, atol=0)
    weight = torch.randn_like(h)
    shared = torch.autograd.grad((weight * h).sum(), given)
    separate = torch.autograd.grad((weight * h_own).sum(), copies)
    for one, many in zip(shared, separate, strict=True):
        torch.testing.assert_close(one, many.sum(dim=0), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", FORMS)
def test_seeds_start_members_as_layers_alone(name: str) -> None:
    options = FORMS[name](4)
    layer = MCLSTM(2, 3, 4, members=3, seeds=SEEDS, **options)
    for member, seed in enumerate(SEEDS):
        torch.manual_seed(seed)
        single = MCLSTM(2, 3, 4, **options)
        for key, value in single.state_dict().items():
            found = layer.state_dict()[key]
            assert torch.equal(found if key == "gates.mask" else found[member], value), key


def test_seeds_start_an_ensemble_again() -> None:
    layer = MCLSTM(2, 3, 4, members=3, seeds=SEEDS)
    before = layer.gates.W_o.detach().clone()
    layer.reset_parameters([1, 2, 3])
    assert not torch.equal(layer.gates.W_o, before)
    layer.reset_parameters(SEEDS)
    assert torch.equal(layer.gates.W_o, before)


PARTS: dict[str, Any] = {
    "mcfc": lambda **rest: MCFC(3, 2, output_bias=0.5, **rest),
    "mcfc without output gate": lambda **rest: MCFC(3, 2, output_gate=False, **rest),
    "multiplicative": lambda **rest: MultiplicativeMCFC(3, 2, **rest),
    "multiplicative with trash": lambda **rest: MultiplicativeMCFC(3, 2, trash=True, **rest),
    "linear": lambda **rest: LinearHead(3, ("north", "south"), **rest),
    "linear without bias": lambda **rest: LinearHead(3, bias=False, **rest),
    "mcfc head": lambda **rest: MCFCHead(3, **rest),
    "mcfc head with output gate": lambda **rest: MCFCHead(3, output_gate=True, **rest),
    "scaled": lambda members=None, seeds=None: ScaledHead(3, members=members),
    "sum": lambda members=None, seeds=None: SumHead(3),
}


@pytest.mark.parametrize("shape", [(4, 3), (3, 4, 3), (3, 2, 4, 3)], ids=str)
@pytest.mark.parametrize("name", PARTS)
def test_members_of_parts_equal_parts_alone(name: str, shape: tuple[int, ...]) -> None:
    if name == "sum" and len(shape) == 2:
        return  # it has no parameters: nothing makes an ensemble of shared inputs
    x = torch.rand(shape) + 0.1
    part = PARTS[name](members=3, seeds=SEEDS)
    y = part(x)
    assert y.shape[:-1] == ((3, 4) if len(shape) == 2 else shape[:-1])
    for member, seed in enumerate(SEEDS):
        torch.manual_seed(seed)
        single = PARTS[name]()
        for key, value in single.state_dict().items():
            assert torch.equal(part.state_dict()[key][member], value), key
        torch.testing.assert_close(y[member], single(x if len(shape) == 2 else x[member]))


@pytest.mark.parametrize("name", PARTS)
def test_derivatives_of_parts_with_members(name: str) -> None:
    part = shaken(PARTS[name](members=2, seeds=[1, 2])).double()
    names = [name for name, _ in part.named_parameters()]

    def run(x: Tensor, *values: Tensor) -> Tensor:
        result: Tensor = torch.func.functional_call(part, dict(zip(names, values, strict=True)), x)
        return result

    x = torch.rand(2, 4, 3, dtype=torch.float64) + 0.1
    given = [value.detach().requires_grad_() for value in (x, *part.parameters())]
    assert gradcheck(run, given)
    assert gradgradcheck(run, given)


def test_generators_carry_on_from_layer_to_head() -> None:
    sources = generators(2, [3, 4])
    layer, head = MCLSTM(1, 2, 3, members=2, seeds=sources), LinearHead(3, members=2, seeds=sources)
    torch.manual_seed(4)
    layer_alone, head_alone = MCLSTM(1, 2, 3), LinearHead(3)
    assert torch.equal(layer.gates.W_r[1], layer_alone.gates.W_r)
    assert torch.equal(head.linear["weight"][1], head_alone.linear["weight"])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("backend", EACH_BACKEND)
def test_every_member_conserves(backend: str, dtype: torch.dtype) -> None:
    layer = build("hydrology", members=5, dtype=dtype, backend=backend)
    x, a, s = inputs(30, 17, dtype)
    h, c = layer.trajectory(x, a, static=s)
    book = ledger(x.expand(5, *x.shape), h, c)
    assert book.residual.shape == (5, 30, 17)
    assert book.error.max() <= 4.0 * torch.finfo(dtype).eps * 34
    flows = layer.audit(x, a, static=s)
    assert flows.R.shape == (5, 30, 17, 4, 4)
    assert flows.transfers.shape == flows.R.shape
    assert torch.equal(flows.c, c)


@pytest.mark.parametrize("batch_first", [True, False])
def test_flows_of_members_lie_as_the_inputs_do(batch_first: bool) -> None:
    layer = build("dynamic", members=3, batch_first=batch_first)
    x, a, s = inputs(5, 4)
    given = [value.transpose(0, 1) if batch_first else value for value in (x, a)]
    flows, (h, c) = layer.flows(*given, static=s), layer(*given, static=s)
    assert flows.h.shape == ((3, 4, 5, 4) if batch_first else (3, 5, 4, 4))
    assert c.shape == (3, 4, 4)
    torch.testing.assert_close(flows.h, h)
    assert flows.layout.batch_first == batch_first
    assert flows.ledger.residual.shape == (3, 5, 4)
    one = alone(layer, 1, batch_first=batch_first).flows(*given, static=s)
    for found, wanted in zip(flows, one, strict=True):
        assert torch.equal(found[1], wanted)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_threads_share_members_and_samples(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from mclstm.ops.native import call

    layer, (x, a, s) = build("hydrology", members=3, backend="native"), inputs(4, 70)
    wanted = torch.autograd.grad(layer(x, a, static=s)[0].square().sum(), list(layer.parameters()))
    monkeypatch.setattr(call, "WORK_OF_A_THREAD", 1)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    found = torch.autograd.grad(layer(x, a, static=s)[0].square().sum(), list(layer.parameters()))
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-11, atol=1e-13)


REFUSED: dict[str, tuple[Any, str]] = {
    "no members": (lambda: MCLSTM(1, 2, 3, members=0), "members is 0; give a whole number of at least 1"),
    "half a member": (lambda: MCLSTM(1, 2, 3, members=1.5), "members is 1.5"),
    "too few seeds": (lambda: MCLSTM(1, 2, 3, members=2, seeds=[1]), "1 seeds are given for 2 members"),
    "a module": (
        lambda: MCLSTM(1, 2, 3, members=2, redistribution=AnyModule(3)),
        "redistribution is a module whose members is None, and the layer's is 2; give both the same",
    ),
    "a cell": (
        lambda: MCLSTMCell(1, 0, 3, members=2)(torch.ones(1)),
        r"x has shape \(1,\), expected \(B, 1\) or \(2, B, 1\), one step",
    ),
    "unbatched": (
        lambda: MCLSTM(1, 0, 3, members=2)(torch.ones(5, 1)),
        r"x has shape \(5, 1\), expected \(T, B, 1\), shared by all members, or \(2, T, B, 1\)",
    ),
    "other members": (
        lambda: MCLSTM(1, 0, 3, members=2, batch_first=True)(torch.ones(3, 4, 5, 1)),
        r"x has shape \(3, 4, 5, 1\), expected \(B, T, 1\), shared by all members, or \(2, B, T, 1\)",
    ),
    "static of others": (
        lambda: MCLSTM(1, 0, 3, members=2, static_size=2)(torch.ones(5, 4, 1), static=torch.ones(3, 4, 2)),
        r"static has shape \(3, 4, 2\), expected \(4, 2\) or \(2, 4, 2\)",
    ),
    "c0 of others": (
        lambda: MCLSTM(1, 0, 3, members=2)(torch.ones(5, 4, 1), c0=torch.ones(3, 4, 3)),
        r"c0 has shape \(3, 4, 3\), expected \(4, 3\) or \(2, 4, 3\)",
    ),
    "missing mass": (
        lambda: MCLSTM(1, 0, 3, members=2)(torch.full((2, 5, 4, 1), torch.nan)),
        "x is nan at member 0, step 0, sample 0, input 0",
    ),
    "missing mass of all": (
        lambda: MCLSTM(1, 0, 3, members=2)(torch.full((5, 4, 1), torch.nan)),
        "x is nan at step 0, sample 0, input 0",
    ),
    "rows of others": (
        lambda: MCFC(3, 2, members=2)(torch.ones(3, 4, 3)),
        r"expected \(\.\.\., 3\) with shared",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_used_is_refused(name: str) -> None:
    run, message = REFUSED[name]
    with pytest.raises(ValueError, match=message) as caught:
        run()
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("lengths", [None, [5, 0, 3, 1, 5, 5, 2, 4, 5]], ids=["whole", "lengths"])
@pytest.mark.parametrize("members", [None, 3])
@pytest.mark.parametrize("backend", EACH_BACKEND)
@pytest.mark.parametrize("name", ["hydrology", "static", "sees-aux"])
def test_the_last_step_is_that_of_the_sequence(
    name: str, backend: str, members: int | None, lengths: list[int] | None
) -> None:
    redistribution = "dynamic" if name == "hydrology" else "static"
    layer = build(name, members=members, redistribution=redistribution, backend=backend)
    x, a, s = inputs(batch=9)
    h, c = layer(x, a, static=s, lengths=lengths)
    final = torch.tensor(lengths or 9 * [5]).sub(1).clamp(min=0)
    h = h[..., final, torch.arange(9), :]
    h_last, c_last = layer.last(x, a, static=s, lengths=lengths)
    assert torch.equal(h_last, h)
    assert torch.equal(c_last, c)
    weight = torch.randn_like(h)
    both = [(weight * h_).sum() + c_.square().sum() for h_, c_ in ((h, c), (h_last, c_last))]
    wanted, found = (torch.autograd.grad(loss, list(layer.parameters())) for loss in both)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("backend", EACH_BACKEND)
def test_derivatives_of_the_last_step(backend: str) -> None:
    layer = build("static", cells=2, members=2, backend=backend, batch_first=True)
    x, a, s = inputs(steps=2, batch=3)
    x, a = (value.transpose(0, 1).requires_grad_() for value in (x, a))
    assert gradcheck(lambda x, a: layer.last(x, a, static=s), (x, a))
    assert gradgradcheck(lambda x, a: layer.last(x, a, static=s), (x, a))
    h, c = layer.last(x[:, :0], a[:, :0], static=s)
    assert h.shape == c.shape == (2, 3, 2)
    assert not h.any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("norm", ["softmax", "sigmoid", "relu"])
@pytest.mark.parametrize("redistribution", ["static", "identity"])
@pytest.mark.parametrize("batch", [1, 5, 300])
def test_gates_that_all_samples_share(redistribution: str, norm: str, batch: int, dtype: torch.dtype) -> None:
    """The same auxiliary inputs for all samples, seen as such by the kernel, and as if they differed."""
    layer = MCLSTM(
        3, 2, 4, redistribution=redistribution, redistribution_norm=norm, input_norm=norm, members=2,
        gates_see=("aux",), stay=None, backend="native", dtype=dtype,
    )  # fmt: skip
    shaken(layer)
    x, a = torch.rand(2, 19, 3, batch, dtype=dtype).mT.requires_grad_(), torch.randn(19, 1, 2, dtype=dtype)
    weight_h, weight_c = torch.randn(2, 19, batch, 4, dtype=dtype), torch.randn(2, 20, batch, 4, dtype=dtype)
    found = []
    for shared in (a.expand(19, batch, 2), a.repeat(1, batch, 1), a.repeat(1, batch, 1).requires_grad_()):
        h, c = layer.trajectory(x, shared)
        loss = (weight_h * h).sum() + (weight_c * c).sum()
        found.append([h, c, *torch.autograd.grad(loss, [x, *layer.parameters()])])
    layer.backend = "reference"
    h, c = layer.trajectory(x, a.expand(19, batch, 2))
    loss = (weight_h * h).sum() + (weight_c * c).sum()
    exact = [h, c, *torch.autograd.grad(loss, [x, *layer.parameters()])]
    for some in found:
        for one, other in zip(some, exact, strict=True):
            size = other.abs().max().item()
            torch.testing.assert_close(one, other, rtol=0, atol=2e3 * torch.finfo(dtype).eps * max(size, 1.0))
