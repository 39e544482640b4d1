"""Training an ensemble: a member is the layer trained alone; clipping and stopping are its own business."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

from mclstm import MCLSTM, LinearHead
from mclstm.nn.ensemble_dim import generators
from mclstm.ops import dispatch
from mclstm.training.member_updates import clip_members_, frozen

pytestmark = pytest.mark.usefixtures("each_kernel")

SEEDS = [3, 1, 4]
FORMS = {
    "arithmetic": {"redistribution": "static", "gates_see": ("aux",)},
    "hydrology": {
        "redistribution_norm": "relu",
        "input_norm": "sigmoid",
        "gates_see": ("aux", "state", "mass"),
    },
}


class Model(nn.Module):
    """A layer and a linear head on its last outflow."""

    def __init__(self, name: str, backend: str, members: int | None, seeds: list[torch.Generator]) -> None:
        super().__init__()
        self.layer = MCLSTM(
            2,
            1,
            3,
            members=members,
            seeds=seeds,
            backend=backend,
            output_bias=-1.0,
            dtype=torch.float64,
            **FORMS[name],
        )
        self.head = LinearHead(3, members=members, seeds=seeds).double()

    def forward(self, x: Tensor, a: Tensor) -> Tensor:
        y: Tensor = self.head(self.layer(x, a)[0][..., -1, :, :])
        return y


def batches(seed: int, updates: int) -> Iterator[tuple[Tensor, Tensor]]:
    noise = torch.Generator().manual_seed(seed)
    for _ in range(updates):
        x = torch.rand(4, 9, 2, generator=noise, dtype=torch.float64)
        yield x, torch.randn(4, 9, 1, generator=noise, dtype=torch.float64)


@pytest.mark.parametrize("backend", dispatch.BACKENDS)
@pytest.mark.parametrize("name", FORMS)
def test_a_member_is_the_layer_trained_alone(name: str, backend: str) -> None:
    updates, clip, clipped = 50, 0.5, 0
    together = Model(name, backend, 3, generators(3, SEEDS))
    optimiser = torch.optim.Adam(together.parameters(), lr=0.01)
    for given in zip(*(batches(seed, updates) for seed in SEEDS), strict=True):
        x, a = (torch.stack(values) for values in zip(*given, strict=True))
        optimiser.zero_grad()
        error = together(x, a).squeeze(-1) - x.mean(dim=(1, 3))
        error.square().mean(dim=1).sum().backward()
        clipped += int((clip_members_(together.parameters(), clip) > clip).sum())
        optimiser.step()
    assert 0 < clipped < 3 * updates
    for member, seed in enumerate(SEEDS):
        torch.manual_seed(seed)
        alone = Model(name, backend, None, [torch.default_generator])
        optimiser = torch.optim.Adam(alone.parameters(), lr=0.01)
        for x, a in batches(seed, updates):
            optimiser.zero_grad()
            (alone(x, a).squeeze(-1) - x.mean(dim=(0, 2))).square().mean().backward()
            nn.utils.clip_grad_norm_(alone.parameters(), clip)
            optimiser.step()
        for one, all_ in zip(alone.parameters(), together.parameters(), strict=True):
            torch.testing.assert_close(all_[member], one, rtol=1e-9, atol=1e-11)


def step(model: Model, optimiser: torch.optim.Optimizer, given: tuple[Tensor, Tensor]) -> None:
    optimiser.zero_grad()
    model(*given).square().mean(dim=(1, 2)).sum().backward()
    clip_members_(model.parameters(), 0.1)


def state(model: Model, optimiser: torch.optim.Optimizer) -> list[Tensor]:
    moments = [optimiser.state[p][key] for p in model.parameters() for key in ("exp_avg", "exp_avg_sq")]
    return [value.detach().clone() for value in [*model.parameters(), *moments]]


def test_a_stopped_member_stands_still_and_the_others_do_not_notice() -> None:
    models = [Model("arithmetic", "auto", 3, generators(3, SEEDS)) for _ in range(2)]
    optimisers = [torch.optim.Adam(model.parameters(), lr=0.01) for model in models]
    stopped, stood = torch.tensor([False, True, False]), []
    for number, given in enumerate(batches(0, 6)):
        for model, optimiser in zip(models, optimisers, strict=True):
            step(model, optimiser, given)
        optimisers[0].step()
        with frozen(optimisers[1], stopped if number >= 3 else torch.zeros_like(stopped)):
            optimisers[1].step()
        if number == 2:
            stood = state(models[1], optimisers[1])
    free, held = (state(model, optimiser) for model, optimiser in zip(models, optimisers, strict=True))
    for one, other, before in zip(free, held, stood, strict=True):
        assert torch.equal(other[1], before[1])
        assert torch.equal(one[[0, 2]], other[[0, 2]])
        assert not torch.equal(one[1], other[1]) or not one[1].any()


def test_a_member_stopped_before_the_first_step_has_empty_moments() -> None:
    model = Model("arithmetic", "auto", 3, generators(3, SEEDS))
    optimiser = torch.optim.Adam(model.parameters())
    before = [value.detach().clone() for value in model.parameters()]
    step(model, optimiser, next(batches(0, 1)))
    with frozen(optimiser, torch.tensor([True, True, False])):
        optimiser.step()
    for value, old in zip(model.parameters(), before, strict=True):
        assert torch.equal(value[:2], old[:2])
        assert not optimiser.state[value]["exp_avg"][:2].any()


def test_one_members_nan_is_its_own() -> None:
    W = torch.ones(2, 3, requires_grad=True)
    W.grad = torch.tensor([[3.0, 4.0, 0.0], [torch.nan, 1.0, 1.0]])
    norms = clip_members_([W], 1.0)
    assert norms[0] == 5.0
    assert norms[1].isnan()
    torch.testing.assert_close(W.grad[0], torch.tensor([0.6, 0.8, 0.0]))


def test_a_huge_gradient_of_one_member_is_clipped() -> None:
    W = torch.ones(2, 2, requires_grad=True)
    W.grad = torch.tensor([[3e25, 4e25], [0.3, 0.4]])
    norms = clip_members_([W], 1.0)
    torch.testing.assert_close(norms, torch.tensor([5e25, 0.5], dtype=torch.float64))
    torch.testing.assert_close(W.grad, torch.tensor([[0.6, 0.8], [0.3, 0.4]]))


def test_what_is_no_ensemble_is_refused() -> None:
    W, b = torch.ones(2, 3, requires_grad=True), torch.ones(3, requires_grad=True)
    with pytest.raises(ValueError, match=r"No parameter has a gradient; call backward"):
        clip_members_([W, b], 1.0)
    W.grad, b.grad = torch.ones(2, 3), torch.ones(3)
    with pytest.raises(ValueError, match="lead with 2, 3 members; give those of one ensemble"):
        clip_members_([W, b], 1.0)
