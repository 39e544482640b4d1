"""Scores of models side by side: rows, the table, the tests between models, and what models are called."""

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from mclstm.evaluation.comparison import COMPARED, ModelScores, summary
from mclstm.report.comparison import Row, Section
from mclstm.report.markdown import NOTHING, text_table

__all__ = [
    "DIGITS", "HEADS", "KINDS", "MARKS", "OTHER_MODELS", "label", "member_rows", "outcomes_of", "score_cell",
    "score_rows", "score_section", "score_table", "short_label", "significance_section", "significance_table",
]  # fmt: skip

HEADS = {"nse": "NSE", "beta-nse": "β-NSE", "flv": "FLV", "fhv": "FHV", "kge": "KGE", "alpha-nse": "α-NSE"}
DIGITS = {"flv": 1, "fhv": 1}
MARKS = {True: "yes", False: "no", None: NOTHING}
KINDS = {"mclstm": "MC-LSTM", "lstm": "LSTM", "hybrid": "Hybrid"}
# Models that other people published.
OTHER_MODELS = {
    "lstm-kratzert2019-ensemble": "LSTM ensemble (Kratzert 2019)",
    "lstm-kratzert2019": "LSTM single (Kratzert 2019)",
    "ealstm-kratzert2019-ensemble": "EA-LSTM ensemble (Kratzert 2019)",
    "ealstm-kratzert2019": "EA-LSTM single (Kratzert 2019)",
    "sac-sma": "SAC-SMA", "vic-basin": "VIC (basin)", "vic-regional": "VIC (regional)",
    "mhm-basin": "mHM (basin)", "mhm-regional": "mHM (regional)",
    "hbv-lower": "HBV (lower)", "hbv-upper": "HBV (upper)",
    "fuse-900": "FUSE (900)", "fuse-902": "FUSE (902)", "fuse-904": "FUSE (904)",
}  # fmt: skip
SIGNIFICANT = 0.05
TESTS = """Wilcoxon's signed-rank test over sites, two-sided, of distances from the perfect value: `better`
and `worse` where p < 0.05, else `same`; p in brackets."""


def score_section(models: Sequence[ModelScores], setting: str) -> Section:
    """The table of scores, and all scores by site."""
    rows = score_rows(models, setting)
    table = score_table(rows, {model.name: model.conserving for model in models})
    return Section("", table, rows, {"scores": by_site(models)})


def score_rows(models: Sequence[ModelScores], setting: str) -> list[Row]:
    """One row per model and metric that the model has."""
    cells = [(model, metric, summary(model, metric)) for model in models for metric in COMPARED]
    return [
        {"model": model.name, "setting": setting, "metric": metric}
        | cell._asdict()
        | {"values": [plain(value) for value in cell.values]}
        for model, metric, cell in cells
        if cell is not None
    ]


def plain(value: float) -> float | None:
    """Six digits are enough for a score; JSON has no NaN."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def member_rows(model: str, setting: str, metric: str, values: pd.Series) -> list[Row]:
    """The mean of a number over members with its range; no row where no member has the number.

    >>> member_rows("mclstm", "basin 1", "swe-r", pd.Series([0.5, 0.75, float("nan")]))[0]["value"]
    0.625
    """
    known = [round(float(value), 6) for value in values.dropna()]
    if not known:
        return []
    about: Row = {"model": model, "setting": setting, "metric": metric, "n": len(known)}
    middle = {"value": sum(known) / len(known), "low": min(known), "high": max(known)}
    return [{**about, **middle, "values": known}]


def by_site(models: Sequence[ModelScores]) -> pd.DataFrame:
    """All scores of all models, one row per model, member and site."""
    parts = [
        frame.reset_index().assign(model=model.name, member=number)
        for model in models
        for number, frame in enumerate(model.frames)
    ]
    return pd.concat(parts, ignore_index=True).set_index(["model", "member", "site"]).reset_index()


def label(model: str) -> str:
    """How tables and figures call a model.

    >>> label("mclstm"), label("lstm-tuned-ensemble"), label("hbv-upper")
    ('MC-LSTM single', 'LSTM tuned, ensemble', 'HBV (upper)')
    >>> label("my-model-ensemble")
    'my-model ensemble'
    """
    if model in OTHER_MODELS:
        return OTHER_MODELS[model]
    name, ensemble = model.removesuffix("-ensemble"), model.endswith("-ensemble")
    kind, _, form = name.partition("-")
    if kind not in KINDS:
        return f"{name} ensemble" if ensemble else name
    whole = f"{KINDS[kind]} {form.replace('-', ' ')}," if form else KINDS[kind]
    return f"{whole} {'ensemble' if ensemble else 'single'}"


def short_label(model: str) -> str:
    """The same for tables in which every line is about single members.

    >>> short_label("mclstm"), short_label("mclstm-tuned"), short_label("calendar")
    ('MC-LSTM', 'MC-LSTM tuned', 'calendar')
    """
    return label(model).removesuffix(" single").removesuffix(",")


def score_table(rows: Sequence[Row], conserving: Mapping[str, bool | None]) -> str:
    """Markdown: one line per model, median (lower to upper quartile), or mean ± deviation over seeds."""
    cells = {(row["model"], row["metric"]): row for row in rows}
    lines = [
        [label(model), MARKS[conserving[model]], *(score_cell(cells.get((model, m))) for m in COMPARED)]
        for model in dict.fromkeys(row["model"] for row in rows)
    ]
    return text_table(["", "MC", *(HEADS[metric] for metric in COMPARED)], lines)


def score_cell(row: Row | None) -> str:
    """One cell: the value with its interval."""
    if row is None:
        return NOTHING
    digits = DIGITS.get(row["metric"], 3)
    value, low, high = (f"{row[key]:.{digits}f}" for key in ("value", "low", "high"))
    if row["n"] > 1 and not row["model"].endswith("-ensemble"):
        return f"{value} ± {row['high'] - row['value']:.{digits}f}"
    return f"{value} ({low} to {high})"


def significance_section(tests: pd.DataFrame, subjects: Sequence[str]) -> Section:
    """Who is better than whom in what, one table per subject; tests: what `pairwise_tests` gives."""
    tables = [significance_table(subject, outcomes_of(tests, subject)) for subject in subjects]
    text = "\n\n".join([TESTS, *tables]) if len(tests) else "There is no other model to test."
    return Section("Tests", text, tables={"tests": tests})


def outcomes_of(tests: pd.DataFrame, subject: str) -> dict[tuple[str, str], tuple[float, float]]:
    """By rival and metric, p that the subject is better, and p that it is worse."""
    outcomes = {}
    for test in tests.to_dict("records"):
        p = test["p better"], test["p worse"]
        if test["model"] == subject:
            outcomes[test["other"], test["metric"]] = p
        elif test["other"] == subject:
            outcomes[test["model"], test["metric"]] = p[::-1]
    return outcomes


def significance_table(subject: str, outcomes: Mapping[tuple[str, str], tuple[float, float]]) -> str:
    """Markdown: one line per rival, one column per metric, `better`, `worse` or `same` with the test's p.

    outcomes: what `outcomes_of` gives

    >>> print(significance_table("mclstm", {("lstm", "fhv"): (0.02, 0.98)}).splitlines()[-1])
    | LSTM single | – | – | – | better (0.020) | – | – |
    """
    lines = [
        [label(rival), *(outcome(outcomes.get((rival, metric))) for metric in COMPARED)]
        for rival in dict.fromkeys(rival for rival, _ in outcomes)
    ]
    return text_table([f"{label(subject)} against", *(HEADS[metric] for metric in COMPARED)], lines)


def outcome(test: tuple[float, float] | None) -> str:
    """The result of one test in a word."""
    if test is None:
        return NOTHING
    better, worse = test
    word = "better" if better < SIGNIFICANT else "worse" if worse < SIGNIFICANT else "same"
    p = min(test)
    return f"{word} ({'< 0.001' if p < 0.001 else format(p, '.3f')})"
