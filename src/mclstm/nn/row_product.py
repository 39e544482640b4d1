"""Linear maps whose result for a row does not depend on how many rows there are."""

import torch
from torch import Tensor
from torch.nn.functional import linear

from mclstm.ops.reference import each_product

__all__ = ["row_product"]


def row_product(
    z: Tensor,  # (..., F)
    W: Tensor,  # (N, F)
    b: Tensor | None = None,  # (N,)
) -> Tensor:
    """W z + b, (..., N); to the last bit the same for a row alone and among others, if no graph is recorded.

    A matrix product rounds differently by the number of its rows, so that a simulation step by step would
    differ from one call. Training uses it all the same: it is several times as fast.

    >>> z, W = torch.rand(7, 5, 16), torch.rand(3, 16)
    >>> with torch.no_grad():
    ...     torch.equal(row_product(z, W)[2, 3], row_product(z[2, 3], W))
    True
    """
    if torch.is_grad_enabled() or torch.compiler.is_exporting():
        return linear(z, W, b)
    columns = W.t().contiguous().t()  # stored by columns: products of other layouts were seen to differ
    y = each_product(z.reshape(-1, z.shape[-1]), columns).view(*z.shape[:-1], len(W))
    return y if b is None else y + b
