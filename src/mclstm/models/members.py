"""Several models of one kind, trained at once: every weight leads with E, a member equals the model alone."""

import copy
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call

from mclstm.models.output import Output, State

__all__ = ["Members", "seeded"]


class Members(nn.Module):
    """E models in one module: member e runs on x[e], a[e], static[e] with the weights W[e].

    The models differ in their weights alone. Each runs by its own code, so that its results and gradients are
    those of the model alone. Not to be confused with `MCLSTM(members=E)`, one layer with E parameter sets:
    here whole models of any kind are joined.

    x: (E, T, B, M) · a: (E, T, B, A) · static: (E, B, S) -> an `Output` whose tensors lead with E; its
    penalty is the sum over members

    >>> from mclstm.models.output import Sizes
    >>> from mclstm.models.mass_model import build_mass
    >>> both = Members([build_mass(Sizes(1, 0, 0, ["flow"]), None, hidden_size=3) for _ in range(2)])
    >>> both(torch.rand(2, 5, 4, 1), torch.zeros(2, 5, 4, 0), torch.zeros(2, 4, 0)).y.shape
    torch.Size([2, 5, 4, 1])
    """

    def __init__(self, models: Sequence[nn.Module]) -> None:
        super().__init__()
        self.size = len(models)
        self.model = copy.deepcopy(models[0])
        together = zip(*(model.parameters() for model in models), strict=True)
        _set_parameters(self.model, [torch.stack([one.detach() for one in values]) for values in together])

    def alone(self) -> list[nn.Module]:
        """The members as models of their own, with copies of their present weights."""
        return [self._member(at) for at in range(self.size)]

    def _member(self, at: int) -> nn.Module:
        model = copy.deepcopy(self.model)
        _set_parameters(model, [value.detach()[at].clone() for value in self.model.parameters()])
        return model

    def forward(
        self,
        x: Tensor,  # (E, T, B, M)
        a: Tensor,  # (E, T, B, A)
        static: Tensor,  # (E, B, S)
        state: State | None = None,  # each (E, B, ...)
    ) -> Output:
        split = {name: value.unbind(0) for name, value in self.model.named_parameters()}
        outputs = []
        for at in range(self.size):
            weights = {name: values[at] for name, values in split.items()}
            before = None if state is None else {name: value[at] for name, value in state.items()}
            outputs.append(functional_call(self.model, weights, (x[at], a[at], static[at], before)))
        return _joined(outputs)


def seeded(make: Callable[[], nn.Module], seeds: Sequence[int]) -> nn.Module:
    """The model that `make` builds after `torch.manual_seed`; for several seeds the `Members` of all."""
    models = []
    for seed in seeds:
        torch.manual_seed(seed)
        models.append(make())
    return models[0] if len(models) == 1 else Members(models)


def _set_parameters(model: nn.Module, values: Sequence[Tensor]) -> None:
    """Give a model new parameters, of other shapes too."""
    names = [name for name, _ in model.named_parameters()]
    for name, value in zip(names, values, strict=True):
        owner, _, last = name.rpartition(".")
        setattr(model.get_submodule(owner), last, nn.Parameter(value))


def _joined(outputs: Sequence[Output]) -> Output:
    """The members' outputs with a leading E."""

    def stacked(tensors: Sequence[Tensor | None]) -> Tensor | None:
        known = [tensor for tensor in tensors if tensor is not None]
        return torch.stack(known) if known else None

    y = torch.stack([output.y for output in outputs])
    state = {name: torch.stack([output.state[name] for output in outputs]) for name in outputs[0].state}
    penalty = torch.stack([output.penalty for output in outputs]).sum()
    return Output(
        y, state, penalty, *(stacked(column) for column in zip(*(o[3:] for o in outputs), strict=True))
    )
