"""E members trained together: one forward, one backward, one step of Adam for all of them.

Members share nothing but the operations: their losses are added, so that each gets the gradient of its own,
and Adam works element by element. A member trained here is the member trained alone, within rounding.
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
    """A model in training, its optimiser, and what was noted of every member; all of it in one checkpoint.

    model: every parameter leads with E. learning_rate: of all parameters, or of each child by its name.
    epsilon: Adam's. A member whose gradient is not finite has failed: it stays as it was before that update,
    and the others go on.

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
        self.optimiser = torch.optim.Adam(rated(model, learning_rate), eps=epsilon, fused=True)
        self._rates: list[float] = [group["lr"] for group in self.optimiser.param_groups]
        self.update = 0
        self.failed = torch.full((members,), -1)  # (E,) the update at which a member failed
        self.noted: list[int] = []  # the updates before which `records` were made
        self.records: dict[str, list[Tensor]] = {}  # of (E,)
        self.best = {name: value.clone() for name, value in model.state_dict().items()}
        self.best_error = torch.full((members,), math.inf, dtype=torch.float64)  # (E,)
        self._ones, self._failures = torch.ones(members), False

    def slow_down(self, factor: float) -> None:
        """Learn at this part of the given rates from now on; not kept in a checkpoint."""
        for group, rate in zip(self.optimiser.param_groups, self._rates, strict=True):
            group["lr"] = factor * rate

    @property
    def rate(self) -> float:
        """The learning rate of all parameters."""
        (rate,) = self._rates
        return rate

    @property
    def over(self) -> bool:
        """Whether every member has failed: nothing will change any more."""
        return self._failures and bool((self.failed >= 0).all())

    def moments(self, parameter: Tensor | None) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """A parameter with Adam's moments of it, which are there after the first update."""
        if parameter is None:
            return None, None, None
        kept = self.optimiser.state[parameter]
        return parameter.detach(), kept["exp_avg"], kept["exp_avg_sq"]

    def advanced(self, updates: int) -> None:
        """So many updates were made elsewhere, with `failed` of those that failed."""
        for kept in self.optimiser.state.values():
            kept["step"] += updates
        self._failures = bool((self.failed >= 0).any())
        self.update += updates

    def step(self, losses: Tensor) -> None:
        """One update by the losses (E,) of the members."""
        losses.backward(self._ones.to(losses.dtype))  # type: ignore[no-untyped-call]
        gradients = [p.grad for p in self.parameters if p.grad is not None]
        # One number for all members: which of them failed is asked only when one did.
        if self._failures or not math.isfinite(float(get_total_norm(gradients))):
            self._freeze(gradients)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        self.update += 1

    def _freeze(self, gradients: list[Tensor]) -> None:
        """Note who failed; without gradient and moments Adam leaves a member where it is.

        By the gradient alone, as the kernel library judges: a loss can overflow that has a gradient.
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
        """Keep numbers (E,) by name at this update; the lowest "validation" tells the best weights."""
        for name, value in errors.items():
            kept = torch.where(self.failed < 0, value.double(), math.nan)
            self.records.setdefault(name, []).append(kept)
        self.noted.append(self.update)
        error = self.records["validation"][-1]
        better = error < self.best_error  # never true of NaN
        self.best_error = torch.where(better, error, self.best_error)
        for name, value in self.model.state_dict().items():
            self.best[name][better] = value[better]

    def record(self, name: str) -> Tensor:
        """All that was noted under a name: (N, E)."""
        return torch.stack(self.records[name])

    def use_best(self) -> None:
        """Put every member's best weights into the model."""
        self.model.load_state_dict(self.best)

    def save(self, path: Path) -> None:
        """Everything in one file, at once or not at all."""
        tensors = state.weights_of(self.model) | state.moments_of(self.model, self.optimiser)
        tensors |= {f"best.{name}": value for name, value in self.best.items()}
        tensors |= {f"records.{name}": self.record(name) for name in self.records}
        tensors |= {"members.failed": self.failed, "members.best_error": self.best_error}
        checkpoint.save(path, tensors, {"update": self.update, "noted": self.noted})

    def restore(self, path: Path) -> None:
        """Back to where a checkpoint was made."""
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
        self.best = {name: value.clone() for name, value in state.named(tensors, "best.").items()}
        self.failed, self.best_error = tensors["members.failed"], tensors["members.best_error"]
        self._failures = bool((self.failed >= 0).any())
        self.records = {name: list(value) for name, value in state.named(tensors, "records.").items()}


def rated(model: nn.Module, learning_rate: float | Mapping[str, float]) -> list[dict[str, Any]]:
    """What there is to learn and how fast, as the optimiser takes it."""
    parts = {"": learning_rate} if not isinstance(learning_rate, Mapping) else learning_rate
    learned = {name: [p for p in model.get_submodule(name).parameters() if p.requires_grad] for name in parts}
    return [{"params": learned[name], "lr": rate} for name, rate in parts.items() if learned[name]]
