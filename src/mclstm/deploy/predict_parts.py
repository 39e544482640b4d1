"""Prediction of more sites than memory holds: read in parts, simulated part after part, streamed to zarr."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import xarray as xr

from mclstm.data.manifest import require_step
from mclstm.data.parts import Parts, with_inputs
from mclstm.data.readers import SITES, detect
from mclstm.deploy.new_data import (
    Dates,
    Source,
    column_names,
    read_new_data,
    read_new_parts,
    steps_of,
)
from mclstm.deploy.predict import SiteStates, open_models, predicted, save_all, up_to
from mclstm.deploy.saved_states import without_first
from mclstm.deploy.trained_model import TrainedModel
from mclstm.evaluation.prediction_store import open_store, prediction_store, require_zarr
from mclstm.evaluation.score_tables import after_warmup, score_table
from mclstm.training.atomic import require_new

__all__ = ["StoredPrediction", "predict_to_store"]


class StoredPrediction(NamedTuple):
    """Predictions on the disk, by so many members; their scores, and the steps that filled the stores."""

    predictions: xr.Dataset
    members: int
    scores: pd.DataFrame
    warmup: int


def predict_to_store(
    path: Path,
    source: Source,
    out: Path,
    state_in: Path | None = None,
    state_out: Path | None = None,
    *,
    dates: Dates = Dates(),  # noqa: B008  # immutable
    member: int | None = None,
) -> StoredPrediction:
    """Predict new data into a folder of zarr, with no more sites in memory than a part has.

    All data is read and checked before anything is simulated. The folder is there when it is whole.
    """
    require_zarr()
    require_new(out)
    models = open_models(path, member, with_states=state_in is not None or state_out is not None)
    names = [name for model in models.values() for name in column_names(model)]
    parts = [_parts(model, source, names) for model in models.values()]
    outline = _outline(parts[0])
    for model in models.values():
        require_step(outline, model.step, source.path)
    steps = steps_of(outline, dates, source.path)
    scores, filling, states = [], 0, []
    with prediction_store(out, [str(site) for site in outline["site"].to_numpy()]) as append:
        for before, group in _groups(parts, slice(*steps)):
            prepared = (up_to(model, part, steps) for model, part in zip(models.values(), group, strict=True))
            predictions, after = predicted(path, models, prepared, state_in)
            predictions = predictions.isel(site=slice(before, None))
            append(predictions)
            states.append(_without(after, before))
            scores.append(score_table(after_warmup(predictions)))
            filling = max(filling, int((predictions["warmup"] == 1).sum("time").max()))
    if state_out is not None:
        save_all(path, models, states, state_out)
    count = sum(len(model.members) for model in models.values())
    return StoredPrediction(open_store(out), count, pd.concat(scores, ignore_index=True), filling)


def _parts(model: TrainedModel, source: Source, names: Sequence[str]) -> Sequence[xr.Dataset]:
    """The new data in parts, or as one where its layout is read as a whole or sequences are simulated."""
    place = Path(source.path)
    reader = source.reader or model.config.data.reader
    reader = detect(place) if reader == "auto" else reader
    if reader not in SITES or model.config.sequences is not None:
        return [read_new_data(model, source, names)]
    return read_new_parts(model, source, names)


def _outline(parts: Sequence[xr.Dataset]) -> xr.Dataset:
    return parts.outline if isinstance(parts, Parts) else parts[0]


def _groups(
    parts: Sequence[Sequence[xr.Dataset]], steps: slice
) -> Iterator[tuple[int, tuple[xr.Dataset, ...]]]:
    """The same sites as every model sees them, and how many others lead them."""
    for group in zip(*(with_inputs(of_model, steps) for of_model in parts), strict=True):
        yield group[0][1], tuple(part for part, _ in group)


def _without(states: SiteStates | None, before: int) -> SiteStates | None:
    if states is None:
        return None
    return SiteStates(without_first(states.states, before), states.sites[before:], states.step)
