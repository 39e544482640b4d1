"""A comparison as rows and claims of a result file, beside those that are already in it."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from mclstm.errors import DataError
from mclstm.evaluation.comparison import COMPARED, Scored, summary
from mclstm.evaluation.statistics import Interval
from mclstm.report.comparison.paper import CLAIM, CONSERVING, PAPER, SEEDS, paper_value
from mclstm.report.results import SIGNIFICANT, interval_row, save_results
from mclstm.training.atomic import write_text_atomic

__all__ = ["claims_of", "member_rows", "merged", "paper_rows", "rows_of", "update_results"]

TEST = "Wilcoxon signed-rank, 2 x one-sided p, |value - perfect| of {} sites"
Row = dict[str, Any]


def rows_of(models: Sequence[Scored], setting: str, like_paper: bool, keep_sites: bool = True) -> list[Row]:
    """One row a model and metric; `like_paper` puts the paper's number beside it.

    `keep_sites` keeps the scores of single sites, which is not ours to do with other people's files.
    """
    rows = []
    for model in models:
        for metric in COMPARED:
            found = summary(model, metric)
            if found is not None:
                by_site = len(model.frames) == 1
                values = [] if by_site and not keep_sites else [_plain(v) for v in found.values]
                about = {"model": model.name, "setting": setting, "metric": metric}
                rows.append(about | found._asdict() | {
                    "paper": paper_value(model.name, metric) if like_paper else None, "values": values,
                })  # fmt: skip
    return rows


def _plain(value: float) -> float | None:
    """Six digits are more than any score deserves; JSON has no NaN."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def member_rows(
    model: str, setting: str, metric: str, values: pd.Series, paper: float | None = None, **more: Any
) -> list[Row]:
    """The mean of a number over members with its range; no row where no member has it.

    >>> member_rows("mclstm", "basin 1", "swe-r", pd.Series([0.5, 0.75, float("nan")]))[0]["value"]
    0.625
    """
    every = [round(float(value), 6) for value in values.dropna()]
    if not every:
        return []
    mean = sum(every) / len(every)
    middle = Interval(mean, min(every), max(every), len(every))
    return [interval_row(setting, model, metric, middle, every, paper, **more)]


def paper_rows(setting: str, rows: Sequence[Row]) -> list[Row]:
    """A row without a value for every cell of the paper's table that nothing else gives."""
    have = {(row["model"], row["metric"]) for row in rows}
    blank = {"setting": setting, "n": 0, "value": None, "low": None, "high": None, "values": []}
    return [
        {"model": model, "metric": metric, **blank, "paper": paper_value(model, metric)}
        for model in (*PAPER, *SEEDS)
        for metric in COMPARED
        if (model, metric) not in have and paper_value(model, metric) is not None
    ]


def claims_of(tests: pd.DataFrame, subject: str) -> list[Row]:
    """What the tests say of one model: against each other one, both ways, and the paper's two sentences."""
    rows = [
        _seen_by(row, subject) for row in tests.to_dict("records") if subject in (row["model"], row["other"])
    ]
    single = [claim for row in rows for claim in _both_ways(row, subject)]
    rivals = [row for row in rows if row["metric"] == "nse" and CONSERVING.get(row["other"], False)]
    peaks = [row for row in rows if row["metric"] == "fhv"]
    whole = "than every {} with scores by site"
    return [
        *single,
        *_all(rivals, f"{subject} is better in nse {whole.format('mass-conserving model')}"),
        *_all(peaks, f"{subject} is better in fhv {whole.format('model')} (the paper: p = {CLAIM})"),
    ]


def _seen_by(row: Mapping[Any, Any], subject: str) -> Row:
    mine = row["model"] == subject
    won, lost = ("p better", "p worse") if mine else ("p worse", "p better")
    other = row["other"] if mine else row["model"]
    about = {"metric": row["metric"], "sites": row["sites"], "other": other}
    return about | {"won": float(row[won]), "lost": float(row[lost])}


def _both_ways(row: Row, subject: str) -> list[Row]:
    ways = ((subject, row["other"], row["won"]), (row["other"], subject, row["lost"]))
    return [
        _claim(f"{one} is better than {two} in {row['metric']}", TEST.format(row["sites"]), p)
        for one, two, p in ways
    ]


def _all(rows: list[Row], claim: str) -> list[Row]:
    """One claim about all of them: it holds where every single one does, so its p is the largest."""
    worst = max((row["won"] for row in rows), default=None)
    return [] if worst is None else [_claim(claim, f"the largest p of {len(rows)} such tests", worst)]


def _claim(claim: str, test: str, p: float) -> Row:
    return {"claim": claim, "test": test, "p": p, "holds": p < SIGNIFICANT}


def merged(content: Row, rows: Sequence[Row], claims: Sequence[Row]) -> Row:
    """The content of a result file with these rows and claims; those about the same thing are replaced.

    A row that holds the paper's number alone never replaces one that was measured. Comparisons of models are
    made anew as a whole: an old one may be about members that are an ensemble by now.
    """
    measured = {_key(row) for row in content["rows"] if row["value"] is not None}
    kept = [row for row in rows if row["value"] is not None or _key(row) not in measured]
    new = {_key(row) for row in kept}
    said = {claim["claim"] for claim in claims}
    return content | {
        "rows": [row for row in content["rows"] if _key(row) not in new] + kept,
        "claims": [old for old in content["claims"] if old["claim"] not in said and not compares(old)]
        + list(claims),
    }


def compares(claim: Row) -> bool:
    """Whether a claim is of those `claims_of` makes."""
    return " is better " in claim["claim"]


def _key(row: Row) -> tuple[str, str, str]:
    return row["model"], row["setting"], row["metric"]


def update_results(path: Path, rows: Sequence[Row], claims: Sequence[Row]) -> None:
    """Add rows and claims to a result file, which is made where it does not exist; the caller is alone there.

    path: results/hydrology/<protocol>.json; any other name is of the stated protocol
    """
    if not path.is_file():
        protocol = "published" if path.stem == "published" else "stated"
        save_results(path, "hydrology", "paper", [], 0.0, protocol=protocol)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        full = merged(content, rows, claims)
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} is not a result file ({error}). Name another, or remove it.") from None
    write_text_atomic(path, json.dumps(full, indent=1, allow_nan=False) + "\n")
