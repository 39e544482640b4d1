"""Training of autoregressive models: by the library as by torch, and by torch as torch.optim.Adam does it."""

from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import LSTMCell

from mclstm.ops.autoregression import Autoregression, reference
from mclstm.ops.hypernetwork import Sight
from mclstm_paper.kernels import descent
from mclstm_paper.kernels.descent import PredictingLSTM, Progress, Recipe, begin, descend
from mclstm_paper.kernels.library import status

pytestmark = pytest.mark.usefixtures("each_kernel")
needs_library = pytest.mark.skipif(not status().available, reason="no kernel library here")

MEMBERS, LENGTH, AUX = 3, 24, 2
CAPS = torch.tensor([24, 19, 13])
RATES = torch.tensor([0.01, 0.01, 0.008, 0.006, 0.005, 0.004], dtype=torch.float64)
# Adam's ε limits what rounding of a gradient does to a step: an entry that is nearly zero has a random sign.
RECIPES = {
    "published": Recipe(decay=1e-3, threshold=0.5, epsilon=1e-2),
    "invariant": Recipe(clip=0.05, threshold=-0.2, epsilon=1e-2, slope=1.0, intercept=0.0),
    "clock": Recipe(epsilon=1e-2, threshold=5.0),
    "lstm": Recipe(decay=1e-3, clip=0.5, threshold=1.0, growth=3, epsilon=1e-2),
}
SIGHTS = {
    "published": Sight("cells", (0, 1), (1.0, 1.0), (0.0, 0.0)),
    "invariant": Sight("share and change", (0,), (2.0, 12.0), (-1.0, 0.0)),
    "clock": Sight("share", (0,), (1.0,), (0.0,)),
}


def series() -> Tensor:
    """(E, L, K): two energies of three pendulums."""
    t = torch.arange(LENGTH).view(1, -1) * torch.tensor([0.15, 0.2, 0.3]).view(-1, 1)
    return torch.stack([t.sin().square(), t.cos().square()], dim=-1) * torch.exp(-0.1 * t).unsqueeze(-1)


def model(name: str, dtype: torch.dtype = torch.float32, hidden: int = 16) -> Any:
    """The weights depend on nothing but the name and the size."""
    source = torch.Generator().manual_seed(7)

    def drawn(*shape: int) -> Tensor:
        return (0.4 * torch.randn(MEMBERS, *shape, generator=source)).to(dtype)

    targets, a = series().to(dtype), torch.rand(LENGTH, AUX, generator=source).to(dtype)
    if name == "lstm":
        gates = (drawn(4 * hidden, 2 + AUX), drawn(4 * hidden, hidden), drawn(4 * hidden), drawn(4 * hidden))
        shared = a.expand(MEMBERS, LENGTH, AUX)
        return PredictingLSTM(targets[:, 0], shared, *gates, drawn(2, hidden), drawn(2))
    aux, sight = 0 if name == "invariant" else AUX, SIGHTS[name]
    widths = [aux + len(sight.scale), 6, 11, 4]
    layers = [(drawn(o, i), drawn(o)) for i, o in pairwise(widths)]
    outlet = {
        "published": (drawn(2, 2), drawn(2) - 5.0),
        "invariant": (None, drawn(2) - 6.0),
        "clock": (None, None),
    }
    shared = a[:, :aux].view(1, LENGTH, 1, aux).expand(MEMBERS, -1, -1, -1)
    steps = torch.zeros(MEMBERS, dtype=torch.int64)
    start = targets[:, :1].contiguous()
    return Autoregression(start, shared, tuple(layers), *outlet[name], "relu", sight, "softmax", steps)


def trained(name: str, dtype: torch.dtype = torch.float32, *, portions: tuple[int, ...] = (6,)) -> Any:
    one, targets = model(name, dtype), series().to(dtype)
    progress, first = begin(one, CAPS, keep_best=True), 0
    for count in portions:
        descend(one, targets, progress, RECIPES[name], first, RATES[first : first + count])
        first += count
    return one, progress


def by_torch(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(descent, "library", lambda: None)


def predictions(one: Any, member: int, steps: int, recipe: Recipe) -> Tensor:
    """ŷ (steps, K) of one member, by torch's own LSTM cell or the oracle of the library."""
    if isinstance(one, Autoregression):
        _, c = reference(one._replace(steps=torch.full((MEMBERS,), steps)))
        return recipe.slope * c[member, 1 : steps + 1, 0] + recipe.intercept
    cell = LSTMCell(2 + AUX, one.hidden, dtype=one.p.dtype)
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    weights = {name: value[member] for name, value in zip(names, one.weights, strict=False)}
    y, state, outputs = one.start[member : member + 1], None, []
    for t in range(steps):
        x = torch.cat([y, one.a[member, t : t + 1]], dim=-1)
        state = torch.func.functional_call(cell, weights, (x, state) if state is not None else (x,))
        y = state[1] @ one.P[member].t() + one.p[member]
        outputs.append(y[0])
    return torch.stack(outputs)


@pytest.mark.parametrize("name", RECIPES)
def test_torch_makes_the_updates_of_torch_optim_adam(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    by_torch(monkeypatch)
    found, progress = trained(name, torch.float64)
    recipe, targets = RECIPES[name], series().double()
    for e in (0, 2):
        one = model(name, torch.float64)
        for value in one.weights:
            value.requires_grad_()
        adam = torch.optim.Adam(one.weights, weight_decay=recipe.decay, eps=recipe.epsilon)
        window = min(11, int(CAPS[e]))
        for rate in RATES.tolist():
            y, true = predictions(one, e, window - 1, recipe), targets[e, 1:window]
            error = (y - true).square().mean()
            loss = error - torch.corrcoef(torch.cat([y, true], dim=1).t())[[0, 1], [2, 3]].mean()
            adam.zero_grad()
            loss.backward()
            for value in one.weights:  # other members have a gradient of zero, but would decay
                value.grad = value.grad[e : e + 1].expand_as(value).clone()
            if recipe.clip is not None:
                norm = sum(value.grad[e].square().sum() for value in one.weights).sqrt()
                for value in one.weights:
                    value.grad *= min(1.0, recipe.clip / (norm.item() + 1e-6))
            adam.param_groups[0]["lr"] = rate
            adam.step()
            window = min(window + recipe.growth, int(CAPS[e])) if loss <= recipe.threshold else window
        assert window == progress.window[e]
        assert abs(loss.item() - progress.loss[e]) < 1e-9
        assert abs(error.item() - progress.error[e]) < 1e-9
        for value, other in zip(one.weights, found.weights, strict=True):
            assert torch.allclose(value[e], other[e], rtol=0.0, atol=1e-9)


@needs_library
@pytest.mark.parametrize("name", RECIPES)
def test_the_library_makes_the_updates_of_torch(name: str) -> None:
    found, progress = trained(name)
    with pytest.MonkeyPatch.context() as patch:
        by_torch(patch)
        exact, theirs = trained(name, torch.float64)
    assert torch.equal(progress.window, theirs.window)
    assert len(set(progress.window.tolist())) > 1  # windows grew
    # A step moves a weight by rate / ε = 1 times its gradient's error at most; gradients have about 20 steps.
    bound = len(RATES) * 64 * LENGTH * torch.finfo(torch.float32).eps
    pairs = [*zip(found.weights, exact.weights, strict=True), *zip(progress.best, theirs.best, strict=True)]
    pairs += [(getattr(progress, part), getattr(theirs, part)) for part in ("loss", "error", "lowest")]
    for value, true in pairs:
        assert torch.allclose(value.double(), true, rtol=0.0, atol=bound)


@needs_library
@pytest.mark.parametrize("name", RECIPES)
def test_portions_and_threads_do_not_change_a_bit(name: str) -> None:
    def bits(found: tuple[Any, Progress]) -> list[Tensor]:
        one, progress = found
        return [*one.weights, *progress.means, *progress.squares, *progress.best, *progress[3:]]

    results = bits(trained(name))
    torch.set_num_threads(2)
    for portions in ((6,), (1, 3, 2)):
        again = bits(trained(name, portions=portions))
        assert all(torch.equal(one, other) for one, other in zip(results, again, strict=True))


@pytest.mark.parametrize("library", [pytest.param(True, marks=needs_library), False])
def test_a_member_whose_gradient_is_not_finite_fails_alone(
    library: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not library:
        by_torch(monkeypatch)
    one, targets = model("clock"), series()
    targets[1] = 0.5  # constant: no correlation
    before = [value.clone() for value in one.weights]
    progress = begin(one, CAPS)
    descend(one, targets, progress, RECIPES["clock"], 3, RATES)
    assert progress.failed.tolist() == [-1, 3, -1]
    for value, old in zip(one.weights, before, strict=True):
        assert torch.equal(value[1], old[1])
        assert not torch.equal(value[0], old[0])


def test_an_lstm_of_any_size_is_trained() -> None:
    one = model("lstm", hidden=5)
    progress = begin(one, CAPS)
    descend(one, series(), progress, RECIPES["lstm"], 0, RATES)
    assert torch.isfinite(progress.loss).all()


def test_what_does_not_fit_together_is_refused() -> None:
    one, targets = model("clock"), series()
    with pytest.raises(ValueError, match="auxiliary"):
        descend(one._replace(a=one.a[:, :9]), targets, begin(one, CAPS), Recipe(), 0, RATES)
    with pytest.raises(ValueError, match="window"):
        descend(one, targets, begin(one, CAPS + 9), Recipe(), 0, RATES)
    with pytest.raises(ValueError, match="one sample"):
        descend(one._replace(c0=one.c0[:2]), targets, begin(one, CAPS), Recipe(), 0, RATES)
