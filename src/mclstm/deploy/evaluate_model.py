"""A packed model, or a run, scored on data of a user: each member as a run folder of its own, and their mean.

`mclstm report` takes the folder as it takes a folder of runs, and the cells of every member stay apart.
"""

import json
from pathlib import Path
from typing import Any

import xarray as xr

from mclstm.config import dump_config
from mclstm.data.manifest import manifest
from mclstm.data.series import names
from mclstm.deploy.new_data import Dates, Source
from mclstm.deploy.predict import Prepared, prepare
from mclstm.deploy.trained_model import TrainedModel, model_folders, only_member, open_model, seed_of
from mclstm.errors import ConfigError, DataError
from mclstm.evaluation.ensemble import ensemble_mean, with_members, without_cells
from mclstm.evaluation.rival_scores import rival_table
from mclstm.evaluation.score_tables import score_table
from mclstm.evaluation_files import Evaluation, write_evaluation
from mclstm.explain.water_balance import balance_table
from mclstm.from_config import clip_negative
from mclstm.simulation import simulate_period
from mclstm.training.atomic import write_text_atomic
from mclstm.training.folder import RunFolder
from mclstm.training.state import Progress, save_weights

__all__ = ["evaluate_model"]


def evaluate_model(
    path: Path,
    source: Source,
    out: Path,
    split: str = "test",
    *,
    dates: Dates = Dates(),  # noqa: B008  # immutable
    member: int | None = None,
    figures: bool = True,
) -> Evaluation:
    """Score a model on data that holds observations, in a period of its training config or in `dates`.

    Below `out`: member-<seed>/ for each member, evaluation/<split>/ and figures/ of their mean.
    """
    model = _open(path, member)
    if RunFolder(out).config.is_file():
        raise ConfigError(f"{out} is a run, whose own evaluation would be lost. Choose another --out.")
    if dates == Dates():
        dates = Dates(*_period(model, path, split))
    prepared = prepare(model, source, dates)
    _require_observations(model, prepared, source)
    seeds, members = [seed_of(name, model) for name in model.members], []
    for seed, name in zip(seeds, model.members, strict=True):
        predictions = _simulate(model, name, prepared)
        folder = _unpacked(model, name, prepared, source, out / f"member-{seed}")
        _evaluated(model, predictions, folder.evaluation(split))
        members.append(without_cells(predictions) if len(seeds) > 1 else predictions)
    mean = with_members(ensemble_mean(members), members, seeds) if len(seeds) > 1 else members[0]
    result = _evaluated(model, mean, out / "evaluation" / split)
    if figures:
        from mclstm.report.run_figures import save_figures

        save_figures(mean, [], out)
    return result


def _open(path: Path, member: int | None) -> TrainedModel:
    folders = model_folders(path)
    if len(folders) > 1:
        raise ConfigError(f"{path} holds several models, which are scored one by one. Choose one of them.")
    model = open_model(folders[0])
    return model if member is None else only_member(model, member, path)


def _period(model: TrainedModel, path: Path, split: str) -> tuple[str, str]:
    period = model.config.periods.pair(split)
    if period is None:
        raise ConfigError(f"{path} has no periods.{split}. Choose another --split, or --start and --end.")
    return period


def _require_observations(model: TrainedModel, prepared: Prepared, source: Source) -> None:
    absent = [name for name in model.config.data.target if name not in names(prepared.series, "target")]
    if absent:
        raise DataError(
            f"{source.path} has no column {absent[0]!r}: a score needs observations. "
            "Name yours in a file for --columns, or use mclstm predict."
        )


def _simulate(model: TrainedModel, name: str, prepared: Prepared) -> xr.Dataset:
    """The simulation of one member with its cells, as `mclstm evaluate` of its run gives it."""
    period = prepared.first, prepared.series.sizes["time"]
    single = model.members[name]
    predictions = simulate_period(model.config, single, prepared.data, prepared.series, period)
    return clip_negative(model.config, predictions)


def _unpacked(model: TrainedModel, name: str, prepared: Prepared, source: Source, path: Path) -> RunFolder:
    """The run folder of one member. It cannot be resumed, for it lacks the optimiser's moments."""
    place = {"path": source.path, "attributes": source.attributes}
    data: dict[str, Any] = {key: value and str(Path(value).resolve()) for key, value in place.items()}
    data |= {} if source.reader is None else {"reader": source.reader}
    training = model.config.training.model_copy(update={"seed": seed_of(name, model), "members": None})
    section = model.config.data.model_copy(update=data)
    config = model.config.model_copy(update={"data": section, "training": training})
    folder = RunFolder.at(path)
    write_text_atomic(folder.moments, json.dumps(model.moments, indent=1) + "\n")
    write_text_atomic(folder.manifest, json.dumps(manifest(prepared.series, source.path), indent=1) + "\n")
    weights = folder.checkpoints / "last.safetensors"
    save_weights(weights, model.members[name], Progress(finished=True), model.model_hash)
    write_text_atomic(folder.config, dump_config(config))
    return folder


def _evaluated(model: TrainedModel, predictions: xr.Dataset, folder: Path) -> Evaluation:
    scores = score_table(predictions, model.config.evaluation.metrics)
    result = Evaluation(predictions, scores, balance_table(predictions), folder, {}, rival_table({}, []))
    write_evaluation(result)
    return result
