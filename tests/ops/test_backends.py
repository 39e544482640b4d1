"""The fast backends against the reference: random cases, conservation, repetition, derivatives.

`make record-backends` runs two thousand random cases and keeps the worst errors met, as shares of bounds.
"""

import os
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor
from torch.autograd import forward_ad, gradcheck, gradgradcheck

from mclstm import MCLSTM
from mclstm.ops import dispatch, manual
from mclstm.ops.gate_rows import stack
from mclstm.ops.ledger import audit, ledger, promised
from mclstm.ops.native.build import SOURCE, file_name, library, status
from mclstm.ops.problem import Problem
from support.cases import draw, in_float32, run
from support.kernels import RUNNABLE, untested
from support.record import keep, measured
from support.tolerance import assert_close
from support.variants import ABLATIONS, VARIANTS, AnyModule, build, inputs

pytestmark = pytest.mark.usefixtures("each_kernel")

LONG = os.environ.get("MCLSTM_LONG") == "1"
BLOCKS, CASES = 10, 2000 if LONG else 300
FAST = ("torch", "native")
worst: dict[str, float] = {}


@pytest.fixture(scope="module", autouse=True)
def _record() -> Iterator[None]:
    yield
    keep(worst)


def note(name: str, ratio: float) -> None:
    worst[name] = max(ratio, worst.get(name, 0.0))


def test_the_kernel_of_these_tests_is_the_one_in_their_names(each_kernel: str | None) -> None:
    assert status().library == (None if each_kernel is None else file_name(SOURCE, each_kernel))


def test_a_backend_without_a_kernel_is_tested_with_the_first_one_only() -> None:
    for kernel in (None, *RUNNABLE[:1]):
        assert untested(FAST, kernel) == ["torch", "native"]
    assert untested(FAST, "another") == ["native"]


@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_cases(block: int, each_kernel: str | None) -> None:
    backends = untested(FAST, each_kernel)
    for seed in range(block, CASES, BLOCKS):
        case = in_float32(draw(seed))
        steps, _, cells = case.weight_h.shape[-3:]
        x = case.inputs["x"].expand(*case.weight_h.shape[:-1], -1)
        exact = run(case, "reference", torch.float64)
        for dtype in (torch.float64, torch.float32):
            own = exact if dtype == torch.float64 else run(case, "reference", dtype)
            for backend in backends:
                found, eps = run(case, backend, dtype), torch.finfo(dtype).eps
                note(
                    f"error / bound, {measured(backend, dtype)}", assert_close(found, exact, own, eps, steps)
                )
                if case.lengths is None:
                    book = ledger(x, found.forward["h"], found.forward["c"])
                    ratio = (book.residual.abs() / promised(book, cells, dtype)).max().item()
                    assert ratio <= 1.0
                    note(f"ledger error / bound, {measured(backend, dtype)}", ratio)
        note("cases", worst.get("cases", 0) + 1)


@pytest.mark.parametrize("name", VARIANTS)
def test_manual_gradients_are_those_of_autograd(name: str) -> None:
    layer, (x, a, s) = build(name, cells=3), inputs(steps=4)
    weights, form = layer.gates.weights(), layer.gates.form
    if form.redistribution == "module":
        return
    c0 = torch.rand(3, 3, dtype=torch.float64)
    stacked = stack(Problem(x, a, s, c0, torch.rand(4, 3) < 0.8, weights, form))
    leaves = [None if value is None else value.detach().requires_grad_() for value in stacked[1:7]]
    stacked = stacked._replace(**dict(zip(stacked._fields[1:7], leaves, strict=True)))
    h, c = manual.forward(stacked)
    dh, dc = torch.randn_like(h), torch.randn_like(c)
    present = [value for value in leaves if value is not None]
    wanted = torch.autograd.grad((h, c), present, (dh, dc), allow_unused=True)
    with torch.no_grad():
        found = [value for value in manual.backward(stacked, h, c, dh, dc) if value is not None]
    for one, other in zip(found, wanted, strict=True):
        assert torch.allclose(one, torch.zeros_like(one) if other is None else other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("backend", FAST)
def test_repetition_gives_the_same_bits(backend: str, threads: int) -> None:
    layer = build("hydrology", cells=24, dtype=torch.float32, backend=backend)
    x, a, s = inputs(steps=12, batch=150, dtype=torch.float32)
    torch.set_num_threads(threads)
    first: list[Tensor] | None = None
    for _ in range(100 if LONG else 3):
        h, c = layer(x, a, static=s)
        again = [h, c, *torch.autograd.grad(h.square().sum(), list(layer.parameters()))]
        first = again if first is None else first
        assert all(torch.equal(one, other) for one, other in zip(first, again, strict=True))


@pytest.mark.parametrize("backend", ["reference", *FAST])
@pytest.mark.parametrize(
    "name",
    [
        "dynamic",
        "hydrology",
        "static",
        "outer",
        "identity",
        "masked-relu",
        "signed",
        "constant-outlet",
        "closed",
        "sees-amounts",
    ],
)
def test_derivatives(name: str, backend: str) -> None:
    layer, (x, a, s) = build(name, cells=3, backend=backend), inputs(steps=2, batch=2)
    names = [name for name, _ in layer.named_parameters()]
    c0 = torch.rand(2, 3, dtype=torch.float64) + 0.1
    values = [parameter.detach().clone() for parameter in layer.parameters()]

    def function(x: Tensor, a: Tensor, c0: Tensor, s: Tensor, *values: Tensor) -> tuple[Tensor, ...]:
        weights = dict(zip(names, values, strict=True))
        result: tuple[Tensor, ...] = torch.func.functional_call(layer, weights, (x, a, c0), {"static": s})
        return result

    given = [value.requires_grad_() for value in (x, a, c0, s, *values)]
    assert gradcheck(function, given)
    assert gradgradcheck(function, given, fast_mode=True)


@pytest.mark.parametrize("backend", FAST)
@pytest.mark.parametrize("name", ["dynamic", "hydrology", "static"])
def test_padding_changes_nothing(name: str, backend: str) -> None:
    layer, (x, a, s) = build(name, backend=backend), inputs(steps=6, batch=19)
    lengths = torch.arange(19) % 7
    h, c = layer(x, a, static=s, lengths=lengths)
    together = torch.autograd.grad(h.square().sum() + c.square().sum(), list(layer.parameters()))
    alone = [torch.zeros_like(grad) for grad in together]
    for n, length in enumerate(lengths.tolist()):
        h_n, c_n = layer(x[:length, n], a[:length, n], static=s[n])
        assert torch.allclose(h[:length, n], h_n, atol=1e-14)
        assert torch.allclose(c[n], c_n, atol=1e-14)
        assert not h[length:, n].any()
        grads = torch.autograd.grad(
            h_n.square().sum() + c_n.square().sum(), list(layer.parameters()), allow_unused=True
        )
        alone = [sum_ if grad is None else sum_ + grad for sum_, grad in zip(alone, grads, strict=True)]
    for one, other in zip(together, alone, strict=True):
        assert torch.allclose(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("backend", dispatch.BACKENDS)
def test_flows_and_audit_agree_with_every_backend(backend: str) -> None:
    layer, (x, a, s) = build("hydrology", backend=backend), inputs()
    h, c = layer.trajectory(x, a, static=s)
    flows = layer.audit(x, a, static=s)
    assert torch.allclose(flows.h, h)
    assert torch.allclose(flows.c, c)


@pytest.mark.parametrize("backend", FAST)
@pytest.mark.parametrize(
    "options",
    [
        {"redistribution": AnyModule(4)},
        {"redistribution": "outer"},
        {"state_norm": "batch"},
        {"state_norm": "none"},
    ],
    ids=str,
)
def test_what_is_not_covered_falls_back(backend: str, options: dict[str, object]) -> None:
    layer, (x, a, s) = build("dynamic", backend=backend, **options), inputs()
    c0 = layer.gates.first_state(3)
    assert not dispatch.kernel_covers(Problem(x, a, s, c0, None, layer.gates.weights(), layer.gates.form))
    h, _ = layer(x, a, static=s)
    layer.backend = "reference"
    assert torch.allclose(h, layer(x, a, static=s)[0], rtol=1e-12)


BROKEN: dict[str, dict[str, object]] = {
    **{name: {"not_conserving": (name,)} for name in ABLATIONS},
    "all three": {"not_conserving": ABLATIONS},
    "batch norm": {"state_norm": "batch"},
    "batch norm and all three": {"state_norm": "batch", "not_conserving": ABLATIONS},
}


@pytest.mark.parametrize("backend", FAST)
@pytest.mark.parametrize("name", ["hydrology", "masked-relu", "static", "outer", "identity", "signed"])
@pytest.mark.parametrize("broken", BROKEN)
def test_ablations_and_the_published_norm_are_those_of_the_reference(
    broken: str, name: str, backend: str
) -> None:
    layer, (x, a, s) = build(name, backend=backend, **BROKEN[broken]), inputs(steps=6, batch=19)
    c0, lengths = torch.rand(19, 4, dtype=torch.float64), torch.arange(19) % 7
    leaves = [value.requires_grad_() for value in (x, a, s, c0)] + list(layer.parameters())
    fused = library() is not None and name != "outer" and "batch" not in broken
    assert (
        dispatch.kernel_covers(Problem(x, a, s, c0, None, layer.gates.weights(), layer.gates.form)) is fused
    )
    found = {}
    for chosen in (backend, "reference"):
        layer.backend = chosen
        h, c = layer(x, a, c0, static=s, lengths=lengths)
        grads = torch.autograd.grad(h.square().sum() + c.square().sum(), leaves, allow_unused=True)
        found[chosen] = [h, c, *(torch.zeros(()) if grad is None else grad for grad in grads)]
    for one, other in zip(found[backend], found["reference"], strict=True):
        # Relative to the largest: an R that is not normalised lets amounts grow without end.
        size = max(1e-3, other.abs().max().item())
        assert (one - other).abs().max().item() <= 1e-10 * size


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("backend", ["reference", *FAST])
def test_a_logistic_input_gate_has_no_slope_at_its_floor(backend: str, dtype: torch.dtype) -> None:
    layer = build("hydrology", backend=backend, dtype=dtype, not_conserving=("input",))
    x, a, s = inputs(dtype=dtype)
    with torch.no_grad():
        layer.gates.b_i[0].fill_(-1e3)
    (slope,) = torch.autograd.grad(layer(x, a, static=s)[0].sum(), [layer.gates.b_i])
    assert not slope[0].any()
    assert slope[1].all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("backend", FAST)
def test_extreme_amounts_and_logits_conserve(backend: str, dtype: torch.dtype) -> None:
    for norm in ("softmax", "sigmoid", "relu"):
        layer = MCLSTM(2, 0, 5, redistribution_norm=norm, input_norm=norm, backend=backend, dtype=dtype)  # type: ignore[arg-type]
        for amount in (0.0, 1e-30, 1.0, 1e30):
            for logit in (-1e4, -60.0, 1e-9, 1e4):
                with torch.no_grad():
                    layer.gates.B_r.copy_(logit * torch.rand(5, 5))
                    layer.gates.b_i.copy_(logit * torch.rand(2, 5))
                x = amount * torch.rand(30, 3, 2, dtype=dtype)
                h, c = layer.trajectory(x)
                assert bool((h >= 0).all() and (c >= 0).all())
                audit(ledger(x, h, c), 5, dtype)


ALIKE = {"gates_see": ("aux",), "static_size": 0}  # gates that may be the same for all samples
EMPTY: dict[str, dict[str, object]] = {"hydrology": {}, "static": ALIKE, "identity": ALIKE}


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("members", [None, 3])
@pytest.mark.parametrize("shape", [(0, 3), (4, 0), (0, 0)], ids=str)
@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.parametrize("backend", FAST)
def test_empty_sequences_and_batches(
    backend: str, name: str, shape: tuple[int, int], members: int | None, last: bool
) -> None:
    layer, (x, a, s) = build(name, backend=backend, members=members, **EMPTY[name]), inputs(*shape)
    h, c = (layer.last if last else layer)(x, a, static=s[:, : layer.gates.static_size])
    lead = () if members is None else (members,)
    assert h.shape == (*lead, *(shape[1:] if last else shape), 4)
    assert c.shape == (*lead, shape[1], 4)
    found = torch.autograd.grad(h.sum() + c.sum(), list(layer.parameters()), allow_unused=True)
    assert all(grad is None or not grad.any() for grad in found)  # c0 is none of them


@pytest.mark.skipif(library() is None, reason="the kernel is not built")
def test_nan_weights_are_not_hidden() -> None:
    layer, (x, a, s) = build("hydrology", backend="native"), inputs()
    with torch.no_grad():
        layer.gates.W_r.fill_(torch.nan)
    assert layer(x, a, static=s)[0].isnan().any()


def test_auto_works_under_transforms() -> None:
    layer, (x, a, s) = build("static", backend="auto"), inputs(steps=2, batch=2)
    jacobian = torch.func.jacrev(lambda x: layer(x, a, static=s)[0].sum(dim=(0, 2)))(x)
    assert jacobian.shape == (2, 2, 2, 2)
    assert not jacobian[0, :, 1].any()


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")  # by torch itself
@pytest.mark.parametrize("last", [False, True])
def test_auto_works_in_forward_mode(last: bool) -> None:
    """The derivative along a direction is what reverse mode says of it."""
    layer, (x, a, s) = build("static", backend="auto"), inputs(steps=3, batch=2)
    direction = torch.rand_like(x)

    def total(x: Tensor) -> Tensor:
        h, _ = layer.last(x, a, static=s) if last else layer(x, a, static=s)
        return h.square().sum()

    with forward_ad.dual_level():
        along = forward_ad.unpack_dual(total(forward_ad.make_dual(x, direction))).tangent
    (gradient,) = torch.autograd.grad(total(x.requires_grad_()), x)
    torch.testing.assert_close(along, (gradient * direction).sum())
