"""A first config for data: a commented text that loads, trains and does not learn a short record by heart."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import yaml
from numpy.typing import NDArray

from mclstm.data.clock import PERIODS, STEPS, step_length
from mclstm.data.lengths import window_lengths
from mclstm.data.units import parse
from mclstm.errors import DataError
from mclstm.training.order import batches_per_epoch

__all__ = ["Split", "calendar", "data_section", "draft", "split"]

SHARES = (0.6, 0.8)  # of the observed record: where validation begins, and where the test
NEAR = 0.05  # of the record: how far a period may be moved to begin with a year or a month
FEWEST = 40  # steps to split
LONG = 3650  # observed steps of training from which a model of 16 cells is not too large
UPDATES, BATCH, BETWEEN = 300, 32, 10  # updates in all; windows of one; updates between two validations
UNKNOWN = "not stated: mass and target must be in one unit. Declare both, for example {rain: mm/day}"

CONFIG = """\
# A first config for {file}, written by mclstm init. What was guessed says so: check it.
# Next: mclstm check {config}, then mclstm train {config}. All keys: mclstm config {config}.
name: {name}
data:
{data}
periods:             # first and last date; the test years are never seen in training
  train: {train}
  validation: {validation}  # chooses the weights to keep, and shows whether the model has overfitted
  test: {test}
model:
  name: mclstm
  hidden_size: {cells}     # stores, one of them for losses such as evaporation; more need a longer record
  gates_see: [aux, state, mass]
training:
  length: {length}        # steps of a window (a step is {step})
  warmup: {warmup}        # its first steps, which fill the stores and are not scored
  batch_size: {batch}
  updates: {updates}
  learning_rate: 0.02
  schedule: {{{later}: 0.005}}
  schedule_by: update
  loss: nse
  validate_every: {every}   # epochs: about every {between} updates
  early_stopping: 10  # validations without a better one
"""


class Split(NamedTuple):
    """First and last date of each period, and the steps of training."""

    train: list[str]
    validation: list[str]
    test: list[str]
    training: pd.DatetimeIndex


def split(time: pd.DatetimeIndex, observed: NDArray[np.bool_]) -> Split:
    """Three periods, about 60, 20 and 20 of a hundred steps between the first and the last observation.

    observed: (time,) whether any target is known

    >>> days = pd.date_range("2001-01-01", "2010-12-31")
    >>> split(days, np.ones(len(days), dtype=bool)).validation
    ['2007-01-01', '2008-12-31']
    """
    known = np.flatnonzero(observed)
    if known.size < FEWEST:
        raise DataError(f"{known.size} observed steps are too few for training, validation and test.")
    inside = time[known[0] : known[-1] + 1]
    first, second = (_whole(inside, int(len(inside) * share)) for share in SHARES)
    parts = inside[:first], inside[first:second], inside[second:]
    # The date alone would take in the whole day, and with it the first steps of the next period.
    form = "%Y-%m-%d" if step_length(time) % PERIODS["day"] == 0 else "%Y-%m-%dT%H:%M:%S"
    train, validation, test = ([f"{part[at]:{form}}" for at in (0, -1)] for part in parts)
    return Split(train, validation, test, parts[0])


def _whole(time: pd.DatetimeIndex, at: int) -> int:
    """The step near `at` with which a year begins, or else a month, where one does."""
    for begins in (time.is_year_start, time.is_month_start):
        steps = np.flatnonzero(begins & (time == time.normalize()))
        near = steps[np.abs(steps - at) <= NEAR * len(time)]
        if near.size:
            return int(near[np.argmin(np.abs(near - at))])
    return at


def data_section(
    path: str,
    roles: Mapping[str, tuple[str, ...]],
    units: Mapping[str, str],
    form: Mapping[str, Any],
    area: float | str | None,
) -> dict[str, Any]:
    """The section `data`; form: other keys of it that describe the files."""
    section: dict[str, Any] = {"path": path, **form}
    section |= {role: list(names) for role, names in roles.items() if names}
    section |= {"units": dict(units)} if units else {}
    section |= {} if area is None else {"area": area}
    mass, targets = ([units[name] for name in roles[role] if units.get(name)] for role in ("mass", "target"))
    if mass:
        other = {name: mass[0] for name in roles["mass"] if parse(units.get(name, mass[0])) != parse(mass[0])}
        section |= {"convert": other} if other else {}
        section |= {"target_unit": mass[0]} if any(parse(unit) != parse(mass[0]) for unit in targets) else {}
    return section


def calendar(time: pd.DatetimeIndex) -> dict[str, Any]:
    """Which computed auxiliaries the steps of the data can resolve: the season, the time of day."""
    step, years = step_length(time), (time[-1] - time[0]) / pd.Timedelta(days=365)
    waves = min(2, (PERIODS["day"] // step - 1) // 2) if step else 0
    keys: dict[str, Any] = {"day_of_year": True} if years >= 1 and step else {}
    return keys | ({"time_of_day": int(waves)} if waves > 0 else {})


def draft(config: Path, name: str, data: dict[str, Any], dates: Split, sites: int, step: str) -> str:
    """The text of the config; config: its path, for the comments."""
    lengths = window_lengths(dates.training)
    count = sites * max(1, -(-(len(dates.training) - lengths.warmup) // (lengths.length - lengths.warmup)))
    per_epoch = batches_per_epoch(count, BATCH)
    updates = max(UPDATES, 10 * per_epoch)
    return CONFIG.format(
        file=data["path"], config=config, name=name, data=_data_lines(data),
        step=STEPS.get(step, step) or "not regular",
        cells=8 if sites * len(dates.training) < LONG else 16 if sites < 20 else 32,
        train=_flow(dates.train), validation=_flow(dates.validation), test=_flow(dates.test),
        batch=BATCH, updates=updates, later=updates * 2 // 3, between=max(BETWEEN, per_epoch),
        every=max(1, BETWEEN // per_epoch), **lengths._asdict(),
    )  # fmt: skip


def _data_lines(data: dict[str, Any]) -> str:
    """One line for each key, with what was guessed and why."""
    notes = {
        "path": "from the folder of this config",
        "mass": "guessed: what flows in; conserved, never scaled",
        "aux": "guessed: what steers the gates; standardised",
        "target": "guessed: what flows out and is predicted",
        "units": "guessed from names and files; wrong units break the balance",
        "area": "km2; turns a volume into a depth",
        "target_unit": "the target is brought to the unit of the mass",
        "date_format": "guessed",
        "decimal": "guessed",
        "missing_values": "guessed: numbers that stand for missing",
        "day_of_year": "the season, as sine and cosine",
        "time_of_day": "the time of day, as sines and cosines",
    }
    lines = [f"  {key}: {_flow(value)}" for key, value in data.items()]
    width = min(44, max(map(len, lines)))
    noted = [f"{line:<{width}}  # {notes[key]}" if key in notes else line
             for key, line in zip(data, lines, strict=True)]  # fmt: skip
    return "\n".join([*noted, *([] if "units" in data else [f"  # units: {UNKNOWN}"])])


def _flow(value: Any) -> str:
    """A value in one line of YAML."""
    text: str = yaml.safe_dump(value, default_flow_style=True, width=10**6, allow_unicode=True)
    return text.removesuffix("...\n").strip()
