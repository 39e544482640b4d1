"""E members trained together: one forward, one backward, one step of Adam for all of them.

Members do not influence each other: the sum of their losses gives each its own gradient, and Adam works
element by element. A member trained here equals the member trained alone, within rounding.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import get_total_norm

from mclstm.errors import CheckpointError
from mclstm.training import checkpoint, state

__all__ = ["Ensemble"]


class Ensemble:
    """A model in training, its optimiser, and the evaluations of every member; all in one checkpoint.

    model: every parameter leads with E. learning_rate: of all parameters, or of each child by its name.
    epsilon: Adam's. A member whose gradient is not finite has failed: it stays as it was before that update,
    and the others continue.

    >>> model = nn.ParameterDict({"w": torch.tensor([[1.0], [2.0]])})
    >>> ensemble = Ensemble(model, members=2, learning_rate=0.5)
    >>> ensemble.step(model["w"].square().sum(1)); model["w"].flatten().round(decimals=4).tolist()
    [0.5, 1.5]
    """

    def __init__(
        self,
        model: nn.Module,
        members: int,
        learning_rate: float | Mapping[str, float],
        epsilon: float = 1e-8,
    ) -> None:
        self.model, self.members = model, members
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.optimiser = torch.optim.Adam(parameter_groups(model, learning_rate), eps=epsilon, fused=True)
        self._rates: list[float] = [group["lr"] for group in self.optimiser.param_groups]
        self.update = 0
        self.failed = torch.full((members,), -1)  # (E,) the update at which a member failed
        self.noted: list[int] = []  # the updates at which `records` were made
        self.records: dict[str, list[Tensor]] = {}  # (E,) each
        self.best = {name: value.clone() for name, value in model.state_dict().items()}
        self.best_error = torch.full((members,), math.inf, dtype=torch.float64)  # (E,)
        self._ones, self._failures = torch.ones(members), False

    def slow_down(self, factor: float) -> None:
        """Multiply the learning rates by a factor from now on; checkpoints do not store it."""
        for group, rate in zip(self.optimiser.param_groups, self._rates, strict=True):
            group["lr"] = factor * rate

    @property
    def rate(self) -> float:
        """The learning rate, where all parameters have the same."""
        (rate,) = self._rates
        return rate

    @property
    def over(self) -> bool:
        """Whether every member has failed, so that nothing can change any more."""
        return self._failures and bool((self.failed >= 0).all())

    def moments(self, parameter: Tensor | None) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """A parameter and Adam's two moments of it, which exist after the first update if it is learned."""
        if parameter is None or not parameter.requires_grad:
            return parameter, None, None
        moments = self.optimiser.state[parameter]
        return parameter.detach(), moments["exp_avg"], moments["exp_avg_sq"]

    def advanced(self, updates: int) -> None:
        """Count updates that the kernel library made; it has set `failed`."""
        for moments in self.optimiser.state.values():
            moments["step"] += updates
        self._failures = bool((self.failed >= 0).any())
        self.update += updates

    def step(self, losses: Tensor) -> None:
        """One update by the losses (E,) of the members."""
        losses.backward(self._ones.to(losses.dtype))  # type: ignore[no-untyped-call]
        gradients = [p.grad for p in self.parameters if p.grad is not None]
        # One number tells whether any member failed; only then is each of them looked at.
        if self._failures or not math.isfinite(float(get_total_norm(gradients))):
            self._freeze(gradients)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        self.update += 1

    def _freeze(self, gradients: list[Tensor]) -> None:
        """Mark the members that failed; without gradient and moments Adam does not move them.

        Only the gradient counts, as in the kernel library: a loss can overflow and still have a gradient.
        """
        finite = torch.ones(self.members, dtype=torch.bool)
        for gradient in gradients:
            finite &= torch.isfinite(gradient).flatten(1).all(dim=1)
        new = ~finite & (self.failed < 0)
        self.failed[new] = self.update
        self._failures = bool((self.failed >= 0).any())
        for gradient in gradients:
            gradient[self.failed >= 0] = 0.0
        for moments in self.optimiser.state.values():
            for value in (moments["exp_avg"], moments["exp_avg_sq"]):
                value[new] = 0.0

    def note(self, errors: dict[str, Tensor]) -> None:
        """Record the errors (E,) by name at this update; the lowest "validation" decides the best weights."""
        for name, value in errors.items():
            recorded = torch.where(self.failed < 0, value.double(), math.nan)
            self.records.setdefault(name, []).append(recorded)
        self.noted.append(self.update)
        error = self.records["validation"][-1]
        better = error < self.best_error  # never true for NaN
        self.best_error = torch.where(better, error, self.best_error)
        for name, value in self.model.state_dict().items():
            if value.shape[:1] == better.shape:  # a mask is shared by all members, and never changes
                self.best[name][better] = value[better]

    def record(self, name: str) -> Tensor:
        """The numbers of all evaluations under a name: (N, E)."""
        return torch.stack(self.records[name])

    def best_evaluation(self) -> Tensor:
        """The number of the evaluation with each member's lowest validation error, (E,)."""
        return self.record("validation").nan_to_num(nan=math.inf).argmin(dim=0)

    def at_best(self, name: str) -> Tensor:
        """The numbers under a name at the best evaluation of each member, (E,)."""
        return self.record(name).gather(0, self.best_evaluation().unsqueeze(0))[0]

    def use_best(self) -> None:
        """Put every member's best weights into the model."""
        self.model.load_state_dict(self.best)

    def save(self, path: Path) -> None:
        """Write everything to one file, completely or not at all."""
        tensors = state.weights_of(self.model) | state.moments_of(self.model, self.optimiser)
        tensors |= {f"best.{name}": value for name, value in self.best.items()}
        tensors |= {f"records.{name}": self.record(name) for name in self.records}
        tensors |= {"members.failed": self.failed, "members.best_error": self.best_error}
        checkpoint.save(path, tensors, {"update": self.update, "noted": self.noted})

    def restore(self, path: Path) -> None:
        """Return to the state of a checkpoint."""
        expected = state.weights_of(self.model)
        expected |= {f"best.{name}": value for name, value in self.best.items()}
        expected |= {"members.failed": self.failed, "members.best_error": self.best_error}
        tensors, about = checkpoint.load(path, expected=expected)
        try:
            self.update, self.noted = about["update"], list(about["noted"])
        except (KeyError, TypeError) as error:
            raise CheckpointError(f"{path} is no checkpoint of an ensemble. Remove its folder.") from error
        state.put_weights(self.model, tensors)
        state.put_moments(path, self.model, self.optimiser, tensors)
        self.best = {name: value.clone() for name, value in state.tensors_in(tensors, "best.").items()}
        self.failed, self.best_error = tensors["members.failed"], tensors["members.best_error"]
        self._failures = bool((self.failed >= 0).any())
        self.records = {name: list(value) for name, value in state.tensors_in(tensors, "records.").items()}


def parameter_groups(model: nn.Module, learning_rate: float | Mapping[str, float]) -> list[dict[str, Any]]:
    """The parameter groups of the optimiser: learnable parameters and their rate."""
    parts = {"": learning_rate} if not isinstance(learning_rate, Mapping) else learning_rate
    learned = {name: [p for p in model.get_submodule(name).parameters() if p.requires_grad] for name in parts}
    return [{"params": learned[name], "lr": rate} for name, rate in parts.items() if learned[name]]
