"""A cell that is told to be the snow: what that costs in discharge, and what the cell gains.

One basin, trained alone, with the snow water equivalent that Snow-17 gives for it. Both models have the same
cells and the same data; the weight of the snow in the loss is 0 or not. For comparison stands the cell that
follows the snow best in the training years.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mclstm import pipeline
from mclstm.config import check_config
from mclstm.data.readers.land import read_land, series_of
from mclstm.data.series import times
from mclstm.errors import ConfigError
from mclstm.evaluation.comparison import wilcoxon_test
from mclstm.evaluation.metrics import nse
from mclstm.evaluation.prediction_dataset import read_flows
from mclstm.evaluation.prediction_store import open_predictions
from mclstm.explain.snow_cells import Period, snow_sums
from mclstm.jobs.job import Job, Result, Work
from mclstm.jobs.monitor import JobMonitor
from mclstm.report.markdown import markdown
from mclstm.series_from_config import read_series
from mclstm.training.atomic import write_text_atomic
from mclstm_paper.experiment import Experiment
from mclstm_paper.hydrology.models import (
    MODELS,
    PERIODS,
    Scale,
    data_of,
    require_stated,
    split_of,
    training_of,
)
from mclstm_paper.hydrology.page import not_measured, read
from mclstm_paper.hydrology.training import learn
from mclstm_paper.options import Options, Plan, chosen_models
from mclstm_paper.results import SIGNIFICANT, Claim, Row, claim, row
from mclstm_paper.seed_rows import paired

__all__ = ["EXPERIMENT"]

NAME = "hydrology-guided"
BASIN, SNOW, CELL = "01031500", "swe", 1
WEIGHTS = {"mclstm": 0.0, "mclstm-guided": 0.1}  # of the snow in the loss
SCALES = {
    "paper": Scale({"mclstm": 16}, 32, 1000, 5, 10_000, 100),
    "quick": Scale({"mclstm": 8}, 16, 60, 2, 10_000, 60),
}
STRIDE = 30
UNITS = {
    "prcp": "mm/day",
    "discharge": "mm/day",
    SNOW: "mm",
    "tmax": "degC",
    "tmin": "degC",
    "srad": "W/m2",
    "vp": "Pa",
}
METRICS = {
    "nse": "NSE, discharge",
    "swe-nse": "NSE, snow in the cell",
    "swe-r": "r, snow in the cell",
    "best-r": "r, its best cell",
}


def learn_guided(
    folder: Path, monitor: JobMonitor, goal: int, config: dict[str, Any], split: str, data: str, snow: str
) -> Result:
    """Join the basin's record with its snow, then train and score a run on it."""
    file = folder / "basin.csv"
    if not file.is_file():
        write_text_atomic(file, basin_record(Path(data), Path(snow)).to_csv(index_label="date"))
    whole = {**config, "data": config["data"] | {"path": str(file)}}
    result = learn(folder, monitor, goal, whole, split=split)
    flows = read_flows(folder / "evaluation" / split / "predictions.nc")
    pair = flows[f"simulated_{SNOW}"].to_numpy()[0], flows[f"observed_{SNOW}"].to_numpy()[0]
    known = np.isfinite(pair[1])
    pipeline.evaluate(folder, "train", figures=False)
    choose, score = (snow_and_cells(folder / "evaluation" / part) for part in ("train", split))
    return {
        "nse": nse(*(flows[f"{word}_discharge"].to_numpy()[0] for word in ("simulated", "observed"))),
        "swe-nse": nse(*pair),
        "swe-r": float(np.corrcoef(pair[0][known], pair[1][known])[0, 1]),
        "best-r": snow_sums(choose, score, largest=1)[0].held_out,
        "mass_errors": result["mass_errors"],
    }


def snow_and_cells(evaluation: Path) -> Period:
    """What all cells held in a period, beside the snow: one of them may have become the snow by itself."""
    with open_predictions(evaluation / "predictions.nc") as file:
        here = file[["storage", f"observed_{SNOW}"]].isel(site=0).transpose("time", ...).load()
    return Period(times(here), here["storage"].to_numpy(), here[f"observed_{SNOW}"].to_numpy())


def basin_record(data: Path, snow: Path) -> pd.DataFrame:
    """Forcing, discharge and snow of the basin, by day; no snow is NaN where Snow-17 was not run."""
    raw = {
        "name": NAME, "data": data_of(Options(data=data), [BASIN], []), "periods": PERIODS,
        "model": {"name": "lstm"}, "training": {"updates": 1},
    }  # fmt: skip
    series = read_series(check_config(raw), require_target=True)
    known = series_of(read_land(snow), SNOW)
    if BASIN not in known:
        raise ConfigError(f"{snow} has no snow of basin {BASIN}. Give Snow-17's output of it with --snow.")
    columns = [name for name in UNITS if name != SNOW]
    table = pd.DataFrame({name: series[name].to_numpy()[0] for name in columns}, index=times(series))
    return table.assign(**{SNOW: known[BASIN].reindex(table.index)})


WORK = Work("hydrology, guided cells", learn_guided)


def config_of(model: str, options: Options, seed: int) -> dict[str, Any]:
    """The final design with a cell for the snow; the weights are those of the last update."""
    scale = SCALES[options.profile]
    cells = {"hidden_size": options.cells or scale.cells["mclstm"], "guided": {SNOW: CELL}}
    data = {
        "mass": ["prcp"],
        "aux": ["srad", "tmax", "tmin", "vp"],
        "target": ["discharge", SNOW],
        "units": UNITS,
    }
    training = {"stride": STRIDE, "seed": seed, "guide_weight": WEIGHTS[model]}
    return {
        "name": model,
        "data": data,
        "periods": PERIODS,
        "model": MODELS["mclstm"] | cells,
        "training": training_of(options, scale) | training,
    }


def jobs(plan: Plan) -> list[Job]:
    """One job per model and seed."""
    options = plan.options
    require_stated(NAME, options)
    if options.data is None or options.snow is None:
        raise ConfigError(f"{NAME} needs --data, the folder of CAMELS-US, and --snow, the output of Snow-17.")
    place = {"data": str(options.data.resolve()), "snow": str(options.snow.resolve())}
    return [
        Job(
            f"{model}-{seed}",
            WORK,
            {"config": config_of(model, options, seed), "split": split_of(options)},
            1,
            place,
        )
        for seed in seeds_of(options)
        for model in chosen_models(NAME, tuple(WEIGHTS), (), options)
    ]


def seeds_of(options: Options) -> range:
    return range(options.first_seed, options.first_seed + (options.seeds or SCALES[options.profile].members))


def rows(plan: Plan, results: Mapping[str, Result]) -> list[Row]:
    """For each model, over seeds: discharge, and how well the cell follows the snow."""
    period = f", {split_of(plan.options)}" if plan.options.no_test else ""
    table = []
    for model in chosen_models(NAME, tuple(WEIGHTS), (), plan.options):
        names = {f"{model}-{seed}": seed for seed in seeds_of(plan.options)}
        finished = {name: seed for name, seed in names.items() if name in results}
        for metric in METRICS if finished else ():
            values = [float(results[name][metric]) for name in finished]
            cell = row(f"basin {BASIN}{period}", model, metric, values)
            table.append(cell | {"seeds": list(finished.values())})
    return table


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Whether the cell that is told, and its discharge, are better, seed by seed."""
    cells = {(cell["model"], cell["metric"]): cell for cell in rows}
    known = [metric for metric in METRICS if all((model, metric) in cells for model in WEIGHTS)]
    return [better(metric, cells["mclstm-guided", metric], cells["mclstm", metric]) for metric in known]


def better(metric: str, guided: Row, free: Row) -> Claim:
    """Wilcoxon's one-sided test of a score with and without guiding."""
    one, two = paired(guided, free)
    p = wilcoxon_test(one, two, "greater").p
    text = f"mclstm-guided is better than mclstm in {METRICS[metric]}"
    return claim(text, f"Wilcoxon signed-rank, one-sided, {len(one)} seeds", p, p < SIGNIFICANT)


def table(rows: Sequence[Row]) -> str:
    """One line per model."""
    lines: dict[str, dict[str, str]] = {}
    for cell in rows:
        text = f"{cell['value']:.3f} ({cell['low']:.3f} to {cell['high']:.3f})"
        lines.setdefault(cell["model"], {"": cell["model"]})[METRICS[cell["metric"]]] = text
    note = f"{rows[0]['setting']}; median of {rows[0]['n']} seeds, lowest and highest in brackets."
    return f"{markdown(pd.DataFrame(list(lines.values())))}\n\n{note}"


def block(root: Path) -> str:
    """What a guided cell costs and gains."""
    rows = read(root, "guided.json")["rows"]
    return table(rows) if rows else not_measured("guided.json")


EXPERIMENT = Experiment(
    name=NAME,
    protocols=("stated",),
    models=tuple(WEIGHTS),
    variants=(),
    jobs=jobs,
    rows=rows,
    claims=claims,
    table=table,
    accepts=("data", "cells", "no_test", "snow"),
    file="hydrology/guided.json",
    saves_each_job=True,
    blocks={NAME: block},
)
