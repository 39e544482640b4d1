"""The training of descent.py in torch's operations: for machines without the library, and its oracle."""

from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.ops.autoregression import Autoregression, grouped, reference

__all__ = ["PredictingLSTM", "Progress", "Recipe", "descend", "losses", "predicted"]


class PredictingLSTM(NamedTuple):
    """An LSTM whose prediction ŷ = P c + p is a part of its next input [ŷ, a]; its gates are i, f, g, o."""

    start: Tensor  # (E, K), what it sees first in the place of a prediction
    a: Tensor  # (E, T, A)
    W_ih: Tensor  # (E, 4 H, K + A)
    W_hh: Tensor  # (E, 4 H, H)
    b_ih: Tensor  # (E, 4 H)
    b_hh: Tensor  # (E, 4 H)
    P: Tensor  # (E, K, H)
    p: Tensor  # (E, K)

    @property
    def hidden(self) -> int:
        """H, the number of cells."""
        return self.P.shape[-1]

    @property
    def weights(self) -> tuple[Tensor, ...]:
        """All parameters, in the order of the fields."""
        return self[2:]


class Recipe(NamedTuple):
    """How a model is trained; Adam's moments decay by 0.9 and 0.999."""

    decay: float = 0.0  # L2, added to the gradient as torch.optim.Adam does
    clip: float | None = None  # the largest gradient norm of a member
    growth: int = 5  # steps by which a window grows
    threshold: float = -0.9  # the loss at which it grows
    slope: float = 1.02  # an MC-LSTM predicts slope c + intercept; an LSTM ignores both
    intercept: float = -0.01
    epsilon: float = 1e-8  # Adam's


class Progress(NamedTuple):
    """Where a training stands; tensors that lead with E and are changed in place."""

    means: tuple[Tensor, ...]  # Adam's moments of each parameter
    squares: tuple[Tensor, ...]
    best: tuple[
        Tensor, ...
    ]  # the parameters of the lowest error at the largest window so far; or empty: not kept
    window: Tensor  # (E,) int64, rows of the targets that count
    cap: Tensor  # (E,) int64, their largest number
    failed: Tensor  # (E,) int64, the update whose loss or gradient was not finite, -1 for none
    loss: Tensor  # (E,) float64, of the last update
    error: Tensor  # (E,) float64, its mean square
    lowest: Tensor  # (E,) float64, the lowest one at this window, where the best weights are kept


def predicted(model: Autoregression | PredictingLSTM, window: Tensor, recipe: Recipe) -> Tensor:
    """ŷ of the steps after the first: window (E,) int64 -> (E, T, K)."""
    if isinstance(model, Autoregression):
        _, c = reference(model._replace(steps=window - 1))
        return recipe.slope * c[:, 1:, 0] + recipe.intercept
    y, a, W_ih, W_hh, b_ih, b_hh, P, p = model
    h = c = torch.zeros_like(P[:, 0])
    outputs = []
    for t in range(a.shape[1]):
        x = torch.cat([y, a[:, t]], dim=-1).unsqueeze(-1)
        z = (W_ih @ x + W_hh @ h.unsqueeze(-1)).squeeze(-1) + b_ih + b_hh
        i, f, g, o = z.chunk(4, dim=-1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        y = (P @ c.unsqueeze(-1)).squeeze(-1) + p
        outputs.append(y)
    return torch.stack(outputs, dim=1)


def losses(y: Tensor, targets: Tensor, window: Tensor) -> tuple[Tensor, Tensor]:
    """Loss and mean squared error of each member, (E,): y, targets (E, T, K) of the steps after the first."""
    counts = (window - 1).view(-1, 1, 1)
    inside = torch.arange(y.shape[1]).view(1, -1, 1) < counts
    error = torch.where(inside, y - targets, 0.0).square().sum(dim=(1, 2)) / (counts.view(-1) * y.shape[2])

    def centred(value: Tensor) -> Tensor:
        value = torch.where(inside, value, 0.0)
        return torch.where(inside, value - value.sum(dim=1, keepdim=True) / counts, 0.0)

    one, other = centred(y), centred(targets)
    size = (one.square().sum(dim=1) * other.square().sum(dim=1)).sqrt()
    correlation = (one * other).sum(dim=1) / size
    return error - correlation.mean(dim=-1), error


def descend(
    model: Autoregression | PredictingLSTM,
    targets: Tensor,  # (E, L, K)
    progress: Progress,
    recipe: Recipe,
    first: int,
    rates: Tensor,  # (U,) float64
) -> None:
    """The same as `descend` of descent.py."""
    for number, rate in enumerate(rates.tolist(), start=first + 1):
        weights = [value.detach().requires_grad_() for value in model.weights]
        steps = targets.shape[1] - 1
        again = _with_weights(model, weights)._replace(a=model.a[:, :steps])
        loss, error = losses(predicted(again, progress.window, recipe), targets[:, 1:], progress.window)
        gradients = torch.autograd.grad(loss.sum(), weights)
        with torch.no_grad():
            _update(model.weights, gradients, loss, error, progress, recipe, number, rate)


def _with_weights(
    model: Autoregression | PredictingLSTM, weights: list[Tensor]
) -> Autoregression | PredictingLSTM:
    if isinstance(model, PredictingLSTM):
        return PredictingLSTM(model.start, model.a, *weights)
    layers, W_o, b_o = grouped(weights, len(model.layers))
    return model._replace(layers=layers, W_o=W_o, b_o=b_o)


def _update(
    weights: tuple[Tensor, ...],
    gradients: tuple[Tensor, ...],
    loss: Tensor,  # (E,)
    error: Tensor,  # (E,)
    progress: Progress,
    recipe: Recipe,
    number: int,
    rate: float,
) -> None:
    """Keep the best weights, take one step of Adam and let windows grow, where a member has not failed."""
    norm = sum(value.double().square().flatten(1).sum(dim=1) for value in gradients)
    assert isinstance(norm, Tensor)
    norm, working = norm.sqrt(), progress.failed < 0
    for kept, value in ((progress.loss, loss), (progress.error, error)):
        kept.copy_(torch.where(working, value.double(), kept))
    better = working & (progress.error < progress.lowest) & (len(progress.best) > 0)
    progress.lowest.copy_(torch.where(better, progress.error, progress.lowest))
    for kept, value in zip(progress.best, weights, strict=bool(progress.best)):
        kept[better] = value[better]
    finite = torch.isfinite(norm) & torch.isfinite(loss)
    progress.failed[working & ~finite] = number - 1
    working &= finite
    factor = torch.ones_like(norm) if recipe.clip is None else (recipe.clip / (norm + 1e-6)).clamp(max=1.0)
    for value, gradient, mean, square in zip(
        weights, gradients, progress.means, progress.squares, strict=True
    ):
        shape = (-1, *(1,) * (value.dim() - 1))
        g = gradient * factor.view(shape).to(value.dtype) + recipe.decay * value
        for moment, rest, target in ((mean, 0.1, g), (square, 0.001, g.square())):
            moment[working] = moment.lerp(target, rest)[working]
        size, root = rate / (1 - 0.9**number), (1 - 0.999**number) ** 0.5
        value[working] = (value - size * mean / (square.sqrt() / root + recipe.epsilon))[working]
    grows = working & (progress.loss <= recipe.threshold) & (progress.window < progress.cap)
    progress.window.copy_(
        torch.where(grows, (progress.window + recipe.growth).minimum(progress.cap), progress.window)
    )
    progress.lowest[grows] = torch.inf
