"""The hydrology blocks of the documentation, from results/hydrology/*.json."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mclstm.evaluation.comparison import COMPARED
from mclstm.report.comparison.cycle_figure import METRICS as CYCLE
from mclstm.report.comparison.cycle_figure import cycle_table
from mclstm.report.comparison.score_table import comparison_table, label, short_label
from mclstm.report.comparison.tests_table import tests_table
from mclstm.report.results import read_results
from mclstm.report.tables import NOTHING, lined
from mclstm_paper.hydrology.trials_table import trials_table
from mclstm_paper.hydrology.variants_tables import ablation_table, claims_list, variants_table

__all__ = ["HYDROLOGY"]

FOLDER = "results/hydrology"
SETTING = "447 basins"
DIGITS = {"nse": ".3f", "fhv": ".1f"}
SINGLE = ("mclstm", "mclstm-tuned", "mclstm-small-batches", "mclstm-antecedent")
# What, its metric, what was aimed at, and the models that tried.
TARGETS = (
    ("MC-LSTM, one member, NSE", "nse", "at least 0.715, the paper's 0.726", SINGLE),
    ("MC-LSTM, ensemble, NSE", "nse", "the paper's 0.744, then 0.763", ("mclstm-mixed-ensemble",)),
    ("MC-LSTM, ensemble, FHV", "fhv", "the paper's -14.7", ("mclstm-mixed-ensemble",)),
    ("LSTM, one member, NSE", "nse", "the paper's 0.737", ("lstm", "lstm-tuned")),
    ("LSTM, ensemble, NSE", "nse", "the paper's 0.763", ("lstm-tuned-ensemble",)),
)
NONE = f"Not measured yet: `{FOLDER}/stated.json` has no such rows."


def table(root: Path) -> str:
    """The paper's table with the paper's numbers beside ours."""
    rows = [row for row in read(root)["rows"] if row["setting"] == SETTING and row["metric"] in COMPARED]
    return comparison_table(rows) if any(row["value"] is not None for row in rows) else NONE


def tests(root: Path) -> str:
    """Wilcoxon's tests of our MC-LSTM against every other model, and the claims about all of them."""
    claims = read(root)["claims"]
    for subject in ("mclstm-ensemble", "mclstm-mixed-ensemble", "mclstm-tuned-ensemble", "mclstm"):
        if any(claim["claim"].startswith(f"{subject} is better than") for claim in claims):
            whole = [
                c for c in claims if " than every " in c["claim"] and c["claim"].startswith(f"{subject} ")
            ]
            said = [f"* {c['claim']}: {'yes' if c['holds'] else 'no'}, p = {c['p']:.2g}" for c in whole]
            return "\n".join([tests_table(claims, subject), "", *said])
    return NONE


def snow(root: Path) -> str:
    """Correlation of chosen cells with snow water equivalent in the years that had no part in the choice."""
    rows = [row for row in read(root)["rows"] if row["metric"].startswith("swe-r")]
    if not rows:
        return NONE
    names = {"swe-r": "r", "swe-r-anomaly": "r of anomalies"}
    lines = []
    for row in rows:
        span = f" ({row['low']:.2f} to {row['high']:.2f})" if row["n"] > 1 else ""
        paper = NOTHING if row["paper"] is None else f"{row['paper']:.2f}"
        about = [short_label(row["model"]), row["setting"], names[row["metric"]]]
        lines.append([*about, f"{row['value']:.2f}{span}", str(row["n"]), paper])
    return lined(["model", "what", "", "held out", "members", "paper"], lines)


def evapotranspiration(root: Path) -> str:
    """The annual cycle of what models lose against potential and modelled evapotranspiration."""
    rows = [row for row in read(root)["rows"] if row["metric"] in CYCLE]
    return cycle_table(rows) if rows else NONE


def variants(root: Path) -> str:
    """The variants of the appendix side by side."""
    rows = read(root, "variants.json")["rows"]
    return variants_table(rows) if rows else none("variants.json")


def ablation(root: Path) -> str:
    """The ablation's table, and which of its differences are significant."""
    found = read(root, "ablation.json")
    if not found["rows"]:
        return none("ablation.json")
    return f"{ablation_table(found['rows'])}\n\n{claims_list(found['claims'])}"


def trials(root: Path) -> str:
    """What was tried on the validation years."""
    rows = read(root, "trials.json")["rows"]
    return trials_table(rows) if rows else none("trials.json")


def reached(root: Path) -> str:
    """What was aimed at in the test years, beside what came out."""
    rows = {(row["model"], row["metric"]): row for row in read(root)["rows"] if row["setting"] == SETTING}
    lines = []
    for what, metric, aimed, models in TARGETS:
        found = {label(model): rows[model, metric]["value"] for model in models if (model, metric) in rows}
        shown = ", ".join(f"{value:{DIGITS[metric]}} ({name})" for name, value in found.items())
        lines += [[what, aimed, shown]] if shown else []
    return lined(["", "aimed at", "reached"], lines) if lines else NONE


def validation(root: Path) -> str:
    """What ensembles score in the validation years, by which they were chosen."""
    found = read(root, "validation.json")["rows"]
    rows = [row for row in found if row["metric"] == "nse" and row["model"].startswith("mclstm")]
    lines = [
        [label(row["model"]), str(row["n"]), f"{row['value']:.3f}"]
        for row in sorted(rows, key=lambda row: -row["value"])
    ]
    return lined(["", "members", "median NSE, validation"], lines) if rows else none("validation.json")


def reading(root: Path) -> str:
    """How long the basins take to read."""
    rows = {item["setting"]: item for item in read(root, "reading.json")["rows"]}
    if not rows:
        return none("reading.json")
    first, cached = (
        f"{item['value']:.1f} s ({item['low']:.1f} to {item['high']:.1f}, {item['n']} times)"
        for item in (rows["first"], rows["cached"])
    )
    return f"The first reading takes {first}, a later one {cached}: median and range."


def none(name: str) -> str:
    return f"Not measured yet: `{FOLDER}/{name}` does not exist."


def read(root: Path, name: str = "stated.json") -> dict[str, Any]:
    """A result file, or an empty one: a block of a page must not fail because nothing was measured."""
    return read_results(root / FOLDER / name) or {"rows": [], "claims": []}


HYDROLOGY: dict[str, Callable[[Path], str]] = {
    "hydrology": table,
    "hydrology-tests": tests,
    "hydrology-snow": snow,
    "hydrology-evapotranspiration": evapotranspiration,
    "hydrology-variants": variants,
    "hydrology-ablation": ablation,
    "hydrology-trials": trials,
    "hydrology-reached": reached,
    "hydrology-validation": validation,
    "hydrology-reading": reading,
}
