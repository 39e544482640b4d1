"""The test years, scored by a frozen recipe; every look at them is counted.

    python -m mclstm_paper.hydrology.final_scores RUN... --recipe results/hydrology/recipe.json \\
        --benchmarks DIR --results results/hydrology/stated.json

The recipe must be committed as it is. Each call adds a line to scorings.json beside it before it looks. All
models of the result file are then compared with each other and with the published ones of the benchmarks.
"""

import argparse
import json
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from mclstm import pipeline
from mclstm.config.same_model import Run, conserving, find_runs
from mclstm.errors import CheckpointError, ConfigError, DataError, StorageError
from mclstm.evaluation.ensemble import model_scores, read_members
from mclstm.evaluation.published_scores import read_published_scores
from mclstm.jobs.job import alone
from mclstm.report.comparison.low_flow_section import low_flow_rows
from mclstm.report.comparison.model_groups import zero_shares
from mclstm.training.atomic import write_text_atomic
from mclstm.training.cost import commit
from mclstm.training.folder import RunFolder
from mclstm_paper.hydrology.comparison_claims import claims_between, models_by_site
from mclstm_paper.hydrology.printed import in_papers_setting
from mclstm_paper.hydrology.recipe import Weights, digest, tables
from mclstm_paper.hydrology.record import rows_of, update_results, with_costs
from mclstm_paper.results import Claim, Row, committed_results

__all__ = ["main", "scored_rows"]

SCORINGS = "scorings.json"
Recipe = Mapping[str, Mapping[str, Any]]


def require_committed(recipe: Path) -> None:
    """Refuse a recipe that could still change: it must be in the last commit, word for word."""
    place = recipe.resolve()
    words = ["git", "-C", str(place.parent), "show", f"HEAD:./{place.name}"]
    try:
        committed = subprocess.run(words, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise ConfigError(f"{recipe} is not committed. Commit it before the test years are scored.") from None
    if committed != place.read_bytes():
        raise ConfigError(f"{recipe} differs from the last commit. Commit it, or restore it.")


def members_of(recipe: Recipe, paths: Sequence[Path]) -> dict[str, list[Run]]:
    """The runs of every model of a recipe, in its order; each must be there with the weights it names."""
    runs = {digest(run.path): run for run in find_runs(paths)}
    for name, about in recipe.items():
        missing = [member for weights, member in about["members"].items() if weights not in runs]
        if missing:
            raise ConfigError(
                "the recipe of {0} names {model} with the seed {seed}, and no run has its weights. "
                "Give all runs it was frozen with.".format(name, **missing[0])
            )
    return {name: [runs[weights] for weights in about["members"]] for name, about in recipe.items()}


def count_look(recipe: Path, models: Sequence[str]) -> int:
    """Write down that the test years are looked at, and which time this is."""
    file = recipe.parent / SCORINGS
    with alone(recipe.parent):
        looks = json.loads(file.read_text()) if file.is_file() else []
        about = {"date": f"{datetime.now(UTC):%Y-%m-%d %H:%M}", "commit": commit(), "recipe": recipe.name}
        looks.append({"number": len(looks) + 1, **about, "models": list(models)})
        write_text_atomic(file, json.dumps(looks, indent=1) + "\n")
    return len(looks)


def scored_rows(recipe: Recipe, members: Mapping[str, Sequence[Run]], look: int) -> list[Row]:
    """The rows of every model in the test years: single, plain mean and weighted, by the frozen weights."""
    for run in dict.fromkeys(run.path for runs in members.values() for run in runs):
        if not RunFolder(run).is_scored("test"):
            pipeline.evaluate(run, "test", figures=False)
    rows: list[Row] = []
    for name, runs in members.items():
        paths = [run.path for run in runs]
        flows = read_members(paths)
        sites = [str(site) for site in flows[0]["site"].to_numpy()]
        weights = weights_at(sites, recipe[name].get("weights"))
        scores = model_scores(name, flows, all(conserving(run.config) for run in runs), weights)
        mixed, setting = recipe[name]["mixed"], f"{len(sites)} basins"
        shown = scores[1:] if mixed else scores  # several models have no single one
        whole = rows_of(shown, setting, in_papers_setting(flows[0]))
        if not mixed:  # what decides the FLV of its members
            dry = low_flow_rows(name, scores[0].frames, zero_shares(flows), setting)
            whole += [row | {"paper": None} for row in dry]
        rows += [row | {"scoring": look} for row in with_costs(whole, paths)]
    return rows


def claims_again(results: Path, run: Run, benchmarks: Path | None) -> list[Claim]:
    """Tests between all models whose scores by site a result file holds, and the published models.

    run: one that is scored, for the observations that the scores of published models need
    """
    (flows,) = read_members([run.path])
    rows = committed_results(results)["rows"]
    mine = [row for row in rows if row["setting"] == f"{flows.sizes['site']} basins"]
    theirs, _ = ([], []) if benchmarks is None else read_published_scores(benchmarks, flows["observed"])
    return claims_between([*models_by_site(mine), *theirs])


def weights_at(sites: Sequence[str], frozen: Mapping[str, Sequence[float]] | None) -> Weights | None:
    """The frozen weights of members at these sites, (site, members).

    >>> weights_at(["b"], {"a": [1.0, 0.0], "b": [0.25, 0.75]})
    array([[0.25, 0.75]])
    """
    return None if frozen is None else np.array([frozen[site] for site in sites], dtype=np.float64)


def main(words: Sequence[str] | None = None) -> None:
    """Count the look, score the recipe in the test years, add its rows to a result file, print them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--recipe", type=Path, default=Path("results/hydrology/recipe.json"))
    parser.add_argument("--benchmarks", type=Path, help="as of mclstm report; models of others are compared")
    parser.add_argument("--results", required=True, type=Path, help="result file (JSON)")
    options = parser.parse_args(words)
    try:
        recipe = committed_results(options.recipe)["recipe"]
        require_committed(options.recipe)
        members = members_of(recipe, options.runs)
        look = count_look(options.recipe, list(members))
        rows = scored_rows(recipe, members, look)
        update_results(options.results, rows, [])
        any_run = next(iter(members.values()))[0]
        update_results(options.results, [], claims_again(options.results, any_run, options.benchmarks))
    except (CheckpointError, ConfigError, DataError, StorageError) as error:
        parser.error(str(error))
    print(f"{tables(rows)}\n\nThe test years were scored {look} time{'s' if look > 1 else ''}.")


if __name__ == "__main__":
    main()
