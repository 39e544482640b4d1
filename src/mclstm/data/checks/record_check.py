"""One column over its whole record: totals that only grow, odd peaks, and units that change on the way."""

from collections.abc import Iterator

import numpy as np

from mclstm.data.checks.sentinels import sound
from mclstm.data.columns import day
from mclstm.data.findings import WARNING, Finding
from mclstm.data.site_tables import Roles, Table

__all__ = ["record_findings"]

DAY = 86_400_000_000_000  # nanoseconds
YEAR = 365 * DAY
FEWEST = 100  # values, to say anything about their distribution
RISING = 0.98  # share of changes that rise in a running total
PEAK = 20.0  # times the next largest value
MARK, REPEATED = 5.0, 5  # the same for a value that comes again so often
DRY, LONGER = 100, 4.0  # steps without mass, and times the longest other such spell
SCALE = {"mass": 5.0, "target": 20.0}  # by which the usual amount may differ between parts of a record
JUMP = 15.0  # times the usual change
STUCK = {"mass": 20, "target": 120}  # equal values in a row; under ice, flow is often estimated for weeks


def record_findings(table: Table, roles: Roles) -> Iterator[Finding]:
    """At most one finding for each column that has a role."""
    for name, column in table.values.items():
        role, values = roles.of(name), sound(column)
        known = np.flatnonzero(np.isfinite(values))
        if role not in ("mass", "aux", "target") or len(known) < FEWEST:
            continue
        checks = (
            (_shifted,) if role == "aux" else (_running_total, _peak, _negative_mark, _rescaled, _stuck, _dry)
        )
        suspicions = (check(values[known], table.times.asi8[known], role) for check in checks)
        first = next((suspicion for suspicion in suspicions if suspicion is not None), None)
        if first is not None:
            row, what, remedy = first
            moment = day(table.times[known[row]])
            yield Finding(WARNING, "record", what, remedy, table.file, table.site, name, moment)


Suspicion = tuple[int, str, str] | None  # the first row concerned, what it is, what to do


def _running_total(values: np.ndarray, times: np.ndarray, role: str) -> Suspicion:
    """Totals of the whole record, or of each day: a fall at midnight does not count."""
    days = times // DAY
    changes = np.diff(values)[days[1:] == days[:-1]] if (days[1:] == days[:-1]).any() else np.diff(values)
    moved = changes[changes != 0]
    if len(moved) < FEWEST / 2 or (moved > 0).mean() < RISING:
        return None
    return 0, "it almost never falls: it looks like a running total", "Give the amount of each step instead"


def _peak(values: np.ndarray, _: np.ndarray, role: str) -> Suspicion:
    """A value far above all others: a lost decimal point or, if it comes again, a mark for missing."""
    if (values > 0).sum() < FEWEST:
        return None
    distinct = np.unique(values[values > 0])[-20:]
    gaps = distinct[1:] / distinct[:-1]
    at = int(np.argmax(gaps)) if len(gaps) else 0
    above = np.flatnonzero(values > distinct[at])
    again = len(above) >= REPEATED and at == len(gaps) - 1
    if not len(gaps) or gaps[at] < (MARK if again else PEAK):
        return None
    if again:
        return _mark(distinct[-1], above)
    what = f"the largest value, {distinct[-1]:g}, is {gaps[at]:.3g} times the usual largest"
    return int(above[0]), what, "Correct it: a decimal point may be lost"


def _negative_mark(values: np.ndarray, _: np.ndarray, role: str) -> Suspicion:
    """One negative number, again and again, where flow runs only one way."""
    below = np.flatnonzero(values < 0)
    if len(below) < REPEATED or np.ptp(values[below]) > 0:
        return None
    return _mark(values[below[0]], below)


def _mark(value: float, rows: np.ndarray) -> Suspicion:
    what = f"it is {value:g} on {len(rows)} steps and never near it: that probably stands for missing"
    return int(rows[0]), what, f"Declare it with --missing {value:g}, or correct the values"


def _dry(values: np.ndarray, _: np.ndarray, role: str) -> Suspicion:
    """Zeros for much longer than ever else: missing values may have been filled with them."""
    wet = np.concatenate([[-1], np.flatnonzero(values != 0), [len(values)]])
    lengths = np.diff(wet) - 1
    longest = int(np.argmax(lengths))
    others = np.delete(lengths, longest)
    if (
        role != "mass"
        or lengths[longest] < DRY
        or not len(others)
        or lengths[longest] < LONGER * others.max()
    ):
        return None
    what = f"it is 0 on {lengths[longest]} steps in a row, and never else on more than {others.max()}"
    remedy = "Leave the cells empty if nothing was measured, and declare --missing-mass interpolate"
    return int(wet[longest] + 1), what, remedy


def _rescaled(values: np.ndarray, times: np.ndarray, role: str) -> Suspicion:
    """Amounts of one part of the record that are many times those of the other."""
    if times[-1] - times[0] < 4 * YEAR:
        return None
    worst, at = 1.0, 0
    for share in (0.25, 0.5, 0.75):
        cut = int(np.searchsorted(times, times[0] + share * (times[-1] - times[0])))
        parts = [part[part > 0] for part in (values[:cut], values[cut:])]
        if min(map(len, parts)) >= FEWEST / 2:
            before, after = (float(np.median(part)) for part in parts)
            if max(before / after, after / before) > max(worst, 1 / worst):
                worst, at = after / before, cut
    if max(worst, 1 / worst) < SCALE[role]:
        return None
    return at, f"its usual value is {worst:.3g} times that before", "Bring the record to one unit"


def _stuck(values: np.ndarray, _: np.ndarray, role: str) -> Suspicion:
    breaks = np.flatnonzero(np.diff(values)) + 1
    starts = np.concatenate([[0], breaks])
    lengths = np.diff(np.concatenate([starts, [len(values)]]))
    # Zeros are dry spells, and whole numbers are counts, which may well repeat.
    lengths = np.where(values[starts] % 1 == 0, 0, lengths)
    longest = int(np.argmax(lengths))
    if lengths[longest] < STUCK[role] or lengths[longest] == len(values):
        return None
    what = f"it is {values[starts[longest]]:g} for {lengths[longest]} steps in a row"
    return int(starts[longest]), what, "Check whether longer means were spread over steps, or a sensor stuck"


def _shifted(values: np.ndarray, _: np.ndarray, role: str) -> Suspicion:
    """A level that jumps and stays: degrees Celsius, then kelvin."""
    changes = np.abs(np.diff(values))
    usual, at = float(np.quantile(changes, 0.99)), int(np.argmax(changes)) + 1
    if usual == 0 or changes[at - 1] < JUMP * usual or min(at, len(values) - at) < 10:
        return None
    step = float(np.median(values[at:]) - np.median(values[:at]))
    if abs(step) < changes[at - 1] / 2:
        return None
    return at, f"its level changes by {step:.4g} and stays there", "Bring the record to one unit"
