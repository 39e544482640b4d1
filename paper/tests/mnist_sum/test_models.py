"""The models of the MNIST sum: what the published one is, what the honest one conserves, the penalties."""

import pytest
import torch

from mclstm_paper.baselines.regularisers import clamp_weights_
from mclstm_paper.mnist_sum.memories import Accumulator, Cells, Outflow, lstm, mass_conserving
from mclstm_paper.mnist_sum.models import RECIPES, build
from mclstm_paper.seeds.networks import sources

T, B = 6, 3


def marker(steps: int = T) -> torch.Tensor:
    a = torch.ones(steps, B, 1)
    a[-1] = -1.0
    return a


def test_the_published_mclstm_is_the_reference_whatever_its_parameters():
    """One cell without outlet: its gates are shares of one, so that only the front end can learn."""
    model, reference = (
        build("mclstm", "published", sources([0])),
        build("reference", "published", sources([0])),
    )
    assert isinstance(model.memory, Cells)
    for name, parameter in model.memory.named_parameters():
        if not name.endswith("b_o"):
            torch.nn.init.normal_(parameter)
    images = torch.randn(T, B, 1, 28, 28)
    sums, numbers = model(images, marker())
    torch.testing.assert_close(sums, reference(images, marker())[0])
    assert (numbers < 0).any()
    sums.square().sum().backward()
    for parameter in model.memory.parameters():
        assert parameter.grad is None or not parameter.grad.any()
    assert all(parameter.grad.any() for parameter in model.front.parameters())


def test_the_honest_mclstm_has_masses_an_outlet_and_two_cells():
    model = build("mclstm-softplus", "stated", sources([0, 1]))
    assert isinstance(model.memory, Outflow)
    assert model.memory.layer.gates.hidden_size == 2
    assert model.memory.layer.conserving
    sums, numbers = model(torch.randn(T, B, 1, 28, 28), marker())
    assert (numbers > 0).all()
    flows = model.memory.layer.audit(numbers, marker())
    assert (flows.o[:, -1] != flows.o[:, 0]).all()
    torch.testing.assert_close(sums, model.memory.head(flows.h))
    sums[:, -1].square().sum().backward()
    assert all(parameter.grad.any() for parameter in model.memory.parameters())


@pytest.mark.parametrize("model", ["mclstm-softplus", "mclstm-tuned"])
def test_more_mass_is_a_larger_answer_from_the_start(model):
    """Whatever the seed: else the front end would learn to read nothing, where softplus cannot learn."""
    memory = build(model, "stated", sources([10, 11])).memory
    x = torch.full((2, T, B, 1), 0.7)
    less, more = (memory(scale * x, marker())[:, -1] for scale in (1.0, 2.0))
    assert (more > less).all()
    assert (less > 0).all()


def test_the_tuned_outlet_leaks_nothing_in_a_thousand_steps():
    recipe = RECIPES["mclstm-tuned"]
    memories = {
        name: RECIPES[name].memory("stated", sources([0, 1, 2]))
        for name in ("mclstm-softplus", "mclstm-tuned")
    }
    x = torch.rand(3, 1000, B, 1)
    shares = {
        name: (memory.layer(x, torch.ones(1000, B, 1))[1].sum(-1) / x.sum((1, 3)))
        for name, memory in memories.items()
    }
    assert shares["mclstm-tuned"].min() > 0.999
    assert shares["mclstm-softplus"].max() < 0.1
    assert recipe.protocols == ("stated",)


def test_the_published_lstm_cannot_leave_its_bounds():
    x = 100 * torch.randn(1, T, B, 1)
    assert lstm("published", sources([0]))(x, marker()).abs().max() < 1
    assert lstm("published", sources([0])).layer.b.ne(3.0).all()
    assert lstm("stated", sources([0])).layer.b.eq(3.0).sum() == 2
    assert lstm("stated", sources([0]))(x, marker()).shape == (1, T, B, 1)


@pytest.mark.parametrize("protocol", ["stated", "published"])
def test_penalty_of_nau_by_hand(protocol):
    model = build("nau", protocol, sources([0]))
    clamp_weights_(model)
    x = torch.randn(1, T, B, 1)
    unit, head = model.memory.layer.unit, model.memory.head
    (W,) = unit.W.detach()
    h = [torch.zeros(B, len(W))]
    for t in range(T):
        h.append(torch.cat([x[0, t], h[-1]], dim=-1) @ W.T)
    seen = torch.stack([torch.cat([x[0, t], h[t]], dim=-1) for t in range(T)])
    expected = ((1 - W.abs()) * seen.mean(dim=(0, 1)).square()).mean()
    sparse = torch.minimum(W.abs(), 1 - W.abs()).mean()
    if head is not None:
        (V,) = head.W.detach()
        expected = expected + ((1 - V.abs()) * torch.stack(h[1:]).mean(dim=(0, 1)).square()).mean()
        sparse = sparse + torch.minimum(V.abs(), 1 - V.abs()).mean()
    assert (head is None) == (protocol == "published")
    penalty = RECIPES["nau"].penalty
    torch.testing.assert_close(penalty(model, x, 0, 860)[0], expected)
    # A hundredth of the paper's updates: from 100 to 1000.
    torch.testing.assert_close(penalty(model, x, 550, 860)[0], expected + 5.0 * sparse)


def test_the_others_keep_their_numbers_small_and_the_reference_is_free():
    x = torch.randn(2, T, B, 1)
    model = build("mclstm-softplus", "stated", sources([0, 1]))
    expected = 1e-4 * x.square().mean(dim=(1, 2, 3)) / 2
    torch.testing.assert_close(RECIPES["mclstm-softplus"].penalty(model, x, 0, 1), expected)
    torch.testing.assert_close(RECIPES["lstm"].penalty(model, x, 0, 1), expected)
    assert not RECIPES["reference"].penalty(model, x, 0, 1).any()
    assert torch.equal(Accumulator()(x, marker()), x.cumsum(dim=1))


def test_a_member_is_the_model_alone():
    images = torch.randn(T, B, 1, 28, 28)
    for name in RECIPES:
        both, alone = build(name, "stated", sources([5, 6])), build(name, "stated", sources([6]))
        torch.testing.assert_close(both(images, marker())[0][1], alone(images, marker())[0][0])


def test_the_outlet_of_the_published_form_is_shut():
    layer = mass_conserving("published", sources([0])).layer
    assert layer(torch.rand(1, T, B, 1), marker())[0].max() < 1e-30
