"""The data flow as code: read -> scale -> window -> build -> fit -> simulate -> score -> figures."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
import xarray as xr

from mclstm.config import Config, dump_config
from mclstm.data.checks.unit_check import require_balance
from mclstm.data.manifest import manifest, require_same
from mclstm.data.scaling import Moment, moments
from mclstm.data.windows import Tensors, span, tensors, windows
from mclstm.errors import ConfigError
from mclstm.evaluation.predictions import as_netcdf
from mclstm.evaluation.restarts import simulate_afresh, with_restarts
from mclstm.evaluation.score_tables import balance_table, median_score, read_table, score_table
from mclstm.evaluation.simulate import require_periods, simulate
from mclstm.from_config import Opened, counted, open_run, read_series, warmup_of
from mclstm.training import journal
from mclstm.training.atomic import make_folder, write_bytes_atomic, write_text_atomic
from mclstm.training.cost import spent
from mclstm.training.folder import RunFolder
from mclstm.training.loop import fit, planned_updates
from mclstm.training.progress import Shown, showing
from mclstm.training.state import load_weights

__all__ = [
    "Evaluated",
    "Loaded",
    "Tables",
    "evaluate",
    "evaluated_once",
    "load_run",
    "resume",
    "train",
    "train_at",
]


@dataclass(frozen=True)
class Loaded(Opened):
    """A run with its data in both forms."""

    series: xr.Dataset
    data: Tensors


class Evaluated(NamedTuple):
    """What `evaluate` found and where it wrote it."""

    predictions: xr.Dataset
    scores: pd.DataFrame
    balance: pd.DataFrame
    folder: Path


class Tables(NamedTuple):
    """What an earlier `evaluate` left in its folder; the predictions stay unread."""

    scores: pd.DataFrame
    balance: pd.DataFrame
    folder: Path


def train(config: Config, root: Path, *, quiet: bool = False) -> RunFolder:
    """Begin a run in a new folder below `root` and train it to the end."""
    series, found = _prepared(config)
    run = _begun(RunFolder.create(root, config.name), config, series, found)
    return _fit(run, partial(showing, quiet=quiet))


def train_at(path: Path, config: Config, shown: Shown, stop: Callable[[], int | None]) -> RunFolder:
    """The run in this very folder, to its end: begun if there is none yet, else gone on with as it began.

    shown: shows how far it is; stop: is asked for the number of a signal to stop for.
    """
    if RunFolder(path).config.is_file():
        return _fit(load_run(path), shown, stop)
    series, found = _prepared(config)
    return _fit(_begun(RunFolder.at(path), config, series, found), shown, stop)


def _prepared(config: Config) -> tuple[xr.Dataset, dict[str, Moment]]:
    """The data of a run and the moments of its training period; refuses what could not be trained on."""
    series = read_series(config, require_target=True)
    # Before the training and not after it: a period that no site covers cannot be simulated.
    require_periods(series, {name: config.periods.pair(name) for name in ("train", "validation", "test")})
    first, after = span(series, config.periods.train_pair, "train")
    found = moments(series.isel(time=slice(first, after)))
    if config.model.name == "mclstm" and config.model.head in ("sum", "mcfc"):
        require_balance(series)
    return series, found


def _begun(folder: RunFolder, config: Config, series: xr.Dataset, found: dict[str, Moment]) -> Loaded:
    """All that a run is made of on disk; the config last, for a folder that has one is a run."""
    write_text_atomic(folder.moments, json.dumps(found, indent=1) + "\n")
    write_text_atomic(folder.manifest, json.dumps(manifest(series, config.data.path), indent=1) + "\n")
    write_text_atomic(folder.config, dump_config(config))
    return load_run(folder.path, series)


def resume(path: Path, *, quiet: bool = False) -> RunFolder:
    """Go on with a run in place; one that is finished stays as it is."""
    return _fit(load_run(path), partial(showing, quiet=quiet))


def evaluate(path: Path, split: str = "test", *, figures: bool = True) -> Evaluated:
    """Simulate a period with the run's best weights, score it, balance it, draw it."""
    run = load_run(path)
    period = run.config.periods.pair(split)
    if period is None:
        raise ConfigError(f"{run.folder.config} has no periods.{split}. Choose train or test, or add it.")
    load_weights(run.folder.weights(), run.model, run.model_hash)
    where = span(run.series, period, split)
    predictions = counted(run.config, _simulated(run, where))
    scores = score_table(predictions, run.config.evaluation.metrics)
    balance = balance_table(predictions)
    target = run.folder.evaluation(split)
    make_folder(target)
    write_bytes_atomic(target / "predictions.nc", as_netcdf(predictions))
    write_text_atomic(target / "metrics.csv", scores.to_csv(index=False))
    write_text_atomic(target / "mass_balance.csv", balance.to_csv(index=False))
    run.folder.note(f"evaluated {split}: median NSE {median_score(predictions):.4f}")
    if figures:
        from mclstm.report.figures import save_figures

        # The run's own figures are those of the test period; another period must not replace them.
        place = run.folder.path if split == "test" else target
        save_figures(predictions, journal.read(run.folder.journal), place)
    return Evaluated(predictions, scores, balance, target)


def evaluated_once(path: Path, split: str = "test") -> Evaluated | Tables:
    """What `evaluate` finds; a run that was scored on this period is not scored again, its files are read."""
    folder = RunFolder.existing(path)
    if not folder.is_scored(split):
        return evaluate(path, split)
    place = folder.evaluation(split)
    scores, balance = (read_table(place / name) for name in ("metrics.csv", "mass_balance.csv"))
    return Tables(scores, balance, place)


def load_run(path: Path, series: xr.Dataset | None = None) -> Loaded:
    """Everything of a run but its weights; data that is not given is read again and must not have changed."""
    run = open_run(path)
    if series is None:
        series = read_series(run.config, require_target=True)
        require_same(series, run.folder.read_json(run.folder.manifest), run.config.data.path)
    return Loaded(**vars(run), series=series, data=tensors(series, run.moments, torch.float32))


def _fit(run: Loaded, shown: Shown, stop: Callable[[], int | None] = lambda: None) -> RunFolder:
    training, folder = run.config.training, run.folder
    first = span(run.series, run.config.periods.train_pair, "train")
    where = windows(run.data, first, training.scheme, training.length, training.warmup, training.stride)
    count, teaching = len(where.site), set(where.site.tolist())
    silent = [str(site) for row, site in enumerate(run.series["site"].to_numpy()) if row not in teaching]
    if silent:
        folder.note(f"{len(silent)} sites have no window and teach nothing: {', '.join(silent[:20])}")
    total = planned_updates(count, training.batch_size, training.epochs, training.updates)
    folder.note(f"training {run.config.model.name}: {total} updates on {count} windows")
    with shown(total, run.config.name) as show, spent(folder.path):
        done = fit(
            run.model, run.data, first, folder.path,
            validate=_validation(run), show=show, model_hash=run.model_hash,
            place=place_in(run.series), stop=stop, **training.for_the_loop(),
        )  # fmt: skip
    folder.note(
        f"finished after {done.update} updates" + ("" if done.best is None else f", best {done.best:.4f}")
    )
    return folder


def place_in(series: xr.Dataset) -> Callable[[int, int], str]:
    """Names a site and a step of it by name and date."""
    sites, time = series["site"].to_numpy(), series["time"].to_numpy()
    return lambda site, step: f"site {sites[site]} at {np.datetime_as_string(time[step], unit='m')}"


def _validation(run: Loaded) -> Callable[[], float] | None:
    period = run.config.periods.pair("validation")
    if period is None:
        return None
    return lambda: median_score(_simulated(run, span(run.series, period, "validation"), stores=False))


def _simulated(run: Loaded, where: tuple[int, int], stores: bool = True) -> xr.Dataset:
    """The period as the config wants it simulated; the stores are always those of a run straight through."""
    given = run.model, run.data, run.series, where, warmup_of(run.config)
    restart, together = run.config.evaluation.restart, run.config.training.batch_size
    afresh = None if restart is None else simulate_afresh(*given, restart, together)
    if afresh is not None and not stores:
        return afresh
    through = simulate(*given, stores=stores).predictions
    return through if afresh is None else with_restarts(through, afresh)
