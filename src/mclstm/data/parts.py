"""A series in parts, some sites at a time: each part is read and checked once, then kept on the disk."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, overload

import numpy as np
import pandas as pd
import xarray as xr

from mclstm.data.scratch import Place, Scratch
from mclstm.data.series import covered, joint_axis, names, times
from mclstm.data.site_tables import Table
from mclstm.errors import DataError

__all__ = ["PART", "Parts", "blocks", "with_inputs"]

PART = 64  # sites; as many as a simulation runs together


class Kept(NamedTuple):
    """A part on the disk: its dates, sites and attributes, and where its variables lie."""

    outline: xr.Dataset
    variables: dict[str, tuple[tuple[str, ...], Place, dict[str, str]]]  # dimensions, place, attributes


class Parts(Sequence[xr.Dataset]):
    """The parts of a series by number, all on one time axis, as reading them together would give them."""

    def __init__(
        self, parts: Iterable[xr.Dataset], finished: Callable[[xr.Dataset], xr.Dataset] = lambda part: part
    ) -> None:
        """Keep checked parts; `finished` adds the computed columns to a part on the common axis."""
        self._scratch, self._finished = Scratch(), finished
        self._kept = [self._keep(part) for part in parts]
        outlines = [kept.outline for kept in self._kept]
        time, step = joint_axis([Table("", "", times(outline), {}) for outline in outlines])
        sites = np.concatenate([outline["site"].to_numpy() for outline in outlines])
        self._names = _common_names(self._kept)
        self.outline = xr.Dataset(coords={"site": ("site", sites), "time": time}, attrs={"step": step or ""})

    def _keep(self, part: xr.Dataset) -> Kept:
        variables = {
            str(name): (
                tuple(map(str, item.dims)),
                self._scratch.append(item.to_numpy()),
                {str(key): str(value) for key, value in item.attrs.items()},
            )
            for name, item in part.data_vars.items()
        }
        return Kept(part.drop_vars(list(part.data_vars)), variables)

    def __len__(self) -> int:
        return len(self._kept)

    @overload
    def __getitem__(self, at: int) -> xr.Dataset: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[xr.Dataset]: ...
    def __getitem__(self, at: int | slice) -> xr.Dataset | Sequence[xr.Dataset]:
        if isinstance(at, slice):
            return [self[row] for row in range(*at.indices(len(self)))]
        outline, variables = self._kept[at]
        part = outline.assign(
            {
                name: (dims, self._scratch.read(place), attrs)
                for name, (dims, place, attrs) in variables.items()
                if name in self._names
            }
        )
        return self._finished(on_axis(part, times(self.outline)).assign_attrs(self.outline.attrs))


def on_axis(part: xr.Dataset, time: pd.DatetimeIndex) -> xr.Dataset:
    """The part with every date of the axis; where it had none, inputs are NaN and nothing is filled."""
    if times(part).equals(time):
        return part
    return part.reindex(time=time, fill_value=dict.fromkeys(names(part, "filled"), False))


def _site_with_inputs(part: xr.Dataset, steps: slice) -> xr.Dataset | None:
    """The first site of a part that has inputs at any of these steps."""
    known = covered(part).to_numpy()[:, steps].any(1)
    return part.isel(site=[int(known.argmax())]) if known.any() else None


def with_inputs(parts: Sequence[xr.Dataset], steps: slice) -> Iterator[tuple[xr.Dataset, int]]:
    """Each part, and how many sites of another lead it: one where none of its own has inputs at these steps.

    A part without inputs cannot be simulated alone: what a model gives has no shape then.
    """
    spare = next((one for part in parts if (one := _site_with_inputs(part, steps)) is not None), None)
    for part in parts:
        if spare is None or _site_with_inputs(part, steps) is not None:
            yield part, 0
        else:
            both = xr.concat([spare, part], "site", data_vars="minimal", coords="minimal", compat="override",
                             join="override")  # fmt: skip
            yield both, 1


def blocks(sites: Sequence[str], size: int = PART) -> list[Sequence[str]]:
    """The sites of each part.

    >>> blocks(["a", "b", "c"], size=2)
    [['a', 'b'], ['c']]
    """
    return [sites[at : at + size] for at in range(0, len(sites), size)]


def _common_names(parts: Sequence[Kept]) -> list[str]:
    """The variables of all parts; targets may be absent from some. A unit must be the same in all."""
    first = parts[0].variables
    common = [name for name in first if all(name in part.variables for part in parts)]
    for name in common:
        units = list(dict.fromkeys(part.variables[name][2].get("units", "") for part in parts))
        if len(units) > 1:
            raise DataError(
                f"{name} is in {units[0] or 'no stated unit'} at some sites and in "
                f"{units[1] or 'no stated unit'} at others. Bring all sites to one unit."
            )
    return common
