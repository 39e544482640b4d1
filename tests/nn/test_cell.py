"""The cell is the layer, step by step, and so is a roll-out; hypernetworks with a state in all three."""

import pytest
import torch
from torch import Tensor, nn

from mclstm import MCLSTM, MCLSTMCell, rollout
from support.variants import EVERY, AnyModule, build, inputs


@pytest.mark.parametrize("name", EVERY)
def test_a_cell_step_by_step_is_the_layer(name: str) -> None:
    layer = build(name, backend="reference")
    options = {**EVERY[name](4), "static_size": 2, "dtype": torch.float64}
    if name == "hypernetwork":
        options["redistribution"] = AnyModule(4).double()
    cell = MCLSTMCell(2, 3, 4, **options)
    cell.load_state_dict(layer.state_dict())
    x, a, static = inputs(5, 3)
    h, c = layer(x, a, static=static)
    state = None
    for t in range(5):
        out, state = cell(x[t], a[t], state, static=static)
        assert torch.equal(out, h[t])
    assert torch.equal(state, c)
    one, _ = cell(x[0, 0], a[0, 0], static=static[0])
    torch.testing.assert_close(one, h[0, 0])


def test_members_of_a_cell_are_those_of_the_layer() -> None:
    layer, (x, a, static) = build("hydrology", members=3, backend="reference"), inputs(4, 3)
    cell = MCLSTMCell(2, 3, 4, static_size=2, members=3, dtype=torch.float64, **EVERY["hydrology"](4))
    cell.load_state_dict(layer.state_dict())
    x = torch.stack([x, 0.5 * x, 2 * x])  # each member's own; the other inputs are shared
    h, c = layer(x, a, static=static)
    state = None
    for t in range(4):
        out, state = cell(x[:, t], a[t], state, static=static)
        torch.testing.assert_close(out, h[:, t], rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(state, c, rtol=1e-12, atol=1e-14)


def test_roll_out_keeps_the_energy_and_predicts_its_own_auxiliaries() -> None:
    hypernetwork = AnyModule(2, aux=1, mass=0)
    cell = MCLSTMCell(0, 1, 2, redistribution=hypernetwork, gates_see=(), outlet="none")
    start = torch.tensor([[1.0, 0.0], [0.3, 0.7]])
    known = rollout(cell, start, torch.randn(30, 2, 1))
    torch.testing.assert_close(known.c.sum(-1), torch.ones(31, 2))
    predictor = nn.Linear(3, 1)
    free = rollout(
        cell, start, torch.zeros(2, 1), next_aux=lambda a, c: predictor(torch.cat([a, c], -1)), steps=30
    )
    assert free.a.shape == (30, 2, 1)
    torch.testing.assert_close(free.a[1], predictor(torch.cat([free.a[0], free.c[1]], -1)))
    (free.c[-1, :, 0].sum()).backward()
    assert predictor.weight.grad.abs().sum() > 0
    assert all(p.grad is not None for p in hypernetwork.parameters())
    empty = rollout(cell, start, torch.zeros(0, 2, 1))
    assert empty.c.shape == (1, 2, 2)
    assert empty.h.shape == (0, 2, 2)


def test_roll_out_of_known_auxiliaries_is_the_layer() -> None:
    layer, cell = MCLSTM(0, 1, 3, backend="reference"), MCLSTMCell(0, 1, 3)
    cell.load_state_dict(layer.state_dict())
    a, c0 = torch.randn(9, 2, 1), torch.rand(2, 3)
    assert torch.equal(rollout(cell, c0, a).h, layer(None, a, c0)[0])


def test_a_cell_says_what_the_layer_says_of_itself() -> None:
    assert MCLSTMCell(1, 0, 2).conserving
    assert MCLSTMCell(1, 0, 2).batch_independent
    assert not MCLSTMCell(1, 0, 2, not_conserving="output").conserving
    assert not MCLSTMCell(1, 0, 2, state_norm="batch").batch_independent


def test_roll_out_with_static_inputs_is_the_layer() -> None:
    layer = MCLSTM(0, 1, 3, static_size=2, backend="reference", stay=None)
    cell = MCLSTMCell(0, 1, 3, static_size=2)
    cell.load_state_dict(layer.state_dict())
    a, c0, static = torch.randn(9, 2, 1), torch.rand(2, 3), torch.randn(2, 2)
    assert torch.equal(rollout(cell, c0, a, static=static).h, layer(None, a, c0, static=static)[0])


class Remembering(nn.Module):
    """A hypernetwork with a state, that keeps the width of the a it was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.seen, self.width = 0, 0

    def reset_state(self) -> None:
        self.seen = 0

    def forward(self, x: Tensor, a: Tensor, c: Tensor) -> Tensor:
        self.seen, self.width = self.seen + 1, a.shape[-1]
        return torch.eye(2).expand(c.shape[0], 2, 2) * self.seen


def test_a_hypernetwork_of_the_layer_may_carry_a_state_of_its_own() -> None:
    module = Remembering()
    layer = MCLSTM(1, 0, 2, redistribution=module)
    x = torch.rand(4, 3, 1)
    _, c = layer(x)
    assert module.seen == 4
    layer(x, c0=c)
    assert module.seen == 8, "a given state continues the sequence"
    layer(x)
    assert module.seen == 4
    flows = layer.audit(x, c0=c)
    assert module.seen == 8, "an audit asks the module once a step"
    torch.testing.assert_close(flows.h, flows.o * (flows.c[1:] + flows.h))


def test_every_roll_out_starts_its_hypernetwork_again() -> None:
    module = Remembering()
    cell = MCLSTMCell(0, 1, 2, static_size=3, redistribution=module)
    given = (torch.rand(2, 2), torch.zeros(5, 2, 1))
    static = torch.randn(2, 3)
    first = rollout(cell, *given, static=static)
    assert module.seen == 5
    assert torch.equal(rollout(cell, *given, static=static).c, first.c)
    assert module.seen == 5
    assert module.width == 1 + 3, "static inputs lie behind the auxiliary ones"
    cell(None, given[1][0], first.c[-1], static=static)
    assert module.seen == 6, "a given state continues the sequence"
    cell(None, given[1][0], static=static)
    assert module.seen == 1
