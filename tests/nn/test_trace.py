"""Traced mass against brute force, one run per tag with the gates held, and against stores with a formula."""

import math

import pytest
import torch
from torch import Tensor

from mclstm import MCLSTM, Flows, Hypernetwork
from mclstm.nn.trace import Trace
from support.cases import Case, draw
from support.variants import COUPLED, EVERY, build, inputs

EPS = torch.finfo(torch.float64).eps


def brute_force(flows: Flows, x: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """Outflow and last cells of a run with other mass, the gates held: x (T, B, M), c (B, K); led by E."""
    outflow = []
    for t in range(x.shape[-3]):
        i, o, R = (value.select(dim, t) for value, dim in ((flows.i, -4), (flows.o, -3), (flows.R, -4)))
        mass = (c.unsqueeze(-2) @ R + x.select(-3, t).unsqueeze(-2) @ i).squeeze(-2)
        outflow.append(o * mass)
        c = mass - outflow[-1]
    return torch.stack(outflow, dim=-3), c


def one_run_per_tag(flows: Flows) -> tuple[Tensor, Tensor]:
    """What each input of every step, and the start, gives to outflow and last cells, one run for each.

    (T, B, T M + 1, K) and (B, T M + 1, K), led by E.
    """
    steps, inputs, start = flows.x.shape[-3], flows.x.shape[-1], flows.c.select(-3, 0)
    tags = steps * inputs
    own = torch.eye(tags + 1, tags, dtype=torch.float64)
    own = own.view(tags + 1, *[1] * (flows.x.dim() - 3), steps, 1, inputs)
    empty = torch.zeros_like(start).expand(tags, *start.shape)
    h, c = brute_force(flows, own * flows.x, torch.cat([empty, start.unsqueeze(0)]))  # led by the tags
    return h.movedim(0, -2), c.movedim(0, -2)


@torch.no_grad()
def compare(layer: MCLSTM, given: dict[str, Tensor], lengths: Tensor | None, signed: bool) -> None:
    flows, trace = layer.flows(**given, lengths=lengths), layer.trace(**given, lengths=lengths)
    steps, inputs = flows.x.shape[-3], flows.x.shape[-1]
    bound = 8 * EPS * math.sqrt(steps) * float(flows.ledger.turnover.max())
    h, stored = one_run_per_tag(flows)
    tags = torch.arange(steps * inputs).view(steps, inputs)
    traced = trace.forward(tags)
    assert (traced - h).abs().max() <= bound
    *_, (_, cells) = trace.forward_parts(tags)
    assert (cells.view(stored.shape) - stored).abs().max() <= bound
    outflow, trajectory = layer.trajectory(**given, lengths=lengths)
    assert (cells.view(stored.shape).sum(-2) - trajectory.select(-3, -1)).abs().max() <= bound
    assert signed or bool((cells >= 0).all())
    assert (traced.sum(-2) - outflow).abs().max() <= bound
    assert signed or bool((traced >= 0).all())
    backward = trace.behind(torch.arange(steps))
    # Both read G(t, s): forward (T, B, s, input), backward (s, B, T, input).
    rows = traced.sum(-1)[..., :-1].unflatten(-1, (steps, inputs))
    assert torch.allclose(rows, backward.x.transpose(-4, -2), rtol=0, atol=bound)
    assert (traced.sum(-1)[..., -1] - backward.start.sum(-1).transpose(-2, -1)).abs().max() <= bound
    ages, by_step = trace.ages(steps), trace.forward(torch.arange(steps))
    for t in range(steps):
        own = by_step.select(-4, t)[..., : t + 1, :].flip(-2)
        assert (ages.select(-4, t)[..., : t + 1, :] - own).abs().max() <= bound


@pytest.mark.parametrize("block", range(10))
def test_random_cases_equal_one_run_per_tag(block: int) -> None:
    for seed in range(block, 200, 10):
        case: Case = draw(seed)
        case.layer.backend = ("native", "torch", "reference")[seed % 3]
        compare(case.layer, case.inputs, case.lengths, case.layer.gates.form.signed)


@pytest.mark.parametrize("name", EVERY)
def test_every_form_equals_one_run_per_tag(name: str) -> None:
    x, a, static = inputs(6, 3)
    lengths = None if name in COUPLED else torch.tensor([6, 2, 4])
    compare(build(name), {"x": x, "a": a, "static": static}, lengths, name == "signed")


@pytest.mark.parametrize("backend", ["reference", "torch"])
def test_members_of_a_hypernetwork(backend: str) -> None:
    network = Hypernetwork(2, 3, (5,), sees="share and change", members=2, dtype=torch.float64)
    layer = MCLSTM(1, 2, 3, redistribution=network, members=2, dtype=torch.float64, backend=backend)
    compare(layer, {"x": torch.rand(4, 3, 1).double(), "a": torch.randn(4, 3, 2).double()}, None, False)


def chain(cells: int, moves_on: float) -> MCLSTM:
    """Mass enters the first cell, moves on with a chance, and leaves with the step that reaches the last."""
    eye = torch.eye(cells, dtype=torch.bool)
    mask = eye | eye.roll(1, dims=1)
    mask[-1, 0] = False
    layer = MCLSTM(
        1, 0, cells, redistribution="static", outlet="constant", gates_see=(), mask=mask, dtype=torch.float64
    )
    with torch.no_grad():
        layer.gates.b_i.copy_(torch.where(torch.arange(cells) == 0, 1e4, -1e4))
        layer.gates.B_r.copy_(eye.double() * math.log((1 - moves_on) / moves_on))
        layer.gates.b_o.copy_(torch.where(torch.arange(cells) == cells - 1, 1e4, -1e4))
    return layer


def shares_by_age(layer: MCLSTM, longest: int) -> Tensor:  # (longest + 2,)
    """How old the outflow is that one unit of mass causes, over a long time."""
    x = torch.zeros(400, 1, 1, dtype=torch.float64)
    x[0] = 1.0
    return layer.trace(x).ages(longest).sum((0, 1, 3))


def test_one_linear_store_has_exponential_ages() -> None:
    layer = MCLSTM(1, 0, 1, outlet="constant", gates_see=(), dtype=torch.float64)
    leaves = torch.sigmoid(layer.gates.b_o.detach())
    expected = leaves * (1 - leaves) ** torch.arange(50)
    torch.testing.assert_close(shares_by_age(layer, 50)[:50], expected, rtol=0, atol=50 * EPS)


def test_a_chain_of_stores_has_the_ages_of_a_sum_of_waiting_times() -> None:
    cells, moves_on = 5, 0.3
    ages = shares_by_age(chain(cells, moves_on), 60)
    waits = cells - 1
    expected = [
        math.comb(n - 1, waits - 1) * moves_on**waits * (1 - moves_on) ** (n - waits) if n >= waits else 0.0
        for n in range(60)
    ]
    torch.testing.assert_close(ages[:60], torch.tensor(expected, dtype=torch.float64), rtol=0, atol=400 * EPS)
    assert abs(float(ages.sum()) - 1) < 400 * EPS


def test_a_pure_delay_has_one_age() -> None:
    ages = shares_by_age(chain(7, 1 - 1e-16), 20)
    assert abs(float(ages[6]) - 1) < 20 * EPS
    assert float(ages.sum() - ages[6]) < 20 * EPS


def test_tags_of_inputs_and_outlets() -> None:
    layer = MCLSTM(2, 0, 4, dtype=torch.float64)
    x = torch.rand(30, 3, 2, dtype=torch.float64)
    outlets = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    flows = layer.trace(x).forward(torch.tensor([0, 1]).expand(30, 2), outlets)
    assert flows.shape == (30, 3, 3, 2)
    h = layer(x)[0]
    torch.testing.assert_close(flows.sum(2), torch.stack([h[..., 1:].sum(-1), h[..., 0]], dim=-1))
    assert (flows[:, :, 2] == 0).all()  # empty at the start


def test_parts_of_few_steps_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    x, a, static = inputs(9, 3)
    layer = build("hydrology")
    whole = layer.trace(x, a, static=static)
    monkeypatch.setattr("mclstm.nn.trace.NUMBERS", 2 * 3 * 4 * 4)
    parts = layer.trace(x, a, static=static)
    assert parts.each == 2 < whole.each
    steps = torch.tensor([3, 8])
    weeks = torch.arange(9) // 2
    pairs = [(whole.ages(4), parts.ages(4))]
    pairs += [(whole.forward(tags), parts.forward(tags)) for tags in (weeks, weeks.flip(0))]
    pairs += zip(whole.behind(steps), parts.behind(steps), strict=True)
    for one, other in pairs:
        torch.testing.assert_close(one, other, rtol=0, atol=8 * EPS * 3 * float(x.sum()))


def test_no_part_holds_more_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Daily tags of a long record would need gigabytes at once."""
    monkeypatch.setattr("mclstm.nn.trace.NUMBERS", 1000)
    trace = MCLSTM(1, 0, 2).trace(torch.rand(60, 1, 1))
    parts = [flows for flows, _ in trace.forward_parts(torch.arange(60))]
    assert max(flows.numel() for flows in parts) <= 1000
    assert torch.cat(parts).shape == (60, 1, 61, 2)


def test_layouts_come_back_as_they_went_in() -> None:
    x, a, static = inputs(6, 3)
    trace = build("dynamic", batch_first=True).trace(x.transpose(0, 1), a.transpose(0, 1), static=static)
    assert trace.ages(2).shape == (3, 6, 4, 4)
    assert [part.shape for part in trace.behind(torch.tensor([5]))] == [(3, 6, 1, 2), (3, 1, 4)]
    alone = build("dynamic").trace(x[:, 0], a[:, 0], static=static[0])
    assert alone.ages(2).shape == (6, 4, 4)
    assert [part.shape for part in alone.behind(torch.tensor([5]))] == [(6, 1, 2), (1, 4)]


def test_what_cannot_be_traced_is_refused() -> None:
    with pytest.raises(ValueError, match="does not conserve mass"):
        MCLSTM(1, 0, 3, not_conserving=["output"]).trace(torch.rand(4, 2, 1))
    with pytest.raises(ValueError, match="no steps"):
        MCLSTM(1, 0, 3).trace(torch.rand(0, 2, 1))
    trace: Trace = MCLSTM(1, 0, 3).trace(torch.rand(4, 2, 1))
    with pytest.raises(ValueError, match="4 numbers"):
        trace.forward(torch.zeros(5, dtype=torch.long))
    with pytest.raises(ValueError, match="at least 1 step"):
        trace.ages(0)
