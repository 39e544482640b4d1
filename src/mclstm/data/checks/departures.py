"""New data beside the data of training: swapped columns, other units, attributes that training never saw."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, combinations
from math import log, sqrt
from typing import NamedTuple

import numpy as np
import xarray as xr

from mclstm.data.checks.likely_mistakes import likely_factor
from mclstm.data.findings import WARNING, Finding
from mclstm.data.scaling import Moment
from mclstm.data.series import names

__all__ = ["departures", "trained_ratio"]

Ranges = Mapping[str, tuple[float, float]]  # lowest and highest value in training, by column
ENOUGH = 30  # values, to compare deviations
MOST_COLUMNS = 30  # compared with each other
SCALED = 6.0  # a factor between means and between deviations that no other climate explains
SWAPPED, FITTING = 1.2, 0.6  # how much better, and how well, two columns must fit each other's moments
FREEZING = 273.15
BEYOND = 0.1  # of the range of training: attributes farther outside are named


class Sample(NamedTuple):
    """What the new values of a column are like."""

    mean: float
    std: float
    low: float
    high: float
    count: int  # type: ignore[assignment]  # hides tuple.count


def departures(
    series: xr.Dataset, moments: Mapping[str, Moment], ranges: Ranges, others: Iterable[xr.Dataset] = ()
) -> list[Finding]:
    """Findings, at most one for each column: what differs from training, and what it probably is.

    others: further sites of the same columns
    """
    samples: dict[str, Sample] = {}
    attributes = []
    for part in chain([series], others):
        attributes.append(part[names(part, "static")])
        for name, sample in _samples(part).items():
            if name in moments:
                samples[name] = _pooled(samples[name], sample) if name in samples else sample
    pairs = list(_swapped(samples, moments))
    findings = [_exchange(series, *pair) for pair in pairs]
    swapped = {name for pair in pairs for name in pair}
    for name, sample in samples.items():
        cause = "" if name in swapped else _unlike(sample, moments[name], ranges.get(name))
        if cause:
            what = f"its mean is {sample.mean:.4g}, that of the training data {moments[name].mean:.4g}"
            remedy = f"Correct the values, or declare their unit with --unit {name}=UNIT"
            place = _source(series, name), "", name
            findings.append(Finding(WARNING, "departure", f"{what}: {cause}", remedy, *place))
    return findings + list(_attributes(xr.concat(attributes, "site", data_vars="all"), ranges))


def _samples(part: xr.Dataset) -> dict[str, Sample]:
    samples = {}
    for name in [*names(part, "mass"), *names(part, "aux")]:
        values = part[name].to_numpy()
        known = values[np.isfinite(values)]
        if known.size:
            extremes = float(known.min()), float(known.max())
            samples[name] = Sample(float(known.mean()), float(known.std()), *extremes, known.size)
    return samples


def _pooled(first: Sample, second: Sample) -> Sample:
    """What the values of both together are like.

    >>> _pooled(Sample(1.0, 0.0, 1.0, 1.0, 1), Sample(3.0, 0.0, 3.0, 3.0, 1))
    Sample(mean=2.0, std=1.0, low=1.0, high=3.0, count=2)
    """
    count = first.count + second.count
    share = second.count / count
    mean = first.mean + share * (second.mean - first.mean)
    within = (1 - share) * first.std**2 + share * second.std**2
    spread = sqrt(within + share * (1 - share) * (second.mean - first.mean) ** 2)
    return Sample(mean, spread, min(first.low, second.low), max(first.high, second.high), count)


def trained_ratio(mass: list[str], target: list[str], moments: Mapping[str, Moment]) -> float | None:
    """Outflow over inflow in training, from the means of all columns."""
    inflow, outflow = (sum(moments[name].mean for name in columns) for columns in (mass, target))
    return outflow / inflow if inflow > 0 and outflow > 0 else None


def _exchange(series: xr.Dataset, first: str, second: str) -> Finding:
    what = f"it looks like {second} of the training data, and {second} like {first}"
    return Finding(WARNING, "departure", what, "Exchange the two columns", _source(series, first), "", first)


def _swapped(samples: Mapping[str, Sample], moments: Mapping[str, Moment]) -> Iterator[tuple[str, str]]:
    """Pairs of columns that fit each other's moments better than their own."""
    for first, second in combinations(list(samples)[:MOST_COLUMNS], 2):
        one, two = samples[first], samples[second]
        if min(one.count, two.count) < ENOUGH:
            continue
        straight = _distance(one, moments[first]) + _distance(two, moments[second])
        crossed = _distance(one, moments[second]) + _distance(two, moments[first])
        if crossed < FITTING and straight > crossed + SWAPPED:
            yield first, second


def _distance(sample: Sample, moment: Moment) -> float:
    spread = abs(log(max(sample.std, 1e-12) / moment.std))
    return abs(sample.mean - moment.mean) / moment.std + spread


def _unlike(sample: Sample, moment: Moment, span: tuple[float, float] | None) -> str:
    """What explains values that are far from those of training; empty where they are not."""
    shift = sample.mean - moment.mean
    for sign, words in ((1, "kelvin instead of degC"), (-1, "degC instead of kelvin")):
        if abs(shift - sign * FREEZING) < max(3 * moment.std, 30) and abs(shift) > 5 * moment.std:
            return f"probably {words}"
    many, spread = sample.count >= ENOUGH, sample.std / moment.std
    if many and abs(shift) > 2 * moment.std:
        if abs((sample.mean - 32) / 1.8 - moment.mean) < moment.std and 1.4 < spread < 2.3:
            return "probably degF instead of degC"
        if abs(sample.mean * 1.8 + 32 - moment.mean) < moment.std and 1 / 2.3 < spread < 1 / 1.4:
            return "probably degC instead of degF"
    ratio = sample.mean / moment.mean if moment.mean else 0.0
    if many and ratio > 0 and spread > 0 and abs(log(ratio)) > log(SCALED) and abs(log(spread)) > log(SCALED):
        return likely_factor(ratio)
    if span is not None and span[0] < span[1] and (sample.low > span[1] or sample.high < span[0]):
        return f"none of its values lies between {span[0]:g} and {span[1]:g}, as all did in training"
    return ""


def _attributes(series: xr.Dataset, ranges: Ranges) -> Iterator[Finding]:
    for name in names(series, "static"):
        if name not in ranges:
            continue
        low, high = ranges[name]
        values, margin = series[name].to_numpy(), BEYOND * max(high - low, abs(high) * BEYOND)
        outside = (values < low - margin) | (values > high + margin)
        if outside.any():
            site = str(series["site"].to_numpy()[int(np.argmax(outside))])
            what = f"{values[outside][0]:g} is outside the {low:g} to {high:g} of the training sites"
            remedy = "Check its unit; if it is right, the model extrapolates there"
            count = int(outside.sum())
            yield Finding(WARNING, "departure", what, remedy, _source(series, name), site, name, count=count)


def _source(series: xr.Dataset, name: str) -> str:
    return str(series[name].attrs.get("source", ""))
