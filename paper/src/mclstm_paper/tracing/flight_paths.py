"""Traced flights beside the true ones: from which airport to which distance, and how long under way.

    python -m mclstm_paper.tracing.flight_paths examples/transport.yaml --seeds 3

The model learns from departures by airport and arrivals by distance alone. The data also hold the true
airport of every arrival, which no model sees: an exact check of what tracing recovers.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from mclstm import pipeline
from mclstm.config import load_config
from mclstm.config.load import anchored
from mclstm.data.flights import flights
from mclstm.data.sequences import sequences
from mclstm.data.series import names, times
from mclstm.data.windows import gather, span
from mclstm.explain.mass_ages import exits, require_conserving
from mclstm.explain.mass_paths import entry_to_exit
from mclstm.from_config import rhythm_of
from mclstm.run import Run
from mclstm_paper.tracing.trace_file import FOLDER, save_trace

__all__ = ["Paths", "compared", "main", "traced_paths", "true_paths"]

FILE = FOLDER / "flights.json"
Floats = NDArray[np.float64]


class Paths(NamedTuple):
    """Flights by airport (A) and distance (D)."""

    share: Floats  # (A, D) of each airport's flights, rows sum to one
    minutes: Floats  # (A,) mean time under way
    by_hour: Floats  # (24, A, D) arrivals by hour of the day


def true_paths(
    inlets: Sequence[str], outlets: Sequence[str], first: pd.Timestamp, last: pd.Timestamp
) -> Paths:
    """What the records say of some days.

    The mean time under way is the sum over steps of the flights under way, divided by the departures.
    """
    with np.load(flights(), allow_pickle=False) as file:
        table = pd.DataFrame({name: file[name] for name in file.files if name != "time"}, dtype=np.float64)
        table.index = pd.DatetimeIndex(file["time"])
    airports, bands = ([name.split("_")[1] for name in group] for group in (inlets, outlets))
    arrived = np.stack([[table[f"{a}_to_{d}"].to_numpy() for d in bands] for a in airports])  # (A, D, T)
    entered = np.stack([table[name].to_numpy() for name in inlets])  # (A, T)
    under_way = (entered - arrived.sum(1)).cumsum(-1)
    inside = (table.index >= first) & (table.index <= last)
    hours = table.index.hour.to_numpy()
    by_hour = np.stack([arrived[..., inside & (hours == hour)].sum(-1) for hour in range(24)])
    total = by_hour.sum(0)
    waits = under_way[:, inside].sum(-1) / entered[:, inside].sum(-1) * 10
    return Paths(total / total.sum(-1, keepdims=True), waits, by_hour)


@torch.no_grad()
def traced_paths(run: Run) -> Paths:
    """The same of a trained model, from the traces of all days of the test."""
    model, rhythm = require_conserving(run.model), rhythm_of(run.config)
    assert rhythm is not None
    dates = run.config.periods.pair("test")
    assert dates is not None
    period = span(run.series, dates, "test")
    paths = entry_to_exit([model], run.tensors, run.series, period, rhythm)
    left = paths["amount"].to_numpy()[..., :-1]  # (hours, A, D)
    minutes = np.nansum(left * paths["dwell"].to_numpy(), axis=(0, 2)) / left.sum((0, 2))
    where = sequences(run.tensors, times(run.series), period, rhythm, observed=False).windows
    batch = gather(run.tensors, where, np.arange(len(where.site)))
    tags = torch.arange(batch.x.shape[-1]).expand(len(batch.x), -1)
    trace = model.trace(batch.x, batch.a, batch.static)
    parts = [flows.sum(1)[:, :-1] for flows, _ in trace.forward_parts(tags, exits(model))]
    arrived = torch.cat(parts).numpy()  # (T, A, D), the sum over days
    hours = times(run.series)[where.start[0] : where.start[0] + len(arrived)].hour
    by_hour = np.stack([arrived[hours == hour].sum(0) for hour in range(24)])
    total = left.sum(0)
    return Paths(total / total.sum(-1, keepdims=True), minutes, by_hour)


def compared(true: Paths, traced: Sequence[Paths]) -> dict[str, Any]:
    """Errors of the traces, the mean over seeds, beside what needs no trace: all airports alike."""
    alike = true.by_hour.sum((0, 1)) / true.by_hour.sum()
    mean_minutes = float((true.minutes * true.by_hour.sum((0, 2))).sum() / true.by_hour.sum())
    known = true.by_hour.sum(1, keepdims=True) * (true.by_hour.sum((0, 2)) / true.by_hour.sum())[:, None]
    return {
        "share error": float(np.mean([np.abs(one.share - true.share).mean() for one in traced])),
        "share error, all alike": float(np.abs(alike - true.share).mean()),
        "minutes error": float(np.mean([np.abs(one.minutes - true.minutes).mean() for one in traced])),
        "minutes error, all alike": float(np.abs(mean_minutes - true.minutes).mean()),
        "arrivals r": [float(np.corrcoef(one.by_hour.ravel(), true.by_hour.ravel())[0, 1]) for one in traced],
        "arrivals r, all alike": float(np.corrcoef(known.ravel(), true.by_hour.ravel())[0, 1]),
    }


def main(words: Sequence[str] | None = None) -> None:
    """Train the example with some seeds, trace it, and write its paths beside the true ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--updates", type=int)
    parser.add_argument("--out", type=Path, default=FILE)
    options = parser.parse_args(words)
    began, traced = time.perf_counter(), []
    settings = anchored(load_config(options.config), options.config.resolve().parent)
    for seed in range(options.seeds):
        updates = options.updates or settings.training.updates
        training = settings.training.model_copy(update={"seed": seed, "updates": updates})
        config = settings.model_copy(update={"training": training})
        with tempfile.TemporaryDirectory() as place:
            run = pipeline.train(config, Path(place), quiet=True)
            traced.append(traced_paths(run))
            print(f"seed {seed}", flush=True)
    inlets, outlets = names(run.series, "mass"), names(run.series, "target")
    first, last = (pd.Timestamp(date) for date in config.periods.pair("test") or ())
    true = true_paths(inlets, outlets, first, last)
    content = {
        "inlets": inlets, "outlets": outlets, "updates": updates,
        "true": {"share": true.share.tolist(), "minutes": true.minutes.tolist()},
        "traced": [{"share": one.share.tolist(), "minutes": one.minutes.tolist()} for one in traced],
        **compared(true, traced),
    }  # fmt: skip
    save_trace(options.out, content, began)


if __name__ == "__main__":
    main()
