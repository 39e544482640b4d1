"""The paper's table beside ours, and the other hydrology blocks of the docs, from results/hydrology/."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mclstm.evaluation.comparison import COMPARED
from mclstm.report.comparison.score_section import (
    DIGITS,
    HEADS,
    MARKS,
    OTHER_MODELS,
    label,
    score_cell,
    short_label,
    significance_table,
)
from mclstm.report.comparison.season_section import SEASON_METRICS, season_table
from mclstm.report.markdown import NOTHING, text_table
from mclstm_paper.experiment import Block, Headline, Line, three_decimals
from mclstm_paper.hydrology.printed import METRICS, printed_quartiles
from mclstm_paper.hydrology.trials import trials_table
from mclstm_paper.results import Claim, Row, read_results

__all__ = [
    "BLOCKS", "CONSERVING", "FOLDER", "HEADLINES", "NO_ROWS", "PAIR", "SETTING", "SUMMARY",
    "comparison_table", "not_measured", "read",
]  # fmt: skip

FOLDER = "results/hydrology"
SETTING = "447 basins"
NO_ROWS = f"Not measured yet: `{FOLDER}/stated.json` has no such rows."
# The lines of the table, in its order.
MODELS = (
    *("hybrid-weighted-ensemble", "hybrid-ensemble", "hybrid"),
    *("hybrid-temperature-weighted-ensemble", "hybrid-temperature-ensemble", "hybrid-temperature"),
    "mclstm-mixed-ensemble",
    *("mclstm-antecedent-ensemble", "mclstm-antecedent"),
    *("mclstm-small-batches-ensemble", "mclstm-small-batches"),
    *("mclstm-tuned-ensemble", "mclstm-tuned", "mclstm-ensemble", "mclstm"),
    *("mclstm-evapotranspiration-ensemble", "mclstm-evapotranspiration"),
    *("lstm-steered-weighted-ensemble", "lstm-steered-ensemble", "lstm-steered"),
    *("lstm-balance-ensemble", "lstm-balance", "lstm-dropout-ensemble", "lstm-dropout"),
    *("lstm-tuned-ensemble", "lstm-tuned", "lstm-ensemble", "lstm"),
    *("hbv-gradient", "hbv-evolution", "sac-sma-gradient", "sac-sma-evolution"),
    *OTHER_MODELS,
)
FREE = ("lstm", "ealstm", "mclstm-evapotranspiration")  # their predictions need not be mass they were given
CONSERVING = {name: not name.startswith(FREE) for name in MODELS}
TRAINED = ("mclstm", "lstm")  # by us: without a run they have no value, for the paper's is not ours
NOTE = "† the paper's value: neither scores by basin nor simulations were at hand."
PAIR = re.compile(r"(\S+) is better than (\S+) in (\S+)")
SINGLE = ("mclstm", "mclstm-tuned", "mclstm-small-batches", "mclstm-antecedent")
CHOSEN = ("hybrid-weighted-ensemble", "hybrid-ensemble")
# What, its metric, what was aimed at, and the models that tried.
TARGETS = (
    ("MC-LSTM, one member, NSE", "nse", "at least 0.715, the paper's 0.726", SINGLE),
    ("MC-LSTM, ensemble, NSE", "nse", "the paper's 0.744, then 0.763", ("mclstm-mixed-ensemble",)),
    ("MC-LSTM, ensemble, FHV", "fhv", "the paper's -14.7", ("mclstm-mixed-ensemble",)),
    ("Hybrid, one member, NSE", "nse", "0.735", ("hybrid",)),
    ("Conserving ensemble, NSE", "nse", "0.755, then 0.763", CHOSEN),
    ("Conserving ensemble, FHV", "fhv", "-12.5", CHOSEN),
    ("LSTM, one member, NSE", "nse", "the paper's 0.737", ("lstm", "lstm-tuned", "lstm-steered")),
    ("LSTM, ensemble, NSE", "nse", "the paper's 0.763", ("lstm-tuned-ensemble", "lstm-steered-ensemble")),
)


def comparison_table(rows: Sequence[Row], conserving: Mapping[str, bool | None] | None = None) -> str:
    """Markdown: one line per model, median (lower to upper quartile), or mean ± deviation over seeds.

    Beside each of the paper's four metrics stands the paper's own number, if any row has one.
    """
    cells = {(row["model"], row["metric"]): row for row in rows}
    flags = {**CONSERVING, **(conserving or {})}
    with_paper = METRICS if any(row["paper"] is not None for row in rows) else ()
    models = ordered({row["model"] for row in rows})
    head, lines = ["", "MC"], [[label(model), MARKS[flags.get(model)]] for model in models]
    for metric in COMPARED:
        head += [HEADS[metric], "paper"] if metric in with_paper else [HEADS[metric]]
        for line, model in zip(lines, models, strict=True):
            row = cells.get((model, metric))
            line += [our_cell(row), paper_cell(row)] if metric in with_paper else [our_cell(row)]
    table = text_table(head, lines)
    return f"{table}\n\n{NOTE}" if "†" in table else table


def ordered(models: Iterable[str]) -> list[str]:
    """The models of the table in its order; those that it does not know come first, by name."""
    known = [name for name in MODELS if name in models]
    return sorted(set(models) - set(known)) + known


def our_cell(row: Row | None) -> str:
    """The value with its interval; where nothing else is known the paper's, marked."""
    if row is None or row["value"] is not None:
        return score_cell(row)
    if row["model"].removesuffix("-ensemble") in TRAINED:
        return NOTHING
    digits = DIGITS.get(row["metric"], 3)
    value, low, high = printed_quartiles(row["model"], row["metric"])
    return f"*{value:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})* †"


def paper_cell(row: Row | None) -> str:
    if row is None or row["paper"] is None:
        return NOTHING
    return f"{row['paper']:.{DIGITS.get(row['metric'], 3)}f}"


def scores(root: Path) -> str:
    """The paper's table with the paper's numbers beside ours."""
    rows = [row for row in read(root)["rows"] if row["setting"] == SETTING and row["metric"] in COMPARED]
    return comparison_table(rows) if any(row["value"] is not None for row in rows) else NO_ROWS


def published(root: Path) -> str:
    """Our members of the published code's design, beside the paper's numbers."""
    rows = [row for row in read(root, "published.json")["rows"] if row["metric"] in COMPARED]
    if not rows:
        return not_measured("published.json")
    paper = {(row["model"], row["metric"]): row["paper"] for row in read(root)["rows"]}
    beside = [row | {"paper": paper.get((row["model"], row["metric"]))} for row in rows]
    return f"{comparison_table(beside)}\n\n{rows[0]['setting']}."


def significance(root: Path) -> str:
    """Wilcoxon's tests of our best model against every other one, and the claims about all of them."""
    claims = read(root)["claims"]
    for subject in ("hybrid-weighted-ensemble", "mclstm-ensemble", "mclstm-mixed-ensemble", "mclstm"):
        outcomes = claimed(claims, subject)
        if outcomes:
            whole = [c for c in claims if re.match(rf"{subject} .* than every ", c["claim"])]
            lines = [f"* {c['claim']}: {'yes' if c['holds'] else 'no'}, p = {c['p']:.2g}" for c in whole]
            return "\n".join([significance_table(subject, outcomes), "", *lines])
    return NO_ROWS


def claimed(claims: Sequence[Claim], subject: str) -> dict[tuple[str, str], tuple[float, float]]:
    """By rival and metric, p that the subject is better and p that it is worse, from claims in words.

    >>> better = {"claim": "mclstm is better than lstm in fhv", "p": 0.02}
    >>> claimed([better, {"claim": "lstm is better than mclstm in fhv", "p": 0.98}], "mclstm")
    {('lstm', 'fhv'): (0.02, 0.98)}
    """
    p = {match.groups(): claim["p"] for claim in claims if (match := PAIR.fullmatch(claim["claim"]))}
    rivals = ordered({rival for one, rival, _ in p if one == subject})
    return {
        (rival, metric): (p[subject, rival, metric], p.get((rival, subject, metric), 1.0))
        for rival in rivals
        for metric in COMPARED
        if (subject, rival, metric) in p
    }


def snow(root: Path) -> str:
    """Correlation of chosen cells with snow water equivalent in the years that had no part in the choice."""
    rows = [row for row in read(root)["rows"] if row["metric"].startswith("swe-r")]
    if not rows:
        return NO_ROWS
    names = {"swe-r": "r", "swe-r-anomaly": "r of anomalies"}
    lines = []
    for row in rows:
        span = f" ({row['low']:.2f} to {row['high']:.2f})" if row["n"] > 1 else ""
        paper = NOTHING if row["paper"] is None else f"{row['paper']:.2f}"
        about = [short_label(row["model"]), row["setting"], names[row["metric"]]]
        lines.append([*about, f"{row['value']:.2f}{span}", str(row["n"]), paper])
    return text_table(["model", "what", "", "held out", "members", "paper"], lines)


def evapotranspiration(root: Path) -> str:
    """The annual cycle of what models lose against potential and modelled evapotranspiration."""
    rows = [row for row in read(root)["rows"] if row["metric"] in SEASON_METRICS]
    return season_table(rows) if rows else NO_ROWS


def trials(root: Path) -> str:
    """What was tried on the validation years."""
    rows = read(root, "trials.json")["rows"]
    return trials_table(rows) if rows else not_measured("trials.json")


def reached(root: Path) -> str:
    """What was aimed at in the test years, beside what came out."""
    rows = {(row["model"], row["metric"]): row for row in read(root)["rows"] if row["setting"] == SETTING}
    lines = []
    for what, metric, aimed, models in TARGETS:
        values = {label(model): rows[model, metric]["value"] for model in models if (model, metric) in rows}
        cell = ", ".join(f"{value:.{DIGITS.get(metric, 3)}f} ({name})" for name, value in values.items())
        lines += [[what, aimed, cell]] if cell else []
    return text_table(["", "aimed at", "reached"], lines) if lines else NO_ROWS


def validation(root: Path) -> str:
    """What ensembles score in the validation years, by which they were chosen."""
    every = read(root, "validation.json")["rows"]
    rows = [row for row in every if row["metric"] == "nse" and row["model"].startswith("mclstm")]
    if not rows:
        return not_measured("validation.json")
    best_first = sorted(rows, key=lambda row: -row["value"])
    lines = [[label(row["model"]), str(row["n"]), f"{row['value']:.3f}"] for row in best_first]
    return text_table(["", "members", "median NSE, validation"], lines)


def reading(root: Path) -> str:
    """How long the basins take to read."""
    rows = {row["setting"]: row for row in read(root, "reading.json")["rows"]}
    if not rows:
        return not_measured("reading.json")
    first, cached = (
        f"{row['value']:.1f} s ({row['low']:.1f} to {row['high']:.1f}, {row['n']} times)"
        for row in (rows["first"], rows["cached"])
    )
    return f"The first reading takes {first}, a later one {cached}: median and range."


def not_measured(name: str) -> str:
    return f"Not measured yet: `{FOLDER}/{name}` does not exist."


def read(root: Path, name: str = "stated.json") -> dict[str, Any]:
    """A result file, or an empty one: a block of a page must not fail because nothing was measured."""
    return read_results(root / FOLDER / name) or {"rows": [], "claims": []}


BLOCKS: dict[str, Block] = {
    "hydrology": scores,
    "hydrology-published": published,
    "hydrology-tests": significance,
    "hydrology-snow": snow,
    "hydrology-evapotranspiration": evapotranspiration,
    "hydrology-trials": trials,
    "hydrology-reached": reached,
    "hydrology-validation": validation,
    "hydrology-reading": reading,
}
SUMMARY = tuple(
    Line(f"447 basins, median NSE: {model}", SETTING, model, "nse", three_decimals)
    for kind in (
        *("mclstm", "mclstm-tuned", "mclstm-small-batches", "mclstm-antecedent", "mclstm-mixed"),
        *("hybrid", "hybrid-temperature", "lstm", "lstm-tuned", "lstm-steered"),
    )
    for model in (kind, f"{kind}-ensemble")
)
HEADLINES = (
    Headline(
        "447 rivers of CAMELS: median NSE", SETTING, "hybrid-weighted-ensemble", "nse", three_decimals,
        printed="mclstm-ensemble",
    ),
)  # fmt: skip
