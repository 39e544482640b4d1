"""Two columns of a site beside each other: outflow that leads inflow, columns exchanged or twice there."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from mclstm.data.checks.sentinels import sound
from mclstm.data.findings import WARNING, Finding
from mclstm.data.site_tables import Roles, Table

__all__ = ["pair_findings"]

FEWEST = 200  # steps
FARTHEST = 15  # steps of lead or lag
SMOOTHED = 31  # steps of the running mean that takes the season away
SURE = 12.0  # standard errors of a correlation; where snow melts, warm days before rain reach 10
UNRELATED = 3.0  # standard errors, for records of years
CLEARER = 1.3  # times the largest correlation with earlier inflow
SAME = 0.99999  # correlation of the target with its copy, in whatever unit
TOGETHER, ALIKE = 0.9, 1.5  # correlation, and ratio of totals, of two gauges of one rain
MOST_COLUMNS = 30  # compared with each other


def pair_findings(table: Table, roles: Roles, *, water: bool) -> Iterator[Finding]:
    """Findings about pairs of columns; water: whether mass and target are water, where flow follows rain."""
    columns = {name: sound(values) for name, values in table.values.items() if roles.of(name)}
    place = table.file, table.site
    yield from _copies(columns, roles, place)
    yield from _extremes(columns, place)
    mass, target = ([columns[name] for name in names if name in columns] for names in roles[::3])
    if not mass or not target or len(table.times) < FEWEST:
        return
    inflow, outflow = np.sum(mass, axis=0), np.sum(target, axis=0)
    if _zeros(inflow) < 0.01 and _zeros(outflow) > 0.3:
        what = f"it is 0 on {_zeros(outflow):.0%} of the steps, and the mass {roles.mass[0]} never"
        remedy = "Check whether --mass and --target are exchanged"
        yield Finding(WARNING, "order", what, remedy, *place, roles.target[0])
    elif water and np.nanmax(outflow) > 0:
        yield from _twice(columns, roles.mass, place)
        yield from _timing(inflow, outflow, roles, place)


def _zeros(values: np.ndarray) -> float:
    return float((values[np.isfinite(values)] == 0).mean()) if np.isfinite(values).any() else 0.0


def _twice(
    columns: dict[str, np.ndarray], mass: tuple[str, ...], place: tuple[str, str]
) -> Iterator[Finding]:
    """Two gauges of the same rain, which the model would add up."""
    for first, second in combinations([name for name in mass if name in columns], 2):
        both = np.isfinite(columns[first]) & np.isfinite(columns[second])
        a, b = columns[first][both], columns[second][both]
        if len(a) < FEWEST or not a.any() or not b.any() or not 1 / ALIKE < a.sum() / b.sum() < ALIKE:
            continue
        if (
            np.ptp(a) > 0
            and np.ptp(b) > 0
            and np.corrcoef(a, b)[0, 1] > TOGETHER
            and not np.array_equal(a, b)
        ):
            what = f"it falls with {first} and amounts to as much: the same mass may be counted twice"
            yield Finding(WARNING, "copy", what, "Keep one of them as --mass", *place, second)


def _timing(
    inflow: np.ndarray, outflow: np.ndarray, roles: Roles, place: tuple[str, str]
) -> Iterator[Finding]:
    level = np.log(np.maximum(outflow, 0) + 0.01 * np.nanmean(np.maximum(outflow, 0)))
    rises = np.maximum(np.diff(level, prepend=level[:1]), 0)  # in shares: a rise counts in dry times, too
    lags, correlations, steps = _correlations(np.sqrt(np.maximum(inflow, 0)), rises)
    if steps < FEWEST:
        return
    best = int(np.argmax(correlations))
    follows = float(correlations[lags >= 0].max())
    error = 1 / np.sqrt(steps)
    column = roles.target[0]
    if lags[best] < 0 and correlations[best] > max(SURE * error, CLEARER * follows):
        what = f"it rises {-lags[best]} steps before the mass {roles.mass[0]} falls"
        remedy = "Shift the dates of one of them: stamps may mark the end of a step, or another time zone"
        yield Finding(WARNING, "order", what, remedy, *place, column)
    elif steps > 1000 and follows < UNRELATED * error:
        what = f"it does not follow the mass {roles.mass[0]} at all"
        remedy = "Check that both are of the same place and years"
        yield Finding(WARNING, "order", what, remedy, *place, column)


def _correlations(inflow: np.ndarray, rises: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Lags, the correlation of the inflow with the rise of the outflow so many steps later, and the steps."""
    known = np.isfinite(inflow) & np.isfinite(rises)
    lags = np.arange(-FARTHEST, FARTHEST + 1)
    if known.sum() < FEWEST:
        return lags, np.zeros(len(lags)), 0
    x, y = (_without_season(np.where(known, values, values[known].mean())) for values in (inflow, rises))
    size = 2 ** int(np.ceil(np.log2(len(x) + FARTHEST)))
    product = np.fft.irfft(np.conj(np.fft.rfft(x, size)) * np.fft.rfft(y, size), size)
    scale = np.sqrt((x**2).sum() * (y**2).sum())
    return lags, product[lags] / scale if scale > 0 else np.zeros(len(lags)), int(known.sum())


def _without_season(values: np.ndarray) -> np.ndarray:
    padded = np.pad(values, SMOOTHED // 2, mode="reflect")
    return values - np.convolve(padded, np.full(SMOOTHED, 1 / SMOOTHED), mode="valid")


def _copies(columns: dict[str, np.ndarray], roles: Roles, place: tuple[str, str]) -> Iterator[Finding]:
    """Inputs that tell the target, and columns that are there twice."""
    for first, second in combinations(list(columns)[:MOST_COLUMNS], 2):
        both = np.isfinite(columns[first]) & np.isfinite(columns[second])
        a, b = columns[first][both], columns[second][both]
        if len(a) < FEWEST or np.ptp(a) == 0 or np.ptp(b) == 0:
            continue
        told = (roles.of(first) == "target") != (roles.of(second) == "target")
        if told and np.corrcoef(a, b)[0, 1] > SAME:
            what = f"it is {first} again: the model would be told what it is to predict"
            yield Finding(WARNING, "copy", what, "Leave it out of the inputs", *place, second)
        elif np.array_equal(a, b):
            yield Finding(WARNING, "copy", f"it is {first} again", "Leave one of them out", *place, second)


def _extremes(columns: dict[str, np.ndarray], place: tuple[str, str]) -> Iterator[Finding]:
    """Columns named as a maximum that lie below those named as the minimum."""
    for name, high in columns.items():
        other = name.lower().replace("max", "min")
        low = next((columns[key] for key in columns if key.lower() == other and other != name.lower()), None)
        if low is not None and np.mean(high < low) > 0.5:
            what = f"most of its values lie below those of {other}"
            yield Finding(WARNING, "order", what, "Exchange the two columns", *place, name)
