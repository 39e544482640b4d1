"""Roll-outs: the fused path against the loop, members with windows of their own, LSTMs, predicted inputs."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from mclstm import AutoregressiveLSTM, Hypernetwork, MCLSTMCell, Rollout, rollout
from mclstm.nn import rollout as module
from mclstm.ops.ledger import ledger, promised
from support.variants import shaken

pytestmark = pytest.mark.usefixtures("each_kernel")

OUTLETS: dict[str, dict[str, Any]] = {
    "none": {"outlet": "none"},
    "constant": {"outlet": "constant"},
    "gate": {"gates_see": ("state",), "state_norm": "none"},
}
WINDOWS = [7, 3, 0]


def make(members: int | None, outlet: str = "constant", dtype: torch.dtype = torch.float64) -> MCLSTMCell:
    torch.manual_seed(3)
    network = Hypernetwork(
        2, 2, (6, 5), sees="share and change", cells=[0], scale=(2.0, 12.0), shift=(-1.0, 0.0),
        members=members, dtype=dtype,
    )  # fmt: skip
    return shaken(
        MCLSTMCell(0, 2, 2, redistribution=network, members=members, dtype=dtype, **OUTLETS[outlet])
    )


def start(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """c0 (B, K) and a (T, B, A)."""
    return torch.rand(2, 2, dtype=dtype), torch.randn(7, 2, 2, dtype=dtype)


def gradients(run: Rollout, leaves: list[Tensor]) -> list[Tensor]:
    loss = run.c.pow(3).sum() + run.h.square().sum()
    found = torch.autograd.grad(loss, leaves, allow_unused=True)
    return [
        torch.zeros_like(leaf) if grad is None else grad for grad, leaf in zip(found, leaves, strict=True)
    ]


@pytest.mark.parametrize("steps", [None, 4, WINDOWS])
@pytest.mark.parametrize("outlet", OUTLETS)
def test_the_fused_path_is_the_loop(
    outlet: str, steps: int | list[int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell, (c0, a) = make(3, outlet), start()
    leaves = [c0.requires_grad_(), a.requires_grad_(), *cell.parameters()]
    assert module.covered(cell) is cell.gates
    runs = [rollout(cell, c0, a, steps=steps)]
    monkeypatch.setattr(module, "covered", lambda cell: None)
    runs.append(rollout(cell, c0, a, steps=steps))
    for one, other in zip(*runs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-11, atol=1e-13)
    for one, other in zip(*(gradients(run, leaves) for run in runs), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("fused", [True, False])
def test_members_with_windows_equal_cells_alone(fused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not fused:
        monkeypatch.setattr(module, "covered", lambda cell: None)
    cell, (c0, a) = make(3), start()
    run = rollout(cell, c0, a, steps=torch.tensor(WINDOWS))
    assert (run.c.shape, run.h.shape, run.a.shape) == ((3, 8, 2, 2), (3, 7, 2, 2), (7, 2, 2))
    weights = cell.state_dict()
    for member, window in enumerate(WINDOWS):
        one = make(None)
        one.load_state_dict({name: value[member] for name, value in weights.items()})
        alone = rollout(one, c0, a, steps=window)
        torch.testing.assert_close(run.c[member, : window + 1], alone.c, rtol=1e-12, atol=1e-14)
        torch.testing.assert_close(run.h[member, :window], alone.h, rtol=1e-12, atol=1e-14)
        assert (run.c[member, window:] == run.c[member, window]).all()
        assert not run.h[member, window:].any()


@pytest.mark.parametrize("members", [None, 2])
def test_a_roll_out_leaves_its_hypernetwork_where_the_loop_does(
    members: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell, (c0, a) = make(members), start()
    nexts = []
    for _ in range(2):
        run = rollout(cell, c0, a)
        nexts.append(cell(None, a[0], run.c.select(-3, -1))[1])
        monkeypatch.setattr(module, "covered", lambda cell: None)
    torch.testing.assert_close(*nexts, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("outlet", OUTLETS)
def test_a_long_roll_out_closes_its_ledger(outlet: str, dtype: torch.dtype) -> None:
    cell, (c0, a) = make(3, outlet, dtype), start(dtype)
    with torch.no_grad():
        run = rollout(cell, c0, a.repeat(200, 1, 1))
    book = ledger(run.h[..., :0], run.h, run.c)
    assert (book.residual.abs() <= promised(book, 2, dtype)).all()
    assert bool((run.c >= 0).all() and (run.h >= 0).all())
    assert bool(run.h.any()) is (outlet != "none")


def test_unbatched_roll_outs_come_back_unbatched() -> None:
    cell, (c0, a) = make(None), start()
    one, many = rollout(cell, c0[0], a[:, 0]), rollout(cell, c0, a)
    assert one.c.shape == (8, 2)
    torch.testing.assert_close(one.c, many.c[:, 0])
    torch.testing.assert_close(one.h, many.h[:, 0])


@pytest.mark.parametrize("members", [None, 2])
def test_a_hypernetwork_predicts_its_own_next_inputs(members: int | None) -> None:
    network = Hypernetwork(2, 2, (6,), next_aux_size=2, members=members, dtype=torch.float64)
    cell = MCLSTMCell(0, 2, 2, redistribution=network, outlet="none", members=members, dtype=torch.float64)
    c0, a = torch.rand(3, 2).double(), torch.randn(3, 2).double()
    run = rollout(cell, c0, a, steps=5)
    lead = () if members is None else (members,)
    assert run.a.shape == (*lead, 5, 3, 2)
    assert torch.equal(run.a.select(-3, 0), a.expand(*lead, 3, 2))
    network(a[:, :0], *(value.select(-3, 3) for value in (run.a, run.c)))
    torch.testing.assert_close(run.a.select(-3, 4), network.next_aux)
    torch.testing.assert_close(run.c.sum(-1), c0.sum(-1).expand(*lead, 6, 3))
    grads = torch.autograd.grad(run.c.select(-3, -1).square().sum(), list(network.parameters()))
    assert all(grad.select(-1, -1).any() for grad in grads[-1:]), (
        "the bias of a predicted input has a gradient"
    )
    windows = rollout(cell, c0, a, steps=[5, 2]) if members else run
    assert members is None or (windows.c[1, 2:] == windows.c[1, 2]).all()


@pytest.mark.parametrize("members", [None, 3])
def test_an_lstm_is_a_loop_over_torchs_cell(members: int | None) -> None:
    lstm = AutoregressiveLSTM(2, 4, 5, members=members, dtype=torch.float64)
    y, a = torch.rand(6, 2).double(), torch.randn(7, 6, 4).double()
    run = rollout(lstm, y, a, steps=None if members is None else [7, 2, 5])
    assert run.h.shape[-1] == 0
    for member, window in enumerate([7] if members is None else [7, 2, 5]):
        weights = (
            lstm.state_dict() if members is None else {k: v[member] for k, v in lstm.state_dict().items()}
        )
        cell, state, now = nn.LSTMCell(6, 5).double(), None, y
        W_y, b_y = weights.pop("W_y"), weights.pop("b_y")
        cell.load_state_dict(weights)
        found = run.c if members is None else run.c[member]
        for t in range(window):
            state = cell(torch.cat([now, a[t]], dim=-1), state)
            now = state[1] @ W_y.T + b_y
            torch.testing.assert_close(found[t + 1], now)
        assert torch.equal(found[window:], found[window].expand_as(found[window:]))


def test_seeds_start_members_as_lstms_alone() -> None:
    together = AutoregressiveLSTM(2, 4, 5, members=2, seeds=[5, 9])
    torch.manual_seed(9)
    for name, value in AutoregressiveLSTM(2, 4, 5).state_dict().items():
        assert torch.equal(together.state_dict()[name][1], value), name


NEXT = Hypernetwork(1, 2, next_aux_size=3)
BAD: dict[str, tuple[Any, str]] = {
    "too far": (lambda: rollout(make(None), *start(), steps=8), "steps is 8, but a holds 7 steps"),
    "windows of others": (
        lambda: rollout(make(3), *start(), steps=[1, 2]),
        "steps has 2 windows and members is 3; give one per member",
    ),
    "windows of nobody": (lambda: rollout(make(None), *start(), steps=[1]), "members is None"),
    "a linear layer": (lambda: rollout(nn.Linear(2, 2), *start()), "cell is a Linear; give an MCLSTMCell"),
    "part of a step": (lambda: rollout(make(None), *start(), steps=2.5), "steps is 2.5; give a whole number"),
    "predictions without an end": (
        lambda: rollout(MCLSTMCell(0, 1, 2, redistribution=NEXT), torch.ones(1, 2), torch.ones(1, 1)),
        "The hypernetwork predicts 3 auxiliary inputs and the cell takes 1; build it with next_aux_size=1",
    ),
    "an LSTM with static inputs": (
        lambda: rollout(AutoregressiveLSTM(2, 2, 3).double(), *start(), static=torch.ones(2, 1)),
        "takes no static inputs",
    ),
    "an LSTM of other inputs": (
        lambda: rollout(AutoregressiveLSTM(2, 2, 3), torch.ones(2, 2), torch.ones(7, 2, 3)),
        r"a has shape \(2, 3\), expected \(..., 2\)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_roll_outs(name: str) -> None:
    call, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        call()
