"""The models that are timed: our backends and their peers, on the same inputs.

All MC-LSTMs have the same weights.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from mclstm.nn.gates import GateOptions
from mclstm.nn.layer import MCLSTM
from mclstm.ops.native.build import status
from mclstm_paper.bench.peers import EagerMCLSTM, PythonLSTM, Unavailable, neuralhydrology_cell, torch_lstm
from mclstm_paper.bench.scales import Sizes

__all__ = ["CANDIDATES", "Candidate", "Problem", "available", "problem"]

SEED = 0


class Problem(NamedTuple):
    """One batch of sequences, the form of MC-LSTM that runs through it, and the gradient of the outflow."""

    sizes: Sizes
    options: GateOptions
    x: Tensor  # (T, B, M)
    a: Tensor  # (T, B, A)
    s: Tensor  # (B, S)
    every: Tensor  # (T, B, A + S), for models without static inputs
    dh: Tensor  # (T, B, K), at every step: from the last step alone, gradients fade to denormal numbers


class Candidate(NamedTuple):
    """A module and how it is called: () -> (T, B, K)."""

    module: nn.Module
    outflow: Callable[[], Tensor]

    def forward(self) -> None:
        """The forward pass of a prediction: nothing is stored for gradients."""
        with torch.no_grad():
            self.outflow()

    def both(self, dh: Tensor) -> None:
        """Forward and backward, to the gradients of all parameters: dh (T, B, K)."""
        self.module.zero_grad(set_to_none=True)
        torch.autograd.backward(self.outflow(), dh)


def problem(sizes: Sizes, options: GateOptions) -> Problem:
    """Random inputs of these sizes, always the same."""
    source = torch.Generator().manual_seed(SEED)
    B, T, M, A, S, K = sizes
    x = torch.rand(T, B, M, generator=source)
    a, s = torch.randn(T, B, A, generator=source), torch.randn(B, S, generator=source)
    every = torch.cat([a, s.expand(T, B, S)], dim=-1)
    return Problem(sizes, options, x, a, s, every, torch.randn(T, B, K, generator=source))


def layer_of(inputs: Problem, backend: str) -> MCLSTM:
    """Our layer with the weights that every candidate gets."""
    torch.manual_seed(SEED)
    sizes = inputs.sizes
    options: GateOptions = {**inputs.options, "static_size": sizes.S}
    return MCLSTM(sizes.M, sizes.A, sizes.K, backend=backend, **options)


def ours(inputs: Problem, backend: str) -> Candidate:
    kernel = status()
    if backend == "native" and not kernel.available:  # the layer would fall back to `torch`
        raise Unavailable(str(kernel.reason))
    layer = layer_of(inputs, backend)
    return Candidate(layer, lambda: layer(inputs.x, inputs.a, static=inputs.s)[0])


def eager(inputs: Problem) -> Candidate:
    module = EagerMCLSTM(layer_of(inputs, "reference"))
    return Candidate(module, lambda: module(inputs.x, inputs.every)[0])


def neuralhydrology(inputs: Problem) -> Candidate:
    cell = neuralhydrology_cell(layer_of(inputs, "reference"))
    return Candidate(cell, lambda: cell(inputs.x, inputs.every)[0])


def lstm(inputs: Problem, build: Callable[[int, int], nn.Module]) -> Candidate:
    torch.manual_seed(SEED)
    z = torch.cat([inputs.x, inputs.every], dim=-1)
    module = build(z.shape[-1], inputs.sizes.K)
    return Candidate(module, lambda: module(z)[0])


CANDIDATES: dict[str, Callable[[Problem], Candidate]] = {
    "mclstm-native": partial(ours, backend="native"),
    "mclstm-torch": partial(ours, backend="torch"),
    "mclstm-reference": partial(ours, backend="reference"),
    "mclstm-eager": eager,
    "neuralhydrology": neuralhydrology,
    "lstm": partial(lstm, build=torch_lstm),
    "lstm-python": partial(lstm, build=PythonLSTM),
}


def available(names: tuple[str, ...], inputs: Problem, missing: dict[str, str]) -> dict[str, Candidate]:
    """The candidates that can run here; `missing` gets the reason for every other one."""
    candidates = {}
    for name in names:
        try:
            candidates[name] = CANDIDATES[name](inputs)
        except Unavailable as reason:
            missing[name] = str(reason)
    return candidates
