"""A comparison of runs as rows and claims of a result file, beside the paper's numbers.

    python -m mclstm_paper.hydrology.record RUN... --benchmarks DIR --snow DIR \\
        --results results/hydrology/stated.json

What is compared, and how, is `mclstm report`'s; the paper's numbers appear beside the 447 basins of its test
period. Rows and claims that the file holds about other things stay.
"""

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from mclstm.errors import CheckpointError, ConfigError, DataError, StorageError
from mclstm.evaluation.comparison import COMPARED, ModelScores
from mclstm.jobs.job import alone
from mclstm.report.comparison.balance_section import closures
from mclstm.report.comparison.comparison_report import Comparison, Others, compare, write
from mclstm.report.comparison.low_flow_section import LOW_FLOW_METRICS
from mclstm.report.comparison.score_section import member_rows, score_rows
from mclstm.report.comparison.season_section import SEASON_METRICS
from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm.training.cost import total
from mclstm_paper.hydrology.comparison_claims import SUBJECTS, claims_of, still_true
from mclstm_paper.hydrology.models import PREFIX
from mclstm_paper.hydrology.page import comparison_table
from mclstm_paper.hydrology.printed import ENSEMBLES, SEEDS, SNOW_R, in_papers_setting, printed_value
from mclstm_paper.results import Claim, Row, claim, made_now, save_results

__all__ = [
    "main",
    "paper_rows",
    "recorded",
    "rows_of",
    "update_results",
    "updated",
    "with_costs",
]

COSTS = ("commit", "wall_seconds", "cpu_seconds", "peak_mb")


def recorded(comparison: Comparison) -> tuple[list[Row], list[Claim]]:
    """All rows and claims of a comparison."""
    flows = comparison.groups[0].flows
    like_paper, setting = in_papers_setting(flows), f"{flows.sizes['site']} basins"
    scores = [
        row
        for item in comparison.groups
        for row in with_costs(rows_of(item.scores, setting, like_paper), [run.path for run in item.runs])
    ]
    scores += rows_of(comparison.others, setting, like_paper, keep_sites=False)
    scores += paper_rows(setting, scores) if like_paper else []
    seasons = [row | {"paper": None} for row in comparison.rows if row["metric"] in SEASON_METRICS]
    low_flows = [row | {"paper": None} for row in comparison.rows if row["metric"] in LOW_FLOW_METRICS]
    snow = snow_rows(comparison.tables["snow"]) if "snow" in comparison.tables else []
    scored = {model.name for item in comparison.groups for model in item.scores}
    subjects = dict.fromkeys([*comparison.subjects, *(name for name in SUBJECTS if name in scored)])
    tested = subjects if len(comparison.tests) else {}
    every = (one for subject in tested for one in claims_of(comparison.tests, subject))
    claims = list({one["claim"]: one for one in every}.values())  # of a pair of subjects once
    return scores + low_flows + seasons + snow, claims + [
        claim(c.claim, c.evidence, None, c.holds) for c in closures(comparison.groups)
    ]


def rows_of(
    models: Sequence[ModelScores], setting: str, like_paper: bool, keep_sites: bool = True
) -> list[Row]:
    """One row per model and metric; `like_paper` puts the paper's number beside it.

    `keep_sites` keeps the scores of single sites, which is not ours to do with other people's files.
    """
    several = {model.name for model in models if len(model.frames) > 1}
    sites = {model.name: gauges(model) for model in models if model.name not in several and keep_sites}
    return [
        row
        | {"paper": printed_value(row["model"], row["metric"]) if like_paper else None}
        | ({} if keep_sites or row["model"] in several else {"values": []})
        | ({"sites": sites[row["model"]]} if row["metric"] == "nse" and row["model"] in sites else {})
        for row in score_rows(models, setting)
    ]


def gauges(model: ModelScores) -> list[str]:
    """The sites of the values of an ensemble's rows, in their order; its row of NSE alone names them."""
    return [str(site) for site in model.frames[0].sort_index().index]


def with_costs(rows: Sequence[Row], runs: Sequence[Path]) -> list[Row]:
    """The rows of a model with what each member cost; null where a run did not keep it.

    >>> with_costs([{"model": "lstm"}], [Path("no-such-run")])[0]["training"]["cpu_seconds"]
    [None]
    """
    members = [total(run) for run in runs]
    costs = {key: [cost[key] for cost in members] for key in COSTS}
    return [{**row, "training": costs} for row in rows]


def paper_rows(setting: str, rows: Sequence[Row]) -> list[Row]:
    """A row without a value for every cell of the paper's table that nothing else gives."""
    have = {(row["model"], row["metric"]) for row in rows}
    blank = {"setting": setting, "n": 0, "value": None, "low": None, "high": None, "values": []}
    return [
        {"model": model, "metric": metric, **blank, "paper": printed_value(model, metric)}
        for model in (*ENSEMBLES, *SEEDS)
        for metric in COMPARED
        if (model, metric) not in have and printed_value(model, metric) is not None
    ]


def snow_rows(sums: pd.DataFrame) -> list[Row]:
    """Held-out correlations of sums of cells over members, and what the date alone gives.

    sums: the table `snow` of a comparison
    """
    rows: list[Row] = []
    for model, site in dict.fromkeys(zip(sums["model"], sums["site"], strict=True)):
        here = sums[(sums["model"] == model) & (sums["site"] == site)]
        for count in sorted(set(here["count"])):
            part = here[here["count"] == count]
            setting = f"basin {site}, {count} cell{'s' if count > 1 else ''}"
            rows += [
                row | {"paper": SNOW_R.get(setting)}
                for row in member_rows(model, setting, "swe-r", part["r held out"])
            ]
            rows += member_rows(model, setting, "swe-r-anomaly", part["r of anomalies"])
        rows += member_rows("calendar", f"basin {site}", "swe-r", here["r of the date"].head(1))
    return [{"paper": None, **row} for row in rows]


def updated(content: Mapping[str, Any], rows: Sequence[Row], claims: Sequence[Claim]) -> dict[str, Any]:
    """The content of a result file with new rows and claims; those about the same thing are replaced.

    A row that holds the paper's number alone never replaces a measured one. Old comparisons stay where the
    models they name were not compared again and have the scores that they had.
    """
    measured = {about(row): row for row in content["rows"] if row["value"] is not None}
    wanted = [row for row in rows if row["value"] is not None or about(row) not in measured]
    new = [look_of(measured.get(about(row), {}), row) | row for row in wanted]
    replaced = {about(row) for row in new}
    before = {key: row["value"] for key, row in measured.items()}
    changed = {row["model"] for row in new if not same(before.get(about(row), row["value"]), row["value"])}
    return {
        **content,
        "made": made_now(content["made"]["wall_seconds"]),
        "rows": [row for row in content["rows"] if about(row) not in replaced] + new,
        "claims": [*still_true(content["claims"], claims, changed), *claims],
    }


def look_of(old: Row, new: Row) -> dict[str, Any]:
    """Which look at the test years gave a score: the same score made again is of the same look.

    >>> [look_of({"value": 0.5, "scoring": 2}, {"value": value}) for value in (0.5, 0.6)]
    [{'scoring': 2}, {}]
    """
    return {"scoring": old["scoring"]} if "scoring" in old and same(old["value"], new["value"]) else {}


def same(old: float | None, new: float | None) -> bool:
    """Whether two scores are one, up to the rounding of another machine."""
    return old == new or (old is not None and new is not None and math.isclose(old, new, rel_tol=1e-6))


def about(row: Row) -> tuple[str, str, str]:
    return row["model"], row["setting"], row["metric"]


def update_results(path: Path, rows: Sequence[Row], claims: Sequence[Claim]) -> None:
    """Add rows and claims to a result file; the file is made where it does not exist.

    path: results/hydrology/<protocol>.json; a file with any other name is of the stated protocol
    """
    make_folder(path.parent)
    with alone(path.parent):  # an experiment may be adding its rows
        if not path.is_file():
            protocol = "published" if path.stem == "published" else "stated"
            save_results(path, "hydrology", "paper", [], 0.0, protocol=protocol)
        try:
            content = updated(json.loads(path.read_text(encoding="utf-8")), rows, claims)
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path} is not a result file ({error}). Name another, or remove it.") from None
        write_text_atomic(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def main(words: Sequence[str] | None = None) -> None:
    """Compare runs, add rows and claims to a result file, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path)
    for name in ("benchmarks", "simulations", "snow", "data"):
        parser.add_argument(f"--{name}", type=Path, help=f"as --{name} of mclstm report")
    parser.add_argument("--together", action="append", default=[], help="name=model,model; repeat")
    parser.add_argument("--weights", default="", help="as --weights of mclstm report")
    parser.add_argument("--out", type=Path, help="folder for the page, the tables and the figures too")
    parser.add_argument("--split", default="test", help="the period to compare")
    parser.add_argument("--results", required=True, type=Path, help="result file (JSON)")
    options = parser.parse_args(words)
    places = {name: getattr(options, name) for name in ("benchmarks", "simulations", "snow", "data")}
    others = Others(**places, together=options.together, prefix=PREFIX, weights=options.weights)
    try:
        comparison = compare(options.runs, others, options.split)
        rows, claims = recorded(comparison)
        update_results(options.results, rows, claims)
        if options.out is not None:
            write(comparison, options.out)
    except (CheckpointError, ConfigError, DataError, StorageError) as error:
        parser.error(str(error))
    models = [model for item in comparison.groups for model in item.scores] + comparison.others
    scores = [row for row in rows if row["metric"] in COMPARED]
    print(comparison_table(scores, {model.name: model.conserving for model in models}))
    print("\n".join(["", *comparison.notes]))
    if not in_papers_setting(comparison.groups[0].flows):
        print("These are not the paper's 447 basins in its test period: its numbers are not shown.")


if __name__ == "__main__":
    main()
