"""Updates of an ensemble in a loop of your own: clip and freeze each member as if it were trained alone.

The first dimension of every parameter is E. Adam works element by element, so it already treats members
apart. Two things would couple them: the norm of the gradient, and a loop that ends for all at once.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from mclstm.training.gradient_norm import clip_, total_norm

__all__ = ["clip_members_", "frozen"]


@torch.no_grad()
def clip_members_(parameters: Iterable[Tensor], largest: float) -> Tensor:
    """Scale each member's gradient in place to a norm of at most `largest`; returns the norms before, (E,).

    parameters: (E, ...) each; those without a gradient are skipped. The factor is that of
    `torch.nn.utils.clip_grad_norm_`: min(1, largest / (norm + 1e-6)), with norms in float64.

    >>> W = torch.zeros(2, 2, requires_grad=True)
    >>> W.grad = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
    >>> norms = clip_members_([W], 1.0)
    >>> norms, W.grad.norm(dim=1)
    (tensor([5.0000, 0.5000], dtype=torch.float64), tensor([1.0000, 0.5000]))
    """
    grads = [value.grad for value in parameters if value.grad is not None]
    if not grads:
        raise ValueError("No parameter has a gradient; call backward() before clipping.")
    if len({len(grad) for grad in grads}) > 1:
        sizes = ", ".join(str(len(grad)) for grad in grads)
        raise ValueError(f"The parameters lead with {sizes} members; give those of one ensemble.")
    norms = total_norm(grads, lead=1)
    clip_(grads, norms, largest)
    return norms


@contextmanager
def frozen(optimiser: torch.optim.Optimizer, stopped: Tensor) -> Iterator[None]:
    """Within the context, `optimiser.step()` leaves the parameters and moments of stopped members unchanged.

    stopped: (E,) bool. The other members are updated as usual. Use it around weight clamps as well.

    >>> W = torch.ones(2, 3, requires_grad=True)
    >>> optimiser = torch.optim.Adam([W], lr=0.1)
    >>> W.grad = torch.ones(2, 3)
    >>> with frozen(optimiser, torch.tensor([True, False])):
    ...     optimiser.step()
    >>> W[:, 0], optimiser.state[W]["exp_avg"][:, 0]
    (tensor([1.0000, 0.9000], grad_fn=<SelectBackward0>), tensor([0.0000, 0.1000]))
    """
    if not bool(stopped.any()):
        yield
        return
    parameters = [value for group in optimiser.param_groups for value in group["params"]]
    before: list[dict[str, Tensor | float]]
    before = [{key: rows[stopped] for key, rows in _rows(optimiser, value)} for value in parameters]
    yield
    with torch.no_grad():
        for value, saved in zip(parameters, before, strict=True):
            for key, rows in _rows(optimiser, value):
                rows[stopped] = saved.get(key, 0.0)  # new moments start at zero


def _rows(optimiser: torch.optim.Optimizer, value: Tensor) -> list[tuple[str, Tensor]]:
    """A parameter and its moments of the same shape, by name."""
    moments = [(key, item) for key, item in optimiser.state[value].items() if torch.is_tensor(item)]
    return [("value", value.detach()), *((key, item) for key, item in moments if item.shape == value.shape)]
