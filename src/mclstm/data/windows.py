"""Windows, gathered by index from contiguous tensors: there is no Python object per sample."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from mclstm.data.disk_tensor import DiskTensor
from mclstm.data.scaling import Moment, standardised
from mclstm.data.series import covered, names
from mclstm.errors import DataError

__all__ = [
    "Batch", "Scheme", "StoredTensors", "Tensors", "Windows", "gather", "span", "spans", "stacked", "stored",
    "tensors", "windows",
]  # fmt: skip

Scheme = Literal["last", "sequence"]
Span = tuple[int, int, NDArray[np.int64]]  # the first step, the step after the last, the sites
TOGETHER = 64  # sites whose steps are counted at once, to bound the memory


class Tensors(NamedTuple):
    """A series as contiguous tensors, sites first. Steps that a site does not cover are zero."""

    x: Tensor  # (sites, time, M) mass, in its own unit
    a: Tensor  # (sites, time, A) standardised
    static: Tensor  # (sites, S) standardised
    y: Tensor  # (sites, time, targets) NaN where not observed
    covered: NDArray[np.bool_]  # (sites, time)


class StoredTensors(NamedTuple):
    """The same on the disk, where there are more sites than memory holds."""

    x: DiskTensor  # (sites, time, M)
    a: DiskTensor  # (sites, time, A)
    static: Tensor  # (sites, S)
    y: DiskTensor  # (sites, time, targets)
    covered: NDArray[np.bool_]  # (sites, time)


class Windows(NamedTuple):
    """Where windows lie: the site and first step of each. The last `scored` of `length` steps count.

    All windows of a site are moved by one shift below `every`, another one in each epoch. A window that would
    leave its data lies at their end instead. Steps outside low ... high - 1 never count, nor do those that
    only this move added: an epoch scores every step of the period equally often.
    """

    site: NDArray[np.int64]  # (n,)
    start: NDArray[np.int64]  # (n,) without a shift; may lie before `first`
    first: NDArray[np.int64]  # (n,) the first step that has inputs
    low: NDArray[np.int64]  # (n,) the first step to score
    high: NDArray[np.int64]  # (n,) the step after the last to score
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

    def to(self, device: torch.device) -> "Batch":
        """The same on a device."""
        return Batch(*(value.to(device) for value in self))


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


def stored(parts: Iterable[xr.Dataset], moments: Mapping[str, Moment]) -> StoredTensors:
    """The parts of a series as float32 tensors on the disk."""
    (x, a, y), static, inside = (DiskTensor() for _ in range(3)), [], []
    for part in parts:
        rows = tensors(part, moments, torch.float32)
        for kept, values in ((x, rows.x), (a, rows.a), (y, rows.y)):
            kept.append(values)
        static.append(rows.static)
        inside.append(rows.covered)
    return StoredTensors(x, a, torch.cat(static), y, np.concatenate(inside))


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
    data: Tensors | StoredTensors,
    period: tuple[int, int],
    scheme: Scheme,
    length: int,
    warmup: int,
    stride: int | None = None,
) -> Windows:
    """All windows whose scored steps touch the period and may hold an observation.

    `last` scores one step per window, `sequence` all steps after the warm-up. Windows begin every `stride`
    steps, by default as many as are scored, so that an epoch scores a step once. The steps before the
    scored ones may lie before the period: only their inputs are used.
    """
    scored = 1 if scheme == "last" else length - warmup
    every = stride or scored
    parts = []
    for first, after, sites in _few(spans(data.covered)):
        observed = torch.isfinite(data.y[torch.from_numpy(sites)]).any(-1).numpy()
        low, high = max(period[0], first + length - scored), min(period[1], after)
        if high > low and high - length >= first:
            # From the first window whose last step is scored, to the last whose first scored step is.
            begins = np.arange(low - scored + 1, high, every, dtype=np.int64)
            row, column = np.nonzero(_any_between(observed, begins, begins + scored + every - 1, low, high))
            limits = (np.full(row.size, value) for value in (first, low, high))
            parts.append((sites[row], begins[column] + scored - length, *limits))
    if not sum(len(part[0]) for part in parts):
        raise DataError(
            f"no window of {length} steps with all inputs ends in the training period with an observation. "
            "Choose a smaller length, or a longer period."
        )
    site, start, begin, lowest, highest = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((start, site))
    columns = (site[order], start[order], begin[order], lowest[order], highest[order])
    return Windows(*columns, length, scored, every)


def spans(covered: NDArray[np.bool_]) -> Iterator[Span]:
    """Sites grouped by the steps they cover: the first step, the step after the last, and the sites."""
    groups: dict[tuple[int, int], list[int]] = {}
    for site in np.flatnonzero(covered.any(1)):
        steps = np.flatnonzero(covered[site])
        groups.setdefault((int(steps[0]), int(steps[-1]) + 1), []).append(int(site))
    for (first, after), sites in groups.items():
        yield first, after, np.array(sites, dtype=np.int64)


def _few(groups: Iterable[Span]) -> Iterator[Span]:
    """The same groups in pieces of at most `TOGETHER` sites."""
    for first, after, sites in groups:
        for at in range(0, len(sites), TOGETHER):
            yield first, after, sites[at : at + TOGETHER]


def _any_between(
    flags: NDArray[np.bool_], begin: NDArray[np.int64], end: NDArray[np.int64], low: int, high: int
) -> NDArray[np.bool_]:
    """Whether a flag is set at a step from begin to end - 1 that lies in low ... high - 1: (sites, n)."""
    total = np.concatenate([np.zeros((len(flags), 1), np.int64), flags.cumsum(1, dtype=np.int64)], axis=1)
    some: NDArray[np.bool_] = total[:, end.clip(low, high)] > total[:, begin.clip(low, high)]
    return some


def gather(
    data: Tensors | StoredTensors,
    where: Windows,
    chosen: NDArray[np.int64],  # (B,)
    shifts: NDArray[np.int64] | None = None,  # (sites,) below `where.every`
) -> Batch:
    """The chosen windows as one batch, moved by the shift of their site, if any; one read per tensor.

    y is NaN at steps that do not count, as where nothing was observed.
    """
    site, high = where.site[chosen], where.high[chosen]
    start = where.start[chosen] + (0 if shifts is None else shifts[site])
    first = np.clip(start, where.first[chosen], high - where.length)
    row, steps = torch.from_numpy(site), torch.from_numpy(first + np.arange(where.length)[:, np.newaxis])
    scored = steps[where.length - where.scored :]
    end = torch.from_numpy(start + where.length)
    begin = torch.maximum(end - where.scored, torch.from_numpy(where.low[chosen]))
    counts = (scored >= begin) & (scored < end)
    y = data.y[row, scored].masked_fill(~counts.unsqueeze(-1), torch.nan)
    return Batch(row, torch.from_numpy(first), data.x[row, steps], data.a[row, steps], data.static[row], y)


def stacked(batches: Sequence[Batch]) -> Batch:
    """One batch for each member of an ensemble, all of one size, as a batch that leads with E."""
    return Batch(*(torch.stack(column) for column in zip(*batches, strict=True)))
