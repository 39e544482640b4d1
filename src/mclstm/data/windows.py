"""Windows, gathered by index from contiguous tensors: there is no Python object per sample."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from mclstm.data.scaling import Moment, standardised
from mclstm.data.series import covered, names
from mclstm.errors import DataError

__all__ = ["Batch", "Tensors", "Windows", "gather", "span", "spans", "stacked", "tensors", "windows"]

Scheme = Literal["last", "sequence"]


class Tensors(NamedTuple):
    """A series as contiguous tensors, sites first. Steps that a site does not cover are zero."""

    x: Tensor  # (sites, time, M) mass, in its own unit
    a: Tensor  # (sites, time, A) standardised
    static: Tensor  # (sites, S) standardised
    y: Tensor  # (sites, time, targets) NaN where not observed
    covered: NDArray[np.bool_]  # (sites, time)


class Windows(NamedTuple):
    """Where windows lie: the site and first step of each. The last `scored` of `length` steps count.

    A window may be moved by up to its `slack`, so that every epoch cuts the years at other days.
    """

    site: NDArray[np.int64]  # (n,)
    start: NDArray[np.int64]  # (n,)
    slack: NDArray[np.int64]  # (n,)
    length: int
    scored: int
    every: int  # steps between neighbours


class Batch(NamedTuple):
    """Some windows, time first; led by E where every member of an ensemble has its own."""

    site: Tensor  # (B,)
    start: Tensor  # (B,) first step of each window
    x: Tensor  # (length, B, M)
    a: Tensor  # (length, B, A)
    static: Tensor  # (B, S)
    y: Tensor  # (scored, B, targets)


def tensors(series: xr.Dataset, moments: Mapping[str, Moment], dtype: torch.dtype) -> Tensors:
    """A checked series as tensors: mass as it is, auxiliaries and statics standardised."""
    inside = covered(series).to_numpy()

    def columns_of(role: str, scale: bool) -> Tensor:
        columns = [series[name].to_numpy() for name in names(series, role)]
        if scale:
            pairs = zip(names(series, role), columns, strict=True)
            columns = [standardised(column, moments[name]) for name, column in pairs]
        shape = (series.sizes["site"],) if role == "static" else inside.shape
        return torch.tensor(np.stack(columns, -1) if columns else np.zeros((*shape, 0)), dtype=dtype)

    empty = torch.from_numpy(~inside).unsqueeze(-1)
    x, a = columns_of("mass", scale=False), columns_of("aux", scale=True)
    static, y = columns_of("static", scale=True), columns_of("target", scale=False)
    return Tensors(x.masked_fill(empty, 0.0), a.masked_fill(empty, 0.0), static, y, inside)


def span(series: xr.Dataset, period: tuple[str, str], what: str) -> tuple[int, int]:
    """The first step of a period and the step after its last; both dates belong to it."""
    time = series["time"].to_index()
    steps = time.slice_indexer(period[0], period[1])
    if steps.stop <= steps.start:
        raise DataError(
            f"the {what} period {period[0]} to {period[1]} holds no step; the data covers "
            f"{time[0]:%Y-%m-%d} to {time[-1]:%Y-%m-%d}. Change periods.{what}."
        )
    return int(steps.start), int(steps.stop)


def windows(
    data: Tensors,
    period: tuple[int, int],
    scheme: Scheme,
    length: int,
    warmup: int,
    stride: int | None = None,
) -> Windows:
    """All windows whose scored steps lie in the period and hold an observation.

    `last` scores one step per window, `sequence` all steps after the warm-up. Windows begin every `stride`
    steps, by default as many as are scored, so that an epoch scores a step about once. The steps before the
    scored ones may lie before the period: only their inputs are used.
    """
    scored = 1 if scheme == "last" else length - warmup
    every = stride or scored
    observed = torch.isfinite(data.y).any(-1).numpy()
    parts = []
    for first, after, sites in spans(data.covered):
        # First and last possible end of a window: it lies in the data, its scored steps in the period.
        lowest, highest = max(period[0] + scored, first + length), min(period[1], after)
        slack = max(0, min(every - 1, highest - lowest))
        ends = np.arange(lowest, highest + 1 - slack, every, dtype=np.int64)
        if ends.size:
            # One more window where the last one, moved as far as possible, does not reach the end.
            ends = ends if ends[-1] + slack == highest else np.append(ends, highest - slack)
            starts = ends - length
            seen = _running(observed[sites], scored + slack)[:, starts + length - scored] > 0
            row, column = np.nonzero(seen)
            parts.append((sites[row], starts[column], np.full(row.size, slack)))
    if not sum(len(site) for site, _, _ in parts):
        raise DataError(
            f"no window of {length} steps with all inputs ends in the training period with an observation. "
            "Choose a smaller length, or a longer period."
        )
    site, start, slacks = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((start, site))
    return Windows(site[order], start[order], slacks[order], length, scored, every)


def spans(covered: NDArray[np.bool_]) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
    """Sites grouped by the steps they cover: the first step, the step after the last, and the sites."""
    groups: dict[tuple[int, int], list[int]] = {}
    for site in np.flatnonzero(covered.any(1)):
        steps = np.flatnonzero(covered[site])
        groups.setdefault((int(steps[0]), int(steps[-1]) + 1), []).append(int(site))
    for (first, after), sites in groups.items():
        yield first, after, np.array(sites, dtype=np.int64)


def _running(flags: NDArray[np.bool_], width: int) -> NDArray[np.int64]:
    """The number of flags among the `width` steps from each step on: (sites, time - width + 1)."""
    total = np.concatenate([np.zeros((len(flags), 1), np.int64), flags.cumsum(1, dtype=np.int64)], axis=1)
    counted: NDArray[np.int64] = total[:, width:] - total[:, :-width]
    return counted


def gather(data: Tensors, where: Windows, chosen: NDArray[np.int64], shift: int = 0) -> Batch:
    """The chosen windows as one batch, each moved by `shift` within its slack; one read per tensor."""
    site = torch.from_numpy(where.site[chosen])
    first = torch.from_numpy(where.start[chosen] + shift % (where.slack[chosen] + 1))
    steps = first.unsqueeze(0) + torch.arange(where.length).unsqueeze(1)
    scored = steps[where.length - where.scored :]
    x, a, y = data.x[site, steps], data.a[site, steps], data.y[site, scored]
    return Batch(site, first, x, a, data.static[site], y)


def stacked(batches: Sequence[Batch]) -> Batch:
    """One batch for each member of an ensemble, all of one size, as a batch that leads with E."""
    return Batch(*(torch.stack(column) for column in zip(*batches, strict=True)))
