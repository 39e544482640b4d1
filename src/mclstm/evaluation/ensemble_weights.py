"""Weights of the members of an ensemble at each site: convex, fitted on years that no score is taken from."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.optimize import nnls

from mclstm.errors import DataError

__all__ = ["convex_weights", "site_weights_of_members"]

FIRMNESS = 1e4  # how many times more than an error of the flow a sum other than one counts in the fit
SHRINKAGE = 0.3  # the share of equal weights: the fitted ones alone follow the noise of a few years


def convex_weights(
    simulated: NDArray[np.float64], observed: NDArray[np.float64], shrinkage: float = SHRINKAGE
) -> NDArray[np.float64]:
    """w = (1 - λ) argmin sum_t (o_t - sum_n w_n s_nt)² + λ / N with w >= 0 and sum_n w_n = 1.

    simulated: s, (members, time) · observed: o, (time,), NaN where there is none · shrinkage: λ -> (members,)
    A sum of one keeps the ledger: where the ledger of every member closes, that of the ensemble closes.

    >>> o = np.array([1.0, 2.0, 4.0])
    >>> convex_weights(np.stack([o, 2 * o]), o, shrinkage=0.2).round(6).tolist()
    [0.9, 0.1]
    """
    members = len(simulated)
    known = np.isfinite(observed) & np.isfinite(simulated).all(0)
    even = np.full(members, 1.0 / members)
    if known.sum() < members:
        return even
    seen, flows = simulated[:, known], observed[known]
    size = FIRMNESS * max(float(np.abs(seen).max()), np.finfo(np.float64).tiny)
    rows = np.vstack([seen.T, np.full(members, size)])
    fitted, _ = nnls(rows, np.append(flows, size))
    total = fitted.sum()
    return (1.0 - shrinkage) * (fitted / total if total > 0 else even) + shrinkage * even


def site_weights_of_members(
    members: Sequence[xr.Dataset], shrinkage: float = SHRINKAGE
) -> NDArray[np.float64]:
    """The weights of all members at each site, from `simulated` and `observed`: (site, members)."""
    if len(members) < 2:
        raise DataError("weights need at least two members. Give more runs, or use the one as it is.")
    simulated = np.stack([member["simulated"].to_numpy() for member in members], axis=1)
    observed = members[0]["observed"].to_numpy()
    pairs = zip(simulated, observed, strict=True)
    return np.stack([convex_weights(site, flow, shrinkage) for site, flow in pairs])
