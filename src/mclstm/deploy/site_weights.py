"""Weights of the members of a packed ensemble at the sites that are known: weights.json in its folder.

    {"members": ["tuned/member-0", "tuned/member-1"], "sites": {"01022500": [0.4, 0.6]}}

All members count alike at every other site.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mclstm.errors import CheckpointError
from mclstm.training.atomic import write_text_atomic
from mclstm.training.folder import RunFolder

__all__ = ["WEIGHTS", "read_site_weights", "save_site_weights"]

WEIGHTS = "weights.json"
TOLERANCE = 1e-4  # of a sum of weights, which a file holds with a few digits


def save_site_weights(folder: Path, members: Sequence[str], sites: Mapping[str, Sequence[float]]) -> None:
    """Write the weights of members by site, in the order of `members`."""
    content = {"members": list(members), "sites": {site: list(weights) for site, weights in sites.items()}}
    write_text_atomic(folder / WEIGHTS, json.dumps(content, allow_nan=False) + "\n")


def read_site_weights(
    folder: Path, members: Sequence[str], sites: Sequence[str]
) -> NDArray[np.float64] | None:
    """The weights of these members at these sites, (site, members); None where the folder has no such file.

    Weights are divided by their sum, so that the ledger of the mean closes.
    """
    path = folder / WEIGHTS
    if not path.is_file():
        return None
    content = RunFolder(folder).read_json(path)
    known, listed = content.get("sites"), content.get("members")
    if not isinstance(known, dict) or not isinstance(listed, list) or sorted(listed) != sorted(members):
        raise CheckpointError(f"{path} is not about the members of this folder. Restore the file.")
    order = [listed.index(member) for member in members]
    even = np.full(len(members), 1.0 / len(members))
    rows = [_convex(known[site], order, path, site) if site in known else even for site in sites]
    return np.stack(rows)


def _convex(weights: Any, order: Sequence[int], path: Path, site: str) -> NDArray[np.float64]:
    numbers = isinstance(weights, list) and all(type(value) in (int, float) for value in weights)
    values = np.array(weights if numbers else [], dtype=np.float64)
    if values.shape != (len(order),) or not (values >= 0).all() or abs(values.sum() - 1) > TOLERANCE:
        raise CheckpointError(
            f"{path} has weights of site {site[:40]!r} that are not shares of all members. Restore the file."
        )
    shares: NDArray[np.float64] = values[list(order)] / values.sum()
    return shares
