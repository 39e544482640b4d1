"""How old the mass is when it leaves, and which share of it is lost: traces of a model, site by site.

Ages are those of a model with mixed cells, which was fitted to flows and not to tracers.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor, nn

from mclstm.data.clock import PERIODS, step_length
from mclstm.data.series import names, times
from mclstm.data.windows import Tensors
from mclstm.errors import ConfigError
from mclstm.evaluation.prediction_dataset import outflow, outlet_names
from mclstm.evaluation.simulate import site_batches
from mclstm.models.mass_model import MassModel
from mclstm.nn.trace import Trace

__all__ = ["AgeClasses", "Ages", "age_classes", "ages", "exits", "fates", "require_conserving", "trace_ages"]

Floats = NDArray[np.float64]
DAY = PERIODS["day"]
YOUNG = 70 * DAY  # 2.3 months, below which hydrologists call water young (Kirchner 2016)
# The ages at which classes end, in days, by the longest step they are for. The last is the oldest followed.
ENDS = {
    1 / 48: (1 / 24, 0.25, 1.0),
    0.5: (1.0, 7.0, 30.0),
    7.0: (7.0, 30.0, 365.0),
    366.0: (90.0, 365.0, 1825.0),
}
START = "in store at the start"


class AgeClasses(NamedTuple):
    """Ages in steps at which classes end, and below which mass is young."""

    ends: tuple[int, ...]
    young: int
    step: float  # days

    @property
    def labels(self) -> list[str]:
        """The names of the classes, the last for what was there at the start."""
        days = [_duration(end * self.step) for end in self.ends]
        between = [f"{low} to {high}" for low, high in itertools.pairwise(days)]
        return [f"below {days[0]}", *between, f"{days[-1]} or more", START]


class Ages(NamedTuple):
    """The outflow of N sequences by age, amounts in the unit of the mass and ages in steps."""

    classes: Floats  # (T, N, O, classes)
    median: Floats  # (T, N, O), NaN where it is above the longest age followed, or nothing flows
    young: Floats  # (T, N, O), share below the young age, NaN where nothing flows
    transit: Floats  # (N, O, longest + 2), the sum over the steps that count, by age
    stored: Floats  # (N, longest + 2), the stores after the last step by age


def age_classes(time: pd.DatetimeIndex, longest: float | None = None) -> AgeClasses:
    """Classes that fit the step of the data; longest: days that are followed, by default a year of days.

    >>> age_classes(pd.date_range("2001-01-01", periods=9)).labels[:3]
    ['below 7 days', '7 days to 30 days', '30 days to 365 days']
    """
    step = (step_length(time) or int(np.median(np.diff(time.as_unit("ns").asi8)))) / DAY
    ends: tuple[float, ...] = next((ends for most, ends in ENDS.items() if step <= most), ENDS[366.0])
    if longest is not None:
        ends = (*(end for end in ends if end < longest), longest)
    whole = tuple(dict.fromkeys(max(1, round(end / step)) for end in ends))
    young = round(YOUNG / DAY / step)
    return AgeClasses(whole, young if 0 < young <= whole[-1] else whole[0], step)


def _duration(days: float) -> str:
    if days >= 1:
        return f"{days:g} day" + ("s" if days > 1 else "")
    minutes = round(days * 1440)
    return f"{minutes} minutes" if minutes % 60 else f"{minutes // 60} hour" + ("s" if minutes > 60 else "")


def require_conserving(model: nn.Module) -> MassModel:
    """The model, if all of its mass leaves through its outlets or is stored; else it cannot be traced."""
    if isinstance(model, MassModel) and model.conserving and model.head.conserving:
        return model
    raise ConfigError(
        "this model does not conserve mass from its inputs to its outlets, so its mass cannot be traced. "
        "Trace an mclstm or hybrid with head: sum or mcfc and without input_scaling."
    )


def exits(model: MassModel) -> Tensor:
    """Which share of each cell's outflow leaves through which outlet, (K, O), named as `outlet_names`.

    >>> from mclstm.models.mass_model import build_mass
    >>> from mclstm.models.output import Sizes
    >>> exits(build_mass(Sizes(1, 0, 0, ["flow"]), None, hidden_size=3)).tolist()
    [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]
    """
    with torch.no_grad():
        model = require_conserving(model)
        each = torch.eye(model.layer.gates.hidden_size).unsqueeze(0)  # one unit from one cell
        return outflow(model, model.head(each), each).squeeze(0)


@torch.no_grad()
def ages(traces: Sequence[Trace], shares: Sequence[Tensor], classes: AgeClasses, skipped: int = 0) -> Ages:
    """The outflow by age; the mean over the members of an ensemble, one trace each.

    shares: (K, O) of each member, see `exits` · skipped: first steps that `transit` leaves out
    """
    longest, by_part = classes.ends[-1], []
    ends = torch.tensor([*(end - 1 for end in classes.ends), longest, longest + 1])
    transit, stored, before = torch.zeros(()), torch.zeros(()), 0
    members = [trace.age_parts(longest, share) for trace, share in zip(traces, shares, strict=True)]
    for parts in zip(*members, strict=True):
        flows = torch.stack([flow for flow, _ in parts]).mean(0).transpose(-2, -1)  # (T', N, O, ages)
        stored = torch.stack([cells.sum(-1) for _, cells in parts]).mean(0)
        younger = flows.cumsum(-1)
        total = younger[..., -1]
        half = (younger >= 0.5 * total.unsqueeze(-1)).to(torch.uint8).argmax(-1).double()
        unknown = (total <= 0) | (half >= longest)
        by_part.append((
            younger[..., ends].diff(dim=-1, prepend=torch.zeros_like(total).unsqueeze(-1)),
            half.masked_fill(unknown, torch.nan),
            (younger[..., classes.young - 1] / total).masked_fill(total <= 0, torch.nan),
        ))  # fmt: skip
        transit = transit + flows[max(0, skipped - before) :].sum(0)
        before += len(flows)
    by_class, median, young = (torch.cat(column).numpy() for column in zip(*by_part, strict=True))
    return Ages(by_class, median, young, transit.numpy(), stored.numpy())


@torch.no_grad()
def fates(traces: Sequence[Trace], shares: Sequence[Tensor]) -> Floats:
    """What became of each mass input and of the start: (N, M + 1, O + 1), the last column is still stored."""
    total = torch.zeros(())
    for trace, share in zip(traces, shares, strict=True):
        tags = torch.arange(trace.masses).expand(trace.steps, -1)
        gone = stored = torch.zeros(())
        for flows, cells in trace.forward_parts(tags, share):
            gone, stored = gone + flows.sum(0), cells.sum(-1, keepdim=True)
        total = total + torch.cat([gone, stored], dim=-1) / len(traces)
    return np.asarray(total)


@torch.no_grad()
def trace_ages(
    models: Sequence[MassModel], data: Tensors, series: xr.Dataset, classes: AgeClasses, counted: int = 0
) -> xr.Dataset:
    """Age and fate of the mass of every site over the whole series; of several members the mean.

    Steps that a site does not cover are NaN. counted: the step from which on outflow counts in `transit`;
    before it the stores fill.
    """
    shares = [exits(model) for model in models]
    sites, steps, outlets = *data.covered.shape, len(outlet_names(models[0]))
    masses, many = len(names(series, "mass")), classes.ends[-1] + 2
    by_class = np.full((sites, steps, outlets, len(classes.labels)), np.nan)
    median, young = np.full((2, sites, steps, outlets), np.nan)
    transit, stored = np.full((sites, outlets, many), np.nan), np.full((sites, many), np.nan)
    fate = np.full((sites, masses + 1, outlets + 1), np.nan)
    for rows, first, after in site_batches(data.covered, 0, steps):
        x, a = (value[rows, first:after].transpose(0, 1) for value in (data.x, data.a))
        traces = [model.train(False).trace(x, a, data.static[rows]) for model in models]
        result = ages(traces, shares, classes, counted - first)
        for into, values in zip((by_class, median, young), result[:3], strict=True):
            into[rows, first:after] = values.swapaxes(0, 1)
        transit[rows], stored[rows], fate[rows] = result.transit, result.stored, fates(traces, shares)
    whole = Ages(by_class, median, young, transit, stored)
    return _named(whole, fate, outlet_names(models[0]), series, classes)


def _named(
    whole: Ages, fate: Floats, outlet: list[str], series: xr.Dataset, classes: AgeClasses
) -> xr.Dataset:
    """Ages and fates, all led by the sites, with names and units; fate: (sites, M + 1, O + 1)."""
    inputs, days = [*names(series, "mass"), START], {"units": "days"}
    young = {"young_days": classes.young * classes.step}
    unit = {"units": str(series[inputs[0]].attrs.get("units", ""))}
    return xr.Dataset(
        {
            "outflow_by_age": (("site", "time", "outlet", "age_class"), whole.classes, unit),
            "median_age": (("site", "time", "outlet"), whole.median * classes.step, days),
            "young_share": (("site", "time", "outlet"), whole.young, young),
            "transit": (("site", "outlet", "age"), whole.transit, unit),
            "stored_by_age": (("site", "age"), whole.stored, unit),
            "fate": (("site", "input", "exit"), fate, unit),
        },
        {
            "site": series["site"], "time": times(series), "outlet": outlet, "age_class": classes.labels,
            "age": ("age", np.arange(classes.ends[-1] + 2) * classes.step, days), "input": inputs,
            "exit": [*outlet, "still stored"],
        },
    )  # fmt: skip
