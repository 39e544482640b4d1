"""Every model of the tables of neural arithmetic, under both protocols: what it predicts, how it learns."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

from mclstm_paper.addition.models import MODELS, VARIANTS
from mclstm_paper.addition.models import recipe as addition_recipe
from mclstm_paper.recurrent_arithmetic.models import RECURRENT, RECURRENT_VARIANTS, recurrent_recipe
from mclstm_paper.seeds.networks import sources
from mclstm_paper.seeds.recipes import Recipe, member_errors
from mclstm_paper.static_arithmetic.models import STATIC, static_recipe

STEP = 1e-6  # of the loss


def every_model() -> Iterator[tuple[str, Recipe, str]]:
    """Name, recipe, and which inputs it takes."""
    for protocol in ("stated", "published"):
        for model in (*MODELS, *VARIANTS):
            yield f"addition {model} {protocol}", addition_recipe(model, protocol), "one"
        for model, operations in (RECURRENT | RECURRENT_VARIANTS).items():
            for operation in operations:
                recipe = recurrent_recipe(model, operation, protocol)
                yield f"recurrent {model} {operation} {protocol}", recipe, "ten"
    for model, operations in STATIC.items():
        for operation in operations:
            yield f"static {model} {operation}", static_recipe(model, operation, inputs=7), "static"


def inputs_of(kind: str) -> tuple[Tensor, ...]:
    """Numbers, and for sequences the marker of the end, for two members and four samples."""
    source = torch.Generator().manual_seed(0)
    if kind == "static":
        return (1 + torch.rand(2, 4, 7, generator=source, dtype=torch.float64),)
    a = torch.ones(6, 4, 1, dtype=torch.float64)
    a[-1] = -1.0
    x = torch.rand(2, 6, 4, 1 if kind == "one" else 10, generator=source, dtype=torch.float64)
    return (x, a.expand(2, 6, 4, 1)) if kind == "one" else (1 + x, a)


def built(recipe: Recipe) -> nn.Module:
    network = recipe.build(sources([0, 1])).double()
    for name, value in network.named_parameters():
        if name in ("layer.h0", "first"):
            # log(|0| + 1e-7), and c / |c| of cells that begin empty, are too steep for any step.
            nn.init.constant_(value, 0.5)
    return network


@pytest.mark.parametrize(("recipe", "kind"), [pytest.param(*rest, id=name) for name, *rest in every_model()])
def test_every_model_predicts_and_learns(recipe: Recipe, kind: str) -> None:
    """All that is to be learned has a gradient, and a small step down lowers the loss by what it says."""
    network, inputs = built(recipe), inputs_of(kind)
    learned = [(where, p) for where, p in network.named_parameters() if p.requires_grad]
    y = network(*inputs)
    assert y.shape == (2, 4, 1)
    before = member_errors(y, torch.full_like(y, 3.0))
    before.sum().backward()
    for where, p in learned:
        assert p.grad is not None, where
        assert p.grad.isfinite().all(), where
        assert p.grad.flatten(1).any(dim=1).all(), where
    slope = sum(p.grad.square().flatten(1).sum(dim=1) for _, p in learned)
    with torch.no_grad():
        for _, p in learned:
            p -= (STEP * before / slope).view(-1, *[1] * (p.dim() - 1)) * p.grad
        after = member_errors(network(*inputs), torch.full_like(y, 3.0))
    torch.testing.assert_close(before - after, STEP * before, rtol=0.02, atol=0.0)
