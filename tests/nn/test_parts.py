"""Feed-forward forms, heads, hydrology parts and penalties."""

import pytest
import torch
from torch import nn
from torch.autograd import gradcheck, gradgradcheck

from mclstm import (
    MCFC,
    MCLSTM,
    AuxMemory,
    InputScaling,
    LinearHead,
    MCFCHead,
    MultiplicativeMCFC,
    ScaledHead,
    SumHead,
    cell_penalty,
    closure_penalty,
    guide_penalty,
    scaling_penalty,
)
from support.variants import shaken


@pytest.mark.parametrize("norm", ["softmax", "sigmoid", "relu"])
def test_mcfc_is_the_papers_formula_and_conserves(norm: str) -> None:
    layer = MCFC(5, 3, input_norm=norm, dtype=torch.float64)
    x = torch.rand(7, 5, dtype=torch.float64)
    left, kept = layer.split(x)
    shares, o = layer.input_gate, torch.sigmoid(layer.b_o)
    torch.testing.assert_close(left, (torch.diag(o) @ shares.T @ x.T).T)
    torch.testing.assert_close(left.sum(-1) + kept.sum(-1), x.sum(-1))
    assert (left >= 0).all()
    assert (kept >= 0).all()


DIFFERENTIABLE = {
    "MCFC": lambda: MCFC(3, 2),
    "MCFC without output gate": lambda: MCFC(3, 2, output_gate=False),
    "MultiplicativeMCFC": lambda: MultiplicativeMCFC(3, 2),
    "MultiplicativeMCFC with trash": lambda: MultiplicativeMCFC(3, 2, trash=True),
    "SumHead": lambda: SumHead(3),
    "MCFCHead": lambda: MCFCHead(3),
    "LinearHead": lambda: LinearHead(3),
    "ScaledHead": lambda: ScaledHead(3),
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_of_feed_forward_forms_and_heads(name: str) -> None:
    part = DIFFERENTIABLE[name]().double()
    names = [name for name, _ in part.named_parameters()]

    def run(x: torch.Tensor, *values: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(part, dict(zip(names, values, strict=True)), x)

    x = torch.rand(4, 3, dtype=torch.float64) + 0.1
    given = [value.detach().requires_grad_() for value in (x, *part.parameters())]
    assert gradcheck(run, given)
    assert gradgradcheck(run, given)


@pytest.mark.parametrize("trash", [False, True])
def test_multiplicative_mcfc_is_the_papers_formula(trash: bool) -> None:
    layer = MultiplicativeMCFC(4, 2, trash=trash, dtype=torch.float64)
    nn.init.normal_(layer.alpha)
    x = torch.rand(6, 4, dtype=torch.float64) + 0.5
    shares, o = layer.mcfc.input_gate[:, int(trash) :], torch.sigmoid(layer.mcfc.b_o[int(trash) :])
    expected = torch.stack(
        [torch.exp(layer.alpha[k]) * (x ** (o[k] * shares[:, k])).prod(-1) for k in range(2)], -1
    )
    torch.testing.assert_close(layer(x), expected)


def test_multiplicative_mcfc_can_multiply_exactly() -> None:
    layer = MultiplicativeMCFC(3, 1, trash=True, output_gate=False)
    with torch.no_grad():
        layer.mcfc.B_i.copy_(torch.tensor([[-50.0, 50], [50, -50], [-50, 50]]))
    torch.testing.assert_close(layer(torch.tensor([[2.0, 5.0, 3.0]])), torch.tensor([[6.0]]))


def test_multiplicative_mcfc_survives_zeros() -> None:
    x = torch.tensor([[0.0, 2.0]], requires_grad=True)
    layer = MultiplicativeMCFC(2, 2)
    layer(x).sum().backward()
    assert torch.isfinite(x.grad).all()
    assert all(torch.isfinite(p.grad).all() for p in layer.parameters())


def test_sum_head_leaves_out_the_trash_cell_and_names_outlets() -> None:
    h = torch.rand(5, 2, 6)
    torch.testing.assert_close(SumHead(6)(h).squeeze(-1), h[..., 1:].sum(-1))
    head = SumHead(6, {"discharge": [1, 2, 3], "evapotranspiration": [0, 4]})
    torch.testing.assert_close(head(h), torch.stack([h[..., 1:4].sum(-1), h[..., 0] + h[..., 4]], -1))


def test_heads_say_whether_they_conserve() -> None:
    h = torch.rand(5, 2, 6)
    for head, conserving in (
        (SumHead(6), True),
        (MCFCHead(6), True),
        (MCFCHead(6, output_gate=True), True),
        (LinearHead(6), False),
        (ScaledHead(6), False),
    ):
        assert head.conserving is conserving
        assert head(h).shape == (5, 2, len(head.outlets))
    torch.testing.assert_close(MCFCHead(6, ("a", "b", "c"))(h).sum(-1), h.sum(-1))


def test_an_mcfc_head_with_output_gate_is_the_papers_formula_and_shows_what_it_holds_back() -> None:
    head, h = shaken(MCFCHead(6, ("a", "b"), output_gate=True)), torch.rand(5, 2, 6)
    shares, o = torch.softmax(head.mcfc.B_i, dim=-1), torch.sigmoid(head.mcfc.b_o)
    y = head(h)
    torch.testing.assert_close(y[..., :2], o * (h @ shares))
    torch.testing.assert_close(y[..., 2], ((1 - o) * (h @ shares)).sum(-1))
    assert head.outlets == ("a", "b", "held back")


def test_scaled_head_starts_as_the_sum_and_stays_positive() -> None:
    head = ScaledHead(4)
    h = torch.rand(3, 4)
    torch.testing.assert_close(head(h), SumHead(4)(h))
    with torch.no_grad():
        head.log_scale.fill_(-5.0)
    assert (head(h) > 0).all()


def test_input_scaling_starts_at_one_and_is_positive_after_training() -> None:
    part = InputScaling(1, 3)
    x, a = torch.rand(4, 2, 1), torch.randn(4, 2, 3)
    scaled, factors = part(x, a)
    assert torch.equal(scaled, x)
    assert scaling_penalty(factors) == 0
    with torch.no_grad():
        part.log_factor.weight.normal_(std=3.0)
    scaled, factors = part(x, a)
    assert (factors > 0).all()
    MCLSTM(1, 3, 4).audit(scaled.detach(), a)


def test_auxiliaries_through_an_lstm_first() -> None:
    memory, layer = AuxMemory(3, 5), MCLSTM(1, 5, 4)
    x, a = torch.rand(6, 2, 1), torch.randn(6, 2, 3)
    remembered, _ = memory(a)
    first, half = memory(a[:2])
    torch.testing.assert_close(torch.cat([first, memory(a[2:], half)[0]]), remembered)
    h, c = layer(x, remembered)
    torch.testing.assert_close(h.sum((0, 2)) + c.sum(-1), x.sum((0, 2)))
    (h.sum()).backward()
    assert memory.lstm.weight_hh_l0.grad.abs().sum() > 0


def test_evapotranspiration_outlet_is_held_to_the_outflow() -> None:
    torch.manual_seed(1)
    layer, head = MCLSTM(1, 0, 4), LinearHead(4, ("discharge", "evapotranspiration"))
    optimiser = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.05)
    x = torch.rand(10, 8, 1)
    losses = []
    for _ in range(60):
        optimiser.zero_grad()
        h, _ = layer(x)
        loss = closure_penalty(h, head(h))
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.05 * losses[0]


def test_penalties() -> None:
    c = torch.rand(5, 2, 3, requires_grad=True)
    torch.testing.assert_close(cell_penalty(c), (c**2).mean())
    observed = torch.full((5, 2), float("nan"))
    assert guide_penalty(c[..., 1], observed) == 0
    observed[2, 1] = 1.5
    guide_penalty(c[..., 1], observed).backward()
    expected = torch.zeros(5, 2, 3)
    expected[2, 1, 1] = 2 * (c[2, 1, 1].item() - 1.5)
    torch.testing.assert_close(c.grad, expected)


def test_a_guided_cell_learns_the_observed_store() -> None:
    torch.manual_seed(2)
    layer = MCLSTM(1, 1, 4)
    x, a = torch.rand(20, 16, 1), torch.randn(20, 16, 1)
    observed = 0.5 * x.squeeze(-1).cumsum(0)
    optimiser = torch.optim.Adam(layer.parameters(), lr=0.05)
    losses = []
    for _ in range(40):
        optimiser.zero_grad()
        _, c = layer.trajectory(x, a)
        loss = guide_penalty(c[1:, :, 2], observed)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 * losses[0]
