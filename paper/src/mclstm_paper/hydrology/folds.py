"""Basins in five folds, at random or by region: each fold in turn is never seen in training."""

import random
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from mclstm.data.readers.camels_us import root_of
from mclstm.errors import DataError

__all__ = ["FOLDS", "folds_of", "random_folds", "region_folds", "regions_of"]

COUNT = 5
FOLDS = ("random", "region")


def folds_of(kind: str, basins: Sequence[str], data: Path) -> list[list[str]]:
    """The basins of each fold, sorted; `random` or `region`."""
    if kind == "random":
        return random_folds(basins)
    return region_folds(basins, regions_of(data, basins))


def random_folds(basins: Sequence[str], count: int = COUNT) -> list[list[str]]:
    """Folds of nearly equal size, the same for the same basins.

    >>> random_folds(["a", "b", "c", "d", "e"], count=2)
    [['a', 'c', 'd'], ['b', 'e']]
    """
    order = sorted(basins)
    random.Random(0).shuffle(order)
    return [sorted(order[fold::count]) for fold in range(count)]


def region_folds(basins: Sequence[str], regions: Mapping[str, str], count: int = COUNT) -> list[list[str]]:
    """Folds of whole regions; those with neighbouring numbers, which are neighbours, stay together.

    A region belongs to the fold in which the middle of its basins lies.

    >>> region_folds(["a", "b", "c", "d"], {"a": "01", "b": "01", "c": "02", "d": "03"}, count=2)
    [['a', 'b'], ['c', 'd']]
    """
    order = sorted(basins, key=lambda basin: (regions[basin], basin))
    folds: list[list[str]] = [[] for _ in range(count)]
    before = 0
    for _, group in groupby(order, key=regions.__getitem__):
        members = list(group)
        middle = before + len(members) / 2
        folds[min(int(count * middle / len(order)), count - 1)] += members
        before += len(members)
    return folds


def regions_of(data: Path, basins: Sequence[str]) -> dict[str, str]:
    """The hydrological unit of each basin, two digits: the folder of its file of flow in CAMELS-US."""
    root = root_of(data)
    files = [] if root is None else (root / "usgs_streamflow").glob("*/*_streamflow_qc.txt")
    known = {file.name[:8]: file.parent.name for file in files}
    missing = [basin for basin in basins if basin not in known]
    if missing:
        raise DataError(f"{data} has no file of flow for {missing[0]}, whose folder names its region.")
    return {basin: known[basin] for basin in basins}
