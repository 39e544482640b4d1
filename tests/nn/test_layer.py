"""The layer's manners: layouts, lengths, states, precision, and what it says of itself."""

import pytest
import torch
from torch import nn

from mclstm import MCLSTM, ConservationError, MCLSTMCell
from support.variants import ABLATIONS, EACH_BACKEND, EVERY, VARIANTS, build, inputs

pytestmark = pytest.mark.usefixtures("each_kernel")


def test_batch_first_and_unbatched_are_the_same_numbers() -> None:
    x, a, static = inputs(7, 4)
    time_first = build("sees-all", backend="reference")
    batch_first = build("sees-all", batch_first=True, backend="reference")
    batch_first.load_state_dict(time_first.state_dict())
    h, c = time_first(x, a, static=static)
    h_other, c_other = batch_first(x.transpose(0, 1), a.transpose(0, 1), static=static)
    assert torch.equal(h, h_other.transpose(0, 1))
    assert torch.equal(c, c_other)
    h_one, c_one = batch_first(x[:, 2], a[:, 2], static=static[2])
    assert torch.equal(h[:, 2], h_one)
    assert torch.equal(c[2], c_one)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("cut", [0, 1, 4, 9])
def test_two_halves_equal_one_whole(name: str, cut: int) -> None:
    layer = build(name)
    x, a, static = inputs(9)
    h, c = layer(x, a, static=static)
    h_1, c_1 = layer(x[:cut], a[:cut], static=static)
    h_2, c_2 = layer(x[cut:], a[cut:], c_1, static=static)
    assert torch.equal(torch.cat([h_1, h_2]), h)
    assert torch.equal(c_2, c)


@pytest.mark.parametrize("part", ABLATIONS)
def test_an_ablation_goes_on_from_its_own_state_negative_or_not(part: str) -> None:
    layer = build("hydrology", not_conserving=(part,))
    x, a, static = inputs(9)
    h, c = layer(x, a, static=static)
    h_1, c_1 = layer(x[:4], a[:4], static=static)
    h_2, c_2 = layer(x[4:], a[4:], c_1, static=static)
    assert torch.equal(torch.cat([h_1, h_2]), h)
    assert torch.equal(c_2, c)
    assert bool((c < 0).any()) is (part == "redistribution")


@pytest.mark.parametrize("name", VARIANTS)
def test_padding_changes_neither_mass_nor_gradients(name: str) -> None:
    layer = build(name)
    x, a, static = inputs(8, 3)
    lengths = [8, 3, 0]
    x[3:, 1], a[3:, 1], x[:, 2] = float("nan"), -7e30, float("inf")
    x.requires_grad_()
    h, c = layer(x, a, static=static, lengths=lengths)
    (h.square().sum() + c.square().sum()).backward()
    padded = {name: p.grad.clone() for name, p in layer.named_parameters() if p.grad is not None}
    assert (h[3:, 1] == 0).all()
    assert (x.grad[3:, 1] == 0).all()
    assert (x.grad[:, 2] == 0).all()
    layer.zero_grad()
    loss = torch.zeros((), dtype=torch.float64)
    for sample, length in enumerate(lengths):
        alone, last = layer(x[:length, sample], a[:length, sample], static=static[sample])
        torch.testing.assert_close(alone, h[:length, sample])
        torch.testing.assert_close(last, c[sample])
        loss = loss + alone.square().sum() + last.square().sum()
    loss.backward()
    for name_, parameter in layer.named_parameters():
        if parameter.grad is not None:
            torch.testing.assert_close(padded[name_], parameter.grad)


def test_no_steps_leave_the_state_as_it_is() -> None:
    layer = MCLSTM(1, 2, 3)
    c0 = torch.rand(4, 3)
    h, c = layer(torch.zeros(0, 4, 1), torch.zeros(0, 4, 2), c0)
    assert h.shape == (0, 4, 3)
    assert torch.equal(c, c0)


def test_auxiliaries_may_be_left_out_and_mass_too() -> None:
    layer = MCLSTM(2, 0, 3)
    x = torch.rand(5, 4, 2)
    assert torch.equal(layer(x)[0], layer(x, torch.zeros(5, 4, 0))[0])
    closed = MCLSTM(0, 1, 3)
    h, c = closed(None, torch.randn(5, 4, 1), torch.ones(4, 3))
    torch.testing.assert_close(h.sum((0, 2)) + c.sum(-1), torch.full((4,), 3.0))
    h, c = MCLSTM(2, 1, 3)(None, torch.randn(5, 4, 1))
    assert (h == 0).all()


def test_inputs_not_seen_by_the_gates_are_accepted_and_ignored() -> None:
    layer = MCLSTM(1, 3, 4, static_size=2, gates_see=("state",))
    x = torch.rand(5, 2, 1)
    runs = [layer(x, torch.randn(5, 2, 3), static=torch.randn(2, 2))[0] for _ in range(2)]
    assert torch.equal(*runs)


def test_learned_start_is_positive_and_learns() -> None:
    layer = MCLSTM(1, 0, 3, initial_state="learned")
    optimiser = torch.optim.SGD(layer.parameters(), lr=100.0)
    for _ in range(20):
        optimiser.zero_grad()
        _, c = layer(torch.zeros(1, 2, 1))
        c.sum().backward()
        optimiser.step()
    start = layer.trajectory(torch.zeros(1, 2, 1))[1][0]
    assert (start >= 0).all()
    assert (start < 1).all()


@pytest.mark.parametrize("amount", [0.0, 1.0, 100.0])
def test_a_learned_start_begins_where_it_is_told_and_learns(amount: float) -> None:
    layer = MCLSTM(1, 0, 3, initial_state="learned", learned_from=amount)
    assert (layer.gates.first_state(2) == amount).all()
    optimiser = torch.optim.Adam([layer.gates.c0], lr=0.1)
    for _ in range(300):
        optimiser.zero_grad()
        (
            layer.gates.first_state(1) - torch.tensor([amount + 2.0, amount + 1.0, 0.0])
        ).square().sum().backward()
        optimiser.step()
    found = layer.gates.first_state(1)[0]
    torch.testing.assert_close(found[:2], torch.tensor([amount + 2.0, amount + 1.0]), rtol=0, atol=0.1)
    assert 0 <= found[2] <= max(0.01, amount - 10)


def test_a_learned_start_below_zero_is_zero_and_returns() -> None:
    layer = MCLSTM(1, 0, 3, initial_state="learned")
    with torch.no_grad():
        layer.gates.c0.copy_(torch.tensor([-1.0, 0.0, 2.0]))
    for slope, wanted in ((1.0, [0.0, 0.0, 1.0]), (-1.0, [-1.0, -1.0, -1.0])):
        start = layer.gates.first_state(1)
        assert start.tolist() == [[0.0, 0.0, 2.0]]
        (gradient,) = torch.autograd.grad(slope * start.sum(), layer.gates.c0)
        assert gradient.tolist() == wanted


@pytest.mark.parametrize("members", [None, 2])
def test_weights_with_the_logarithm_of_a_learned_start_still_load(members: int | None) -> None:
    layer = MCLSTM(1, 0, 3, initial_state="learned", members=members)
    old = {name.replace(".c0", ".log_c0"): value.clone() for name, value in layer.state_dict().items()}
    old["gates.log_c0"].uniform_(-1, 1)
    layer.load_state_dict(old)
    assert torch.equal(layer.gates.first_state(1).squeeze(-2), old["gates.log_c0"].exp())


@pytest.mark.parametrize("redistribution", ["dynamic", "static", "identity", "outer"])
@pytest.mark.parametrize("backend", EACH_BACKEND)
def test_without_an_outlet_nothing_leaves_and_the_cells_keep_everything(
    backend: str, redistribution: str
) -> None:
    layer = build("closed", redistribution=redistribution, dtype=torch.float32, backend=backend)
    assert not [name for name, _ in layer.named_parameters() if name.endswith("_o")]
    x, a, static = inputs(200, 3, torch.float32)
    flows = layer.audit(x, a, static=static)
    assert not flows.h.any()
    assert not flows.o.any()
    (h, c), (h_last, c_last) = layer(x, a, static=static), layer.last(x, a, static=static)
    assert not h.any()
    assert not h_last.any()
    assert torch.equal(c, c_last)
    torch.testing.assert_close(c.sum(-1), x.sum((0, 2)))


def test_a_constant_outlet_is_a_gate_that_sees_nothing() -> None:
    x, a, static = inputs(9)
    constant, gate = build("constant-outlet"), build("dynamic")
    weights = gate.state_dict() | constant.state_dict()
    gate.load_state_dict(weights | {"gates.W_o": torch.zeros_like(gate.gates.W_o)})
    for one, other in zip(
        constant.trajectory(x, a, static=static), gate.trajectory(x, a, static=static), strict=True
    ):
        assert torch.equal(one, other)
    assert "gates.W_o" not in constant.state_dict()


@pytest.mark.parametrize("dtype", [torch.float16])
def test_autocast_keeps_mass_in_full_precision(dtype: torch.dtype) -> None:
    layer = build("hydrology", 6, dtype=torch.float32)
    x, a, static = inputs(300, 4, dtype=torch.float32)
    wanted, stored = layer(x, a, static=static)
    with torch.autocast("cpu", dtype=dtype):
        a_low = nn.Identity()(a).to(dtype)
        h, c = layer(x, a, static=static)
        h_low, c_low = layer(x, a_low, static=static)
    assert h.dtype == c.dtype == h_low.dtype == torch.float32
    assert torch.equal(h, wanted)
    assert torch.equal(c, stored)
    total = (h_low.double().sum((0, 2)) + c_low.double().sum(-1)) / x.double().sum((0, 2))
    assert ((total - 1).abs() <= 4 * torch.finfo(torch.float32).eps * 306).all()


def test_other_devices_get_no_cpu_tensor_mixed_in() -> None:
    layer = MCLSTM(1, 2, 3, static_size=1, mask=torch.eye(3, dtype=torch.bool), device="meta")
    h, c = layer(
        torch.rand(5, 2, 1, device="meta"),
        torch.rand(5, 2, 2, device="meta"),
        static=torch.rand(2, 1, device="meta"),
    )
    assert h.shape == (5, 2, 3)
    assert c.device.type == "meta"


@pytest.mark.parametrize("kind", [MCLSTM, MCLSTMCell])
def test_a_mask_changed_afterwards_does_not_change_the_layer(kind: type[MCLSTM | MCLSTMCell]) -> None:
    mask = torch.eye(3, dtype=torch.bool)
    layer = kind(1, 0, 3, mask=mask)
    mask.fill_(False)  # a mask the constructor refuses: no cell could keep its mass
    assert torch.equal(layer.gates.mask, torch.eye(3, dtype=torch.bool))


@pytest.mark.parametrize("name", ["dynamic", "static", "masked", "learned-start"])
def test_weights_survive_a_state_dict(name: str) -> None:
    first, second = build(name), build(name)
    second.load_state_dict(first.state_dict())
    x, a, static = inputs()
    assert torch.equal(first(x, a, static=static)[0], second(x, a, static=static)[0])


@pytest.mark.parametrize(("part", "step"), [("input", 0), ("redistribution", 1), ("output", 0)])
def test_ablations_do_not_conserve_and_say_so(part: str, step: int) -> None:
    layer = build("dynamic", not_conserving=part)
    x, a, static = inputs()
    assert not layer.conserving
    assert "NOT CONSERVING" in repr(layer)
    with pytest.raises(ConservationError, match=rf"sample 0, step {step}: .* is missing"):
        layer.audit(x, a, static=static)


def test_ablated_parts_are_what_the_paper_says() -> None:
    x, a, static = inputs()
    full, no_input = build("dynamic"), build("dynamic", not_conserving="input")
    no_input.load_state_dict(full.state_dict())
    logits = torch.log(full.flows(x, a, static=static).i)
    open_gate = no_input.flows(x, a, static=static).i
    recovered = torch.log(open_gate / (1 - open_gate))
    torch.testing.assert_close(torch.softmax(recovered[0], -1), torch.exp(logits[0]))
    kept = build("dynamic", not_conserving="output").flows(x, a, static=static)
    torch.testing.assert_close(kept.h, kept.o * kept.c[1:])
    linear = build("masked", not_conserving="redistribution").flows(x, a, static=static).R
    assert (linear < 0).any()


def test_parameters_start_as_the_paper_says() -> None:
    gates = MCLSTM(1, 3, 8, output_bias=-3.0).gates
    assert (gates.b_o == -3).all()
    assert (gates.b_i == 0).all()
    torch.testing.assert_close(gates.W_o @ gates.W_o.T, torch.eye(8))


def test_torch_export_and_compile_see_a_plain_module() -> None:
    layer = MCLSTM(1, 1, 3).eval()
    x, a = torch.rand(3, 2, 1), torch.randn(3, 2, 1)
    program = torch.export.export(layer, (x, a))
    torch.testing.assert_close(program.module()(x, a)[0], layer(x, a)[0])
