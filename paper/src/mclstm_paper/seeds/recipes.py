"""Recipes of the synthetic tasks: how a network is built and trained, and what its loss adds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor, nn

from mclstm_paper.baselines import Linear
from mclstm_paper.baselines.regularisers import Schedule, sparsity_penalty
from mclstm_paper.seeds.networks import Sources

__all__ = ["Decay", "OutputPenalty", "Recipe", "SparsityPenalty", "member_errors", "no_penalty"]

Penalty = Callable[[nn.Module, int], Tensor | None]  # (model, update) -> (E,); None: nothing to add


class Decay(NamedTuple):
    """A learning rate that falls exponentially from one update to another, and stays there.

    >>> [round(Decay(start=100, end=200, to=0.01).at(update), 3) for update in (0, 100, 150, 200, 900)]
    [1.0, 1.0, 0.1, 0.01, 0.01]
    """

    start: int
    end: int
    to: float  # the factor at the end

    def at(self, update: int) -> float:
        """The factor of the rate at an update."""
        gone = (update - self.start) / (self.end - self.start)
        return float(self.to ** min(1.0, max(0.0, gone)))


def no_penalty(model: nn.Module, update: int) -> None:
    """The loss is the squared error alone."""


class Recipe(NamedTuple):
    """How the model of one table row is built and trained."""

    build: Callable[[Sources], nn.Module]
    learning_rate: float
    penalty: Penalty = no_penalty
    cell_penalty: float = 0.0  # factor of the mean square of the cells
    clamped: bool = False  # whether weights of NAU and NMU are clamped after every update
    decay: Decay | None = None  # of the learning rate
    epsilon: float = 1e-8  # Adam's


@dataclass(frozen=True)
class OutputPenalty:
    """factor / 2 times the mean square of the output layer's weights, the published L2."""

    factor: float

    def __call__(self, model: nn.Module, update: int) -> Tensor:
        head = model.get_submodule("head")
        assert isinstance(head, Linear)
        return self.factor / 2.0 * head.W.square().mean(dim=(1, 2))


@dataclass(frozen=True)
class SparsityPenalty:
    """The sparsity penalty of NAU and NMU with the factor of its schedule; nothing while that is 0."""

    schedule: Schedule

    def __call__(self, model: nn.Module, update: int) -> Tensor | None:
        factor = self.schedule.at(update)
        return factor * sparsity_penalty(model) if factor > 0.0 else None


def member_errors(y: Tensor, target: Tensor) -> Tensor:
    """Mean squared error of every member: (E, B, 1) each -> (E,)."""
    return (y - target).square().mean(dim=(1, 2))
