"""How many operations a pass must execute: what the measured rate of the matrix product is held against."""

from typing import NamedTuple

from mclstm_paper.bench.sizes import Sizes

__all__ = ["Operations", "operations", "product_operations"]


class Operations(NamedTuple):
    """Floating-point operations, a multiply-add counted as two, of the products of an MC-LSTM."""

    forward: int
    both: int  # forward and backward


def product_operations(B: int, T: int, M: int, K: int, F: int) -> int:
    """All gates of all steps: (M + K + 1) rows of K logits, each a product with F features.

        2 B T (M + K + 1) K F

    >>> round(product_operations(B=256, T=365, M=1, K=64, F=1) / 1e9, 3)
    0.789
    """
    return 2 * B * T * (M + K + 1) * K * F


def operations(sizes: Sizes, gates_see: tuple[str, ...]) -> Operations:
    """Operations of a time-dependent R with static inputs hoisted out of the loop.

    The backward pass computes the gates again instead of keeping R, then the gradients of the weights (each
    as many operations as forward) and of the state (K of the F features). Not counted: static inputs, seen
    once a sequence; normalising; and gradients of the inputs, though the kernel computes those, too.

    >>> operations(Sizes(256, 365, 1, 3, 27, 64), ("aux", "state", "mass"))
    Operations(forward=53677916160, both=211554140160)
    """
    widths = {"aux": sizes.A, "state": sizes.K, "mass": sizes.M}
    F = sum(widths[name] for name in gates_see)
    B, T, M, K = sizes.B, sizes.T, sizes.M, sizes.K
    forward = product_operations(B, T, M, K, F)
    state = product_operations(B, T, M, K, K) if "state" in gates_see else 0
    return Operations(forward, 3 * forward + state)
