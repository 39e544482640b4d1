"""The page of a run in memory, of a comparison of finished runs, or of a prediction: one HTML file each."""

from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from mclstm.config import Config, dump_config
from mclstm.config.same_model import conserving, seeds_of
from mclstm.deploy.new_data import Source
from mclstm.deploy.page_ages import Ages, Traceable, ages_of, ages_of_runs, opened
from mclstm.deploy.trained_model import model_folders, only_member, open_model
from mclstm.errors import DataError
from mclstm.evaluation.comparison import pairwise_tests
from mclstm.evaluation.ensemble import model_scores
from mclstm.evaluation.outlets import scored_targets
from mclstm.evaluation.prediction_store import open_predictions
from mclstm.evaluation.score_tables import after_warmup, headline, score_table
from mclstm.evaluation_files import Evaluation
from mclstm.explain.cell_reading import Storages
from mclstm.explain.water_balance import balance_table, water_balance
from mclstm.from_config import warmup_of
from mclstm.models.members import Members
from mclstm.report.comparison.basin_figures import attributes
from mclstm.report.comparison.comparison_report import Comparison, setting
from mclstm.report.comparison.model_groups import Group
from mclstm.report.comparison.score_section import score_section, significance_section
from mclstm.report.page import PageModel
from mclstm.report.page.overview import SHOWN
from mclstm.report.page.page_files import write_page
from mclstm.run import Run
from mclstm.training import journal
from mclstm.training.folder import RunFolder

__all__ = ["TRACED", "page_of_comparison", "page_of_prediction", "page_of_run"]

TRACED = 20  # sites whose mass is traced unless more are wanted: tracing takes longer than simulating


def page_of_run(run: Run, result: Evaluation) -> Path:
    """Write report.html into the folder of a run that was trained and evaluated just now."""
    predictions, name = result.predictions, run.config.model.name
    models = run.model.alone() if isinstance(run.model, Members) else [run.model]
    seeded = dict(zip(seeds_of(run.config), models, strict=True))
    whole = Traceable(run.config, seeded, run.tensors, run.series, warmup_of(run.config))
    balance = water_balance(result.balance, predictions)
    model = PageModel(
        name,
        [predictions],
        _scores(predictions),
        balance,
        *_about(run.folder),
        *ages_of(whole, predictions, TRACED, {}),
    )
    every = model_scores(name, [predictions], conserving(run.config))
    for rival, flows in result.rivals.items():
        every += model_scores(rival, [flows], False)
    sections = [score_section(every, setting(predictions))]
    sections += [significance_section(pairwise_tests(every), [name])] if result.rivals else []
    places = _places(run.config, predictions)
    return write_page(run.path / "report.html", run.config.name, [model], sections, places=places)


def page_of_comparison(
    comparison: Comparison,
    folder: Path,
    split: str,
    data: Path | None,
    most: int,
    *,
    single_file: bool = False,
) -> Path:
    """Write report.html beside the tables and figures of a comparison; most: sites to trace."""
    groups = comparison.groups
    models = [_of_group(item, split, data, most, {"swe": comparison.swe}) for item in groups]
    title = ", ".join(dict.fromkeys(run.config.name for item in groups for run in item.runs))
    places = _places(groups[0].runs[0].config, groups[0].flows, data)
    page = write_page(
        folder / "report.html", title, models, comparison.sections, comparison.notes, places,
        single_file=single_file,
    )  # fmt: skip
    for model in models:
        for ledger in model.ledgers:
            ledger.close()
    return page


def _of_group(item: Group, split: str, data: Path | None, most: int, storages: Storages) -> PageModel:
    paths = [run.path / "evaluation" / split / "predictions.nc" for run in item.runs]
    ledgers = [open_predictions(path) for path in paths]
    ages = ages_of_runs(item.runs, data, ledgers[0], most, storages)
    about = _about(RunFolder(item.runs[0].path))
    return PageModel(item.name, ledgers, _scores(item.flows), item.balance, *about, *ages)


def page_of_prediction(
    path: Path, folder: Path, source: Source, predictions: xr.Dataset, member: int | None, *, from_state: bool
) -> Path:
    """Write the page of a prediction to `path`; folder: of the run or the packed model."""
    model = open_model(model_folders(folder)[0])
    model = model if member is None else only_member(model, member, folder)
    name = model.config.model.name
    ages = Ages(why="The stores began with a saved state, whose mass has no age.")
    if len(model_folders(folder)) > 1:
        ages = Ages(why="Several packed models have no common trace: trace each alone.")
    elif not from_state:
        ages = ages_of(opened(model, source, None), predictions, TRACED, {})
    balance = water_balance(balance_table(predictions), predictions)
    counted, keeps = after_warmup(predictions), conserving(model.config)
    sections = []
    if scored_targets(predictions):
        sections = [score_section(model_scores(name, [counted], keeps), setting(predictions))]
    page = PageModel(name, [predictions], _scores(counted), balance, dump_config(model.config), {}, (), *ages)
    return write_page(path, f"{model.config.name}: {path.stem}", [page], sections)


def _scores(predictions: xr.Dataset) -> pd.DataFrame:
    table = score_table(predictions, SHOWN)
    return headline(table) if len(table) else table


def _about(folder: RunFolder) -> tuple[str, dict[str, Any], list[dict[str, Any]]]:
    """Config, manifest and journal of a run."""
    config = folder.config.read_text(encoding="utf-8")
    return config, folder.read_json(folder.manifest), journal.read(folder.journal)


def _places(config: Config, flows: xr.Dataset, data: Path | None = None) -> pd.DataFrame:
    """Latitude and longitude of several sites, where the data tells them; one site needs no map."""
    if flows.sizes["site"] < 2:
        return pd.DataFrame()
    try:
        return attributes(config, data)
    except DataError:
        return pd.DataFrame()
