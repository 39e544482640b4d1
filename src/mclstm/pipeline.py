"""The data flow as code: read -> scale -> window -> build -> fit -> simulate -> score -> figures."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import xarray as xr

from mclstm.config import Config, dump_config
from mclstm.data.parts import Parts
from mclstm.data.windows import span
from mclstm.errors import ConfigError
from mclstm.evaluation.rival_scores import rival_table
from mclstm.evaluation.score_tables import median_score, score_table
from mclstm.evaluation_files import Evaluation, Tables, read_tables, write_evaluation
from mclstm.evaluation_of_parts import evaluate_parts
from mclstm.explain.water_balance import balance_table
from mclstm.from_config import (
    alone,
    build,
    clip_negative,
    set_threads,
    training_start,
)
from mclstm.lessons import Lessons, lessons_of, require_shares
from mclstm.run import Run, load_run, median_nse, simulate_run
from mclstm.run_inputs import Inputs, manifest_for, read_inputs, tensors_of
from mclstm.simulation import simulate_rivals
from mclstm.training import journal
from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm.training.cost import spent
from mclstm.training.folder import RunFolder
from mclstm.training.freed_memory import freed_memory_kept
from mclstm.training.learner import follow
from mclstm.training.loop import fit, planned_updates
from mclstm.training.progress import Display, showing
from mclstm.training.ranks import Ranks
from mclstm.training.run_lock import locked
from mclstm.training.state import load_weights

__all__ = [
    "assist",
    "evaluate",
    "evaluate_once",
    "require_test",
    "resume",
    "train",
    "train_or_resume",
]

Stop = Callable[[], int | None]  # asked after every update: the number of a signal to stop for, or None


def train(
    config: Config,
    root: Path,
    *,
    quiet: bool = False,
    series: xr.Dataset | None = None,
    ranks: Ranks | None = None,
) -> Run:
    """Begin a run in a new folder below `root` and train it to the end.

    series: the data of the config, if the caller has read it already; its patterns are then resolved
    ranks: the processes that train it, of which this is the first; None: this one alone
    """
    require_test(config)
    ranks = ranks or alone(config)
    require_shares(config, ranks.size)
    inputs = read_inputs(config, series)
    folder = RunFolder.create(root, config.name)
    with locked(folder.path):
        return _fit(_begin(folder, inputs), partial(showing, quiet=quiet), ranks)


def require_test(config: Config) -> None:
    """Refuse a config without the period that a training is scored on in the end."""
    if config.periods.test is None:
        raise ConfigError("periods.test is null: nothing would be scored. Set its first and last date.")


def resume(path: Path, *, quiet: bool = False, ranks: Ranks | None = None) -> Run:
    """Continue a run in place, on `ranks` or as its config says; a finished run stays as it is."""
    with locked(RunFolder.existing(path).path):
        run = load_run(path)
        ranks = ranks or alone(run.config)
        require_shares(run.config, ranks.size)
        return _fit(run, partial(showing, quiet=quiet), ranks)


def train_or_resume(
    path: Path, config: Config, display: Display, stop: Stop, ranks: Ranks | None = None
) -> Run:
    """Train the run in this very folder to its end; a run that has begun continues with its own config."""
    make_folder(path)
    with locked(path):
        if RunFolder(path).config.is_file():
            run = load_run(path)
            return _fit(run, display, ranks or alone(run.config), stop)
        ranks = ranks or alone(config)
        inputs = read_inputs(config)
        return _fit(_begin(RunFolder.at(path), inputs), display, ranks, stop)


def assist(what: Config | Path, ranks: Ranks, series: xr.Dataset | None = None) -> None:
    """As another rank than the first, help it to train a config, or to resume the run at a path."""
    if isinstance(what, Path):
        run = load_run(what)
        config, series, scaling, data = run.config, run.series, run.moments, run.data
    else:
        config, series, parts, scaling = read_inputs(what, series)
        set_threads(config)
        data = tensors_of(parts, scaling)
    model, _ = build(config, scaling)
    lessons = lessons_of(config, series, scaling, data)
    settings = config.training.for_a_rank()
    follow(model.to(ranks.device), lessons.data, lessons.where, lessons.importance, ranks, **settings)


def evaluate(run: Run | Path, split: str = "test", *, figures: bool = True) -> Evaluation:
    """Simulate a period with the best weights of a run, or of the run at a path; score, balance, draw it."""
    run = load_run(run) if isinstance(run, Path) else run
    period = run.config.periods.pair(split)
    if period is None:
        raise ConfigError(f"{run.folder.config} has no periods.{split}. Choose train or test, or add it.")
    load_weights(run.folder.weights(), run.model, run.model_hash)
    steps, metrics = span(run.series, period, split), run.config.evaluation.metrics
    if isinstance(run.parts, Parts):
        simulated = (clip_negative(run.config, part) for part in simulate_run(run, steps))
        sites = [str(site) for site in run.series["site"].to_numpy()]
        return evaluate_parts(run.folder, split, simulated, sites, metrics, figures=figures)
    (simulation,) = simulate_run(run, steps)
    predictions = clip_negative(run.config, simulation)
    rivals = simulate_rivals(run.config, run.series, slice(*steps), predictions)
    tables = score_table(predictions, metrics), balance_table(predictions), run.folder.evaluation(split)
    result = Evaluation(predictions, *tables, rivals, rival_table(rivals, metrics))
    write_evaluation(result)
    run.folder.note(f"evaluated {split}: median NSE {median_score(predictions):.4f}")
    if figures:
        from mclstm.report.run_figures import save_figures

        # The run's own figures are those of the test period; another period must not replace them.
        place = run.path if split == "test" else result.folder
        save_figures(predictions, journal.read(run.folder.journal), place)
    return result


def evaluate_once(run: Run, split: str = "test", *, figures: bool = True) -> Evaluation | Tables:
    """Evaluate a run on a period; if that was done before, only read the tables."""
    if not run.folder.is_scored(split):
        return evaluate(run, split, figures=figures)
    return read_tables(run.folder.evaluation(split))


def _begin(folder: RunFolder, inputs: Inputs) -> Run:
    """Write the files that define a run, the config last: a folder that has one is a run. Build the model."""
    config, series, parts, scaling = inputs
    write_text_atomic(folder.moments, json.dumps(scaling, indent=1) + "\n")
    write_text_atomic(folder.manifest, json.dumps(manifest_for(config, series, parts), indent=1) + "\n")
    write_text_atomic(folder.config, dump_config(config))
    set_threads(config)
    model, model_hash = build(config, scaling)
    return Run(folder, config, scaling, model, model_hash, series, parts, tensors_of(parts, scaling))


def _fit(run: Run, display: Display, ranks: Ranks, stop: Stop = lambda: None) -> Run:
    """Cut the training period into windows and train the run on them until its end."""
    training, folder = run.config.training, run.folder
    _start(run)
    lessons = lessons_of(run.config, run.series, run.moments, run.data)
    for line in lessons.notes:
        folder.note(line)
    count = len(lessons.where.site)
    total = planned_updates(count, training.batch_size, training.epochs, training.updates)
    folder.note(f"training {run.config.model.name}: {total} updates on {count} windows")
    run.model.to(ranks.device)
    with freed_memory_kept(), display(total, run.config.name) as show, spent(folder.path):
        progress = fit(
            run.model, lessons.data, lessons.where, lessons.importance, folder.path,
            validate=_validation(run, lessons), show=show, model_hash=run.model_hash,
            place=place_in(run.series), stop=stop, ranks=ranks, **training.for_the_loop(),
        )  # fmt: skip
    run.model.cpu()  # what comes after training is the same on every machine
    best = "" if progress.best is None else f", best {progress.best:.4f}"
    folder.note(f"finished after {progress.update} updates{best}")
    return run


def _start(run: Run) -> None:
    """Give a run that has no checkpoint yet the weights it is to begin with, if the config names any."""
    begun = (run.folder.checkpoints / "last.safetensors").is_file()
    start = None if begun else training_start(run.config)
    if start is not None:
        load_weights(start.weights, run.model, run.model_hash)
        run.folder.note(f"starting from {start.weights}")


def place_in(series: xr.Dataset) -> Callable[[int, int], str]:
    """A function that names a site and a step of it by name and date."""
    sites, time = series["site"].to_numpy(), series["time"].to_numpy()
    return lambda site, step: f"site {sites[site]} at {np.datetime_as_string(time[step], unit='m')}"


def _validation(run: Run, lessons: Lessons) -> Callable[[], float] | None:
    period = run.config.periods.pair("validation")
    if period is None:
        return None
    seen = run._replace(series=lessons.series, data=lessons.data)
    return lambda: median_nse(seen, span(run.series, period, "validation"))
