"""neuralhydrology's MC-LSTM cell, if it is installed."""

import types
import warnings
from importlib import import_module

import torch
from torch import Tensor, nn

from mclstm.nn.layer import MCLSTM
from mclstm_paper.bench.unavailable import Unavailable

__all__ = ["neuralhydrology_cell"]


def neuralhydrology_cell(layer: MCLSTM) -> nn.Module:
    """Its cell with the weights of a layer, (x (T, B, 1), a (T, B, A + S)) -> (h (T, B, K), c (T, B, K)).

    It has one form only, that of the hydrology experiments, and divides the state by the sum over the whole
    batch: with `state_norm="batch"` the layer computes the same.
    """
    form, gates = layer.gates.form, layer.gates
    known = (form.redistribution, form.input_norm, form.redistribution_norm, form.gates_see)
    if known != ("dynamic", "sigmoid", "relu", ("aux", "state", "mass")) or gates.mass_size != 1:
        raise Unavailable("neuralhydrology has the gates of the hydrology experiments only")
    config = types.SimpleNamespace(initial_forget_bias=None)
    cell: nn.Module = _cell_class()(1, gates.aux_size + gates.static_size, gates.hidden_size, config)
    with torch.no_grad():
        for name, W, b in (
            ("input_gate", gates.W_i, gates.b_i),
            ("redistribution", gates.W_r, gates.B_r),
            ("output_gate", gates.W_o, gates.b_o),
        ):
            assert W is not None
            assert b is not None
            cell.get_parameter(f"{name}.fc.weight").copy_(_mass_first(W))
            cell.get_parameter(f"{name}.fc.bias").copy_(b.flatten())
    return cell


def _mass_first(W: Tensor) -> Tensor:
    """Features in the order x, a, c instead of a, c, x: W (..., F) -> (rows, F)."""
    return W.flatten(end_dim=-2).roll(1, dims=-1)


def _cell_class() -> type[nn.Module]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its imports use what its dependencies have deprecated
            module = import_module("neuralhydrology.modelzoo.mclstm")
    except ImportError as error:
        raise Unavailable(f"{error}; pip install neuralhydrology") from error
    found: type[nn.Module] = module._MCLSTMCell
    return found
