"""The recipe of the test scores, frozen before anybody looks at the test years.

    python -m mclstm_paper.hydrology.recipe RUN... --together name=model,model \\
        --results results/hydrology/recipe.json

The file names every member by the digest of its weights, every ensemble by its members, and holds the weights
of members at each basin, fitted on the validation years, with all validation scores. Commit it:
`final_scores` takes test scores of a committed recipe only.
"""

import argparse
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from mclstm.config.same_model import Run, conserving, find_runs
from mclstm.errors import CheckpointError, ConfigError, DataError
from mclstm.evaluation.ensemble import model_scores, read_members
from mclstm.evaluation.ensemble_weights import site_weights_of_members
from mclstm.report.comparison.model_groups import evaluated, grouped, joined
from mclstm.training.folder import RunFolder
from mclstm_paper.hydrology.models import EXTRA, MODELS, PREFIX
from mclstm_paper.hydrology.page import comparison_table
from mclstm_paper.hydrology.record import rows_of, with_costs
from mclstm_paper.results import Row, save_results

__all__ = ["Weights", "digest", "frozen", "main", "rows_in_halves", "tables"]

SPLIT = "validation"
DIGITS = 6  # of a weight
Weights = NDArray[np.float64]  # (site, members)


def frozen(paths: Sequence[Path], together: Sequence[str]) -> tuple[list[Row], dict[str, Any]]:
    """The validation scores of all models and ensembles, and the recipe by name of the model."""
    every = find_runs(paths)
    runs, absent = evaluated(every, SPLIT)
    if absent:
        raise CheckpointError(
            f"{len(absent)} of {len(every)} runs have not been evaluated on {SPLIT}. Leave them out, or wait "
            "for their end."
        )
    if unknown := sorted({run.config.name.removeprefix(PREFIX) for run in runs} - {*MODELS, *EXTRA}):
        raise ConfigError(
            f"{unknown[0]} is no model of the record, but perhaps a trial. Name the runs of the recipe."
        )
    models = grouped(runs, PREFIX)
    mixtures = joined(models, together)
    rows: list[Row] = []
    recipe = {}
    for name, members in (models | mixtures).items():
        scored, recipe[name] = frozen_model(name, members, mixed=name in mixtures)
        rows += scored
    return rows, recipe


def frozen_model(name: str, runs: Sequence[Run], mixed: bool) -> tuple[list[Row], dict[str, Any]]:
    """The validation rows of a model or of a mixture, and its members with their weights by basin."""
    flows = read_members([run.path for run in runs], SPLIT)
    weights = None if len(runs) == 1 else site_weights_of_members(flows).round(DIGITS)
    scores = model_scores(name, flows, all(conserving(run.config) for run in runs), weights)
    setting = f"{flows[0].sizes['site']} basins, {SPLIT}"
    rows = rows_of(scores[int(mixed) :], setting, like_paper=False)
    rows += [] if weights is None else rows_in_halves(name, flows, setting)
    recipe: dict[str, Any] = {"mixed": mixed, "members": {digest(run.path): seed_of(run) for run in runs}}
    if weights is not None:
        sites = [str(site) for site in flows[0]["site"].to_numpy()]
        recipe["weights"] = dict(zip(sites, weights.tolist(), strict=True))
    return with_costs(rows, [run.path for run in runs]), recipe


def rows_in_halves(name: str, flows: Sequence[xr.Dataset], setting: str) -> list[Row]:
    """Plain and weighted ensembles in each half of the years, with the weights that the other half gives.

    Weights are best where they were fitted; these rows say what they are worth elsewhere.
    """
    middle = flows[0].sizes["time"] // 2
    halves = slice(None, middle), slice(middle, None)
    rows = []
    for number, (here, there) in enumerate((halves, halves[::-1]), start=1):
        weights = site_weights_of_members([member.isel(time=there) for member in flows])
        parts = [member.isel(time=here) for member in flows]
        scores = model_scores(name, parts, False, weights)[1:]
        rows += rows_of(scores, f"{setting}, half {number}", like_paper=False, keep_sites=False)
    return rows


def digest(run: Path) -> str:
    """What tells the weights of a run from all others."""
    return hashlib.sha256(RunFolder.existing(run).weights().read_bytes()).hexdigest()


def seed_of(run: Run) -> dict[str, Any]:
    return {"model": run.config.name.removeprefix(PREFIX), "seed": run.config.training.seed}


def main(words: Sequence[str] | None = None) -> None:
    """Freeze a recipe and print its validation scores."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--together", action="append", default=[], help="name=model,model; repeat")
    parser.add_argument("--results", type=Path, default=Path("results/hydrology/recipe.json"))
    options = parser.parse_args(words)
    try:
        rows, recipe = frozen(options.runs, options.together)
    except (CheckpointError, ConfigError, DataError) as error:
        parser.error(str(error))
    save_results(options.results, "hydrology-recipe", "paper", rows, 0.0, recipe=recipe)
    print(tables(rows))


def tables(rows: Sequence[Row]) -> str:
    """The rows as a table for each setting."""
    by_setting: Mapping[str, list[Row]] = {row["setting"]: [] for row in rows}
    for row in rows:
        by_setting[row["setting"]].append(row)
    return "\n\n".join(f"{setting}\n\n{comparison_table(part)}" for setting, part in by_setting.items())


if __name__ == "__main__":
    main()
