"""A trained model as a program that a compiler can follow: one step, or a sequence of any length.

Both take a dict of tensors and return one, in the units of the training: no scaling is left to the caller.
Moments stay float64, because a temperature in kelvin loses digits when it is standardised in float32.
"""

import copy

import numpy as np
import torch
from torch import Tensor, nn
from torch._higher_order_ops.scan import scan_op
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from mclstm.deploy.trained_model import TrainedModel
from mclstm.from_config import clipped_targets
from mclstm.models.output import Output
from mclstm.nn.layer import MCLSTM
from mclstm.series_from_config import inputs

__all__ = [
    "ENTERED", "INPUTS", "MEMBERS", "OUTFLOW", "PREDICTION", "SequenceProgram", "StepProgram",
    "result_names",
]  # fmt: skip

INPUTS = MASS, AUX, STATIC = "mass", "aux", "static"  # in the units of the training, float64
PREDICTION, MEMBERS = "prediction", "members"  # the mean over members, and each of them
OUTFLOW, ENTERED = "outflow", "entered"  # of a model with stores: what left every cell, what came in
Values = dict[str, Tensor]


class StepProgram(nn.Module):
    """One step of all members.

    mass: (B, M), aux: (B, A), static: (B, S), as far as the model has them, and its states, each (E, B, ...)
    -> prediction: (B, targets) float64, members: (E, B, targets) float64, the states after the step, and of a
    model with stores outflow: (E, B, K) and entered: (E, B, M), the mass as it entered the stores
    """

    clipped: Tensor

    def __init__(self, model: TrainedModel, dtype: torch.dtype) -> None:
        super().__init__()
        self.members = nn.ModuleList(traceable(member, dtype) for member in model.members.values())
        self.targets, self.dtype = len(model.config.data.target), dtype
        columns = inputs(model.config)
        for role in (AUX, STATIC):
            moments = np.array([model.moments[name] for name in columns[role]]).reshape(-1, 2)
            self.register_buffer(f"{role}_mean", torch.tensor(moments[:, 0], dtype=torch.float64))
            self.register_buffer(f"{role}_std", torch.tensor(moments[:, 1], dtype=torch.float64))
        self.register_buffer("clipped", torch.tensor(clipped_targets(model.config, model.units)))

    def forward(self, values: Values) -> Values:
        """One step; see above for the names and shapes."""
        x = values[MASS].to(self.dtype)
        a, static = (self._standardised(values, role) for role in (AUX, STATIC))
        states = {name: value for name, value in values.items() if name not in INPUTS}
        outputs = [
            member(x[None], a[None], static, {name: value[at] for name, value in states.items()})
            for at, member in enumerate(self.members)
        ]
        members = torch.stack([self._predicted(output) for output in outputs])
        after = {name: torch.stack([output.state[name] for output in outputs]) for name in states}
        return {PREDICTION: members.mean(0), MEMBERS: members, **after, **_ledger(outputs)}

    def _standardised(self, values: Values, role: str) -> Tensor:  # -> (B, columns)
        if role not in values:
            return values[MASS].new_zeros(values[MASS].shape[0], 0, dtype=self.dtype)
        mean, std = self.get_buffer(f"{role}_mean"), self.get_buffer(f"{role}_std")
        return ((values[role] - mean) / std).to(self.dtype)

    def _predicted(self, output: Output) -> Tensor:  # -> (B, targets)
        y = output.y[0, :, : self.targets].double()
        return torch.where(self.clipped & (y < 0), 0.0, y)


class SequenceProgram(nn.Module):
    """All steps of a sequence of any length, as an exported step makes them.

    mass: (T, B, M), aux: (T, B, A), static and states as for a step -> what a step gives, led by T, and the
    states after the last step
    """

    def __init__(self, step: ExportedProgram) -> None:
        super().__init__()
        self.step = step.graph_module  # takes weights, then inputs, one by one
        self.inputs = list(step.example_inputs[1]["values"])
        self.results = result_names(step)
        kept = {**step.constants, **step.state_dict}
        signature = step.graph_signature.input_specs
        weights = [kept[item.target] for item in signature if item.kind is not InputKind.USER_INPUT]
        self.weights = nn.ParameterList(nn.Parameter(value, requires_grad=False) for value in weights)

    def forward(self, values: Values) -> Values:
        """All steps; see above for the names and shapes."""
        states = [name for name in self.results if name in self.inputs]
        shown = [name for name in self.results if name not in states]
        timed, fixed = ([name for name in roles if name in values] for roles in ((MASS, AUX), (STATIC,)))

        def one(*tensors: Tensor) -> list[Tensor]:
            now = dict(zip([*states, *timed, *fixed], tensors, strict=False))
            weights = tensors[len(now) :]
            results = dict(zip(self.results, self.step(*weights, *map(now.get, self.inputs)), strict=True))
            return [results[name].clone() for name in states] + [results[name] for name in shown]

        # The operator instead of `torch.scan`, which would compile the step, already exported, once more.
        constant = (*(values[name] for name in fixed), *self.weights)
        last = scan_op(one, [values[name] for name in states], [values[name] for name in timed], constant)
        return dict(zip([*states, *shown], last, strict=True))


def result_names(step: ExportedProgram) -> list[str]:
    """What an exported step gives, in its order."""
    return list(step.module(check_guards=False)(**step.example_inputs[1]))


class OneStepLSTM(nn.Module):
    """What `nn.LSTM` computes for a sequence of one step, in plain operations.

    i, f, g, o = W_x x + W_h h + b,    c' = σ(f) c + σ(i) tanh(g),    h' = σ(o) tanh(c')
    """

    def __init__(self, lstm: nn.LSTM) -> None:
        super().__init__()
        W_x, W_h, b_x, b_h = (value.detach() for value in lstm.parameters())
        self.register_buffer("W", torch.cat([W_x, W_h], dim=1))
        self.register_buffer("b", b_x + b_h)

    def forward(
        self,
        x: Tensor,  # (1, B, F)
        before: tuple[Tensor, Tensor],  # (1, B, K) each
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        h, c = before
        gates = nn.functional.linear(torch.cat([x, h], dim=-1), self.get_buffer("W"), self.get_buffer("b"))
        i, f, g, o = gates.chunk(4, dim=-1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        return h, (h, c)


def traceable(member: nn.Module, dtype: torch.dtype) -> nn.Module:
    """A copy of a model in plain operations: the reference, an LSTM of one step, no look at values."""
    copied = copy.deepcopy(member).train(False).requires_grad_(False).to(dtype)
    for name, module in list(copied.named_modules()):
        if isinstance(module, MCLSTM):
            module.backend, module.gates.check = "reference", False
        if isinstance(module, nn.LSTM):
            copied.set_submodule(name, OneStepLSTM(module))
    return copied


def _ledger(outputs: list[Output]) -> Values:
    """Mass out of and into the stores of every member, (E, B, ...); nothing for a model without stores."""
    left = [output.h[0] for output in outputs if output.h is not None]
    entered = [output.x[0] for output in outputs if output.x is not None]
    return {OUTFLOW: torch.stack(left), ENTERED: torch.stack(entered)} if left else {}
