"""A layer without inflow and with shut outlets: a finite Markov chain, and a linear flow."""

import torch
from torch import Tensor

from mclstm.nn.layer import MCLSTM

__all__ = ["SHUT", "closed_layer", "trajectory"]

# An output-gate bias at which o is about 1e-304 whatever the gate sees: h is not zero, but m - h rounds to m.
SHUT = -1000.0


def closed_layer(R: Tensor) -> MCLSTM:
    """The gate-free layer c_t = c_{t-1} R in float64, with R's zeros forbidden by the mask.

    R: (K, K), rows sum to one

    >>> swap = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    >>> trajectory(closed_layer(swap), torch.tensor([1.0, 3.0]), 2).tolist()
    [[1.0, 3.0], [3.0, 1.0], [1.0, 3.0]]
    """
    cells, mask = R.shape[0], R > 0
    layer = MCLSTM(0, 0, cells, redistribution="static", mask=mask, output_bias=SHUT, dtype=torch.float64)
    assert layer.gates.B_r is not None
    with torch.no_grad():  # softmax undoes the logarithm, for the rows already sum to one
        layer.gates.B_r.copy_(torch.log(torch.where(mask, R, 1.0)))
    return layer


def trajectory(layer: MCLSTM, c0: Tensor, steps: int) -> Tensor:
    """The cells of a closed layer after 0, 1, ..., `steps` steps.

    c0: (K,) or (B, K) · result: (steps + 1, K) or (steps + 1, B, K)
    """
    x = torch.zeros(steps, *c0.shape[:-1], layer.gates.mass_size, dtype=torch.float64)
    with torch.no_grad():
        return layer.trajectory(x, c0=c0.double())[1]
