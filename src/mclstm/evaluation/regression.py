"""Ridge regression whose penalty is chosen by leaving out one row at a time, for one or many groups."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Factors", "Shrunk", "coefficients", "factors", "left_out", "shrunk"]

Floats = NDArray[np.float64]

# From almost none to so much that nothing is left, for columns of unit deviation.
PENALTIES = tuple(float(10.0**power) for power in range(-3, 7))
EQUAL = 1e-9  # errors that differ by less: rows that tell nothing about each other make all penalties equal
NEGLIGIBLE = 1e-12  # of the largest singular value: what rounding leaves of a column that is a sum of others


class Factors(NamedTuple):
    """X = u diag(s) v' of features X (N, P), R = min(N, P)."""

    u: Floats  # (N, R)
    s: Floats  # (R,)
    v: Floats  # (P, R)

    def inverse(self, penalty: float) -> Floats:
        """s / (s^2 + penalty), (R,); 0 for negligible s."""
        negligible = self.s <= NEGLIGIBLE * self.s.max(initial=0.0)
        return np.where(negligible, 0.0, self.s / (self.s**2 + penalty + negligible))


def factors(features: Floats) -> Factors:  # (N, P)
    """The singular value decomposition of features."""
    u, s, vt = np.linalg.svd(features, full_matrices=False)
    return Factors(u, s, vt.T)


def coefficients(x: Factors, values: Floats, penalty: float) -> Floats:
    """B = argmin |Y - X B|^2 + penalty |B|^2; x: factors of X (N, P) · values: Y (N, Q) -> (P, Q).

    >>> x = factors(np.array([[1.0], [2.0]]))
    >>> coefficients(x, np.array([[2.0], [4.0]]), penalty=5.0).round(12).tolist()
    [[1.0]]
    """
    solved: Floats = x.v @ (x.inverse(penalty)[:, np.newaxis] * (x.u.T @ values))
    return solved


def left_out(x: Factors, values: Floats, penalty: float) -> Floats:
    """The errors of all rows (N, Q), each predicted from the other rows.

    e_n = (y_n - x_n B) / (1 - h_n), h the diagonal of X (X'X + penalty)^-1 X'; values: Y (N, Q)
    Of two equal rows with values 1 and 3 the errors are 1 - 3/2 and 3 - 1/2, if the penalty is one row:

    >>> left_out(factors(np.ones((2, 1))), np.array([[1.0], [3.0]]), penalty=1.0).round(12).tolist()
    [[-0.5], [2.5]]
    """
    share = x.s * x.inverse(penalty)
    errors = values - x.u @ (share[:, np.newaxis] * (x.u.T @ values))
    others = np.maximum(1 - x.u**2 @ share, NEGLIGIBLE)  # 0 where no other row tells anything about this one
    return np.asarray(errors / others[:, np.newaxis])


class Shrunk(NamedTuple):
    """Every group's fit, all with one penalty."""

    coefficients: list[Floats]  # (P, Q) of each group
    left_out: list[Floats]  # (N, Q), the errors of each group's rows, each predicted from the others


def shrunk(groups: Sequence[tuple[Floats, Floats]]) -> Shrunk:
    """The fits of all groups with the one penalty that leaves the smallest errors, the largest of equals.

    groups: features (N, P) of unit deviation and values (N, Q) of comparable size, for each
    """
    pairs = [(factors(features), values) for features, values in groups]
    errors = np.array(
        [sum((left_out(x, values, penalty) ** 2).sum() for x, values in pairs) for penalty in PENALTIES]
    )
    best = PENALTIES[int(np.flatnonzero(errors <= errors.min() * (1 + EQUAL))[-1])]
    return Shrunk(
        [coefficients(x, values, best) for x, values in pairs],
        [left_out(x, values, best) for x, values in pairs],
    )
