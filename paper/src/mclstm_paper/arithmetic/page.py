"""Blocks of the pages about neural arithmetic: the paper's tables, ours by protocol."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from mclstm.report.results import Row, read_results
from mclstm.report.tables import markdown
from mclstm_paper.addition.variants_table import forms_table
from mclstm_paper.arithmetic.entries import median_error
from mclstm_paper.arithmetic.printed import ADDITION, RECURRENT, STATIC
from mclstm_paper.arithmetic.tables import (
    claims_table,
    error_tables,
    not_run,
    paper_errors,
    paper_success,
    success_table,
    success_tables,
)

__all__ = ["ARITHMETIC"]

# task: its table in the paper, whose models and settings ours has too
TASKS = {"addition": ADDITION, "recurrent-arithmetic": RECURRENT, "static-arithmetic": STATIC}


def read(root: Path, task: str, file: str) -> dict[str, Any] | None:
    return read_results(root / "results" / task / f"{file}.json")


def missing(task: str, protocol: str, more: str = "") -> str:
    """The one line in place of a table whose experiment has not been run."""
    command = f"mclstm experiment {task} --profile paper --protocol {protocol}{more} --results results"
    return f"Not run yet: `{command}`."


def ours(root: Path, task: str, protocol: str) -> str:
    """Our table under a protocol, what else is known, the paper's claims, and what made it."""
    found = read(root, task, protocol)
    if found is None:
        same = read(root, task, "stated") if (task, protocol) == ("static-arithmetic", "published") else None
        return missing(task, protocol) if same is None else by_other_threshold(same["rows"])
    rows = found["rows"]
    parts = [error_tables(rows) if task == "addition" else success_tables(rows)]
    parts += not_run(TASKS[task], rows)
    if found["claims"]:
        parts.append(claims_table(found["claims"]))
    # Not how long it took: the file knows the last command's time, and jobs may be of many sessions.
    made = found["made"]
    parts.append(
        f"Made {made['date']} at commit {made['commit']}, profile {found['profile']}.{trained(made, rows)}"
    )
    return "\n\n".join(parts)


def trained(made: Mapping[str, Any], rows: Sequence[Row]) -> str:
    """Which commits trained the runs, as far as their jobs say, and of which models no job says it."""
    jobs = made.get("jobs", {})
    commits = dict.fromkeys(job["commit"] for job in jobs.values())
    named = ["a copy outside of any checkout" if name == "unknown" else name for name in commits]
    silent = [m for m in dict.fromkeys(r["model"] for r in rows if r.get("trained")) if not said(m, jobs)]
    known = f" Its runs were trained at {', '.join(named)}." if named else ""
    return known + (f" Which commit trained {', '.join(silent)} is not known." if named and silent else "")


def said(model: str, jobs: Mapping[str, Any]) -> bool:
    return any(name.startswith(f"{model}/") for name in jobs)


def by_other_threshold(rows: Sequence[Row]) -> str:
    """The same runs judged by the published threshold, where the protocols differ in nothing else."""
    judged = []
    for r in rows:
        metric, _, beside = r["metric"].partition(" (")
        by = metric in ("success", "updates", "sparsity")
        judged.append(r | {"metric": metric if beside or not by else f"{metric} (stated threshold)"})
    told = [*not_run(STATIC, judged), "The runs of the table above, by the published threshold."]
    return "\n\n".join([success_tables(judged), *told])


def variants(root: Path, task: str, names: str) -> str:
    """Models beside the paper's table, under the protocols they were run with."""
    parts = []
    for protocol in ("stated", "published"):
        found = read(root, task, f"{protocol}-variants")
        if found is not None:
            shown = error_tables if task == "addition" else success_table
            parts += [f"Protocol {protocol}:", shown(found["rows"])]
            parts += [claims_table(found["claims"])] if found["claims"] else []
    return "\n\n".join(parts) or missing(task, "stated", f" --models {names}")


def forms(root: Path) -> str:
    """The forms of MC-LSTM in the addition problem against that of the table, under every protocol."""
    parts = []
    for protocol in ("stated", "published"):
        files = [read(root, "addition", f"{protocol}{of}") for of in ("", "-variants")]
        rows = [row for found in files if found is not None for row in found["rows"]]
        if any(row["model"].startswith("mclstm-") for row in rows):
            parts += [f"Protocol {protocol}:", forms_table(rows)]
    return "\n\n".join(parts)


def cells(root: Path) -> str:
    """The cells over time of the addition problem, with the gates that make them so."""
    for protocol in ("stated", "published"):
        found = read(root, "addition", f"{protocol}-reading")
        if found is not None:
            shown = {key: value for key, value in found.items() if key not in ("model", "seed")}
            gates = markdown(
                pd.DataFrame({"gate": list(shown), "value": [f"{v:.4f}" for v in shown.values()]})
            )
            head = f"{found['model']}, seed {found['seed']}, protocol {protocol}:"
            return f"{head}\n\n![cells](../results/addition/{protocol}-addition-cells.svg)\n\n{gates}"
    return missing("addition", "stated", " --models mclstm-sum")


def reading(root: Path) -> str:
    """What the cells of members of recurrent arithmetic do, in sentences made from their weights."""
    parts = []
    for protocol in ("published", "stated"):
        found = read(root, "recurrent-arithmetic", f"{protocol}-reading")
        if found is not None:
            parts += [f"Protocol {protocol}.", *pictures(root, protocol)]
            parts += [told(name, one) for name, one in found.items()]
    return "\n\n".join(parts) or missing("recurrent-arithmetic", "published", " --models mclstm")


def pictures(root: Path, protocol: str) -> list[str]:
    """The figures of the weights that there are, those of the table's model first."""
    names = [
        f"recurrent-arithmetic/{protocol}-{name}.svg" for name in ("recurrent-weights", "variants-weights")
    ]
    return [f"![gates](../results/{name})" for name in names if (root / "results" / name).exists()]


def told(name: str, found: Mapping[str, Any]) -> str:
    lines = "\n".join(f"- {sentence}" for sentence in found["sentences"])
    return f"**{name}**, seed {found['seed']}, task {found['task']} of the inputs' sums over time:\n\n{lines}"


def rates(root: Path, task: str) -> str:
    """The learning rates that were chosen on validation data."""
    found = read(root, task, "stated-rates")
    if found is None:
        return missing(task, "stated", " --grid")
    every = list(next(iter(found["validation"].values())))
    shown: dict[str, list[Any]] = {"model": list(found["choice"])}
    for rate in every:
        shown[rate] = [f"{median_error(found['validation'][model][rate]):.3g}" for model in found["choice"]]
    shown["choice"] = [f"{rate:g}" for rate in found["choice"].values()]
    told = f"Median validation error of {found['seeds'][1]} seeds that no table uses."
    rows = (read(root, task, "stated") or {"rows": []})["rows"]
    trivial = [r for r in rows if (r["model"], r["setting"], r["metric"]) == ("constant", "reference", "mse")]
    told += "".join(f" The constant has {r['value']:.3g} on test samples of the same kind." for r in trivial)
    return f"{markdown(pd.DataFrame(shown))}\n\n{told}"


ARITHMETIC: dict[str, Callable[[Path], str]] = {
    "addition-paper": lambda root: paper_errors(),
    "recurrent-arithmetic-paper": lambda root: paper_success(RECURRENT),
    "static-arithmetic-paper": lambda root: paper_success(STATIC),
    **{f"{t}-{p}": partial(ours, task=t, protocol=p) for t in TASKS for p in ("stated", "published")},
    "addition-variants": partial(variants, task="addition", names="mclstm-sum,mclstm-l2,mclstm-sum-l2"),
    "recurrent-arithmetic-variants": partial(
        variants, task="recurrent-arithmetic", names="mclstm-tuned,mclstm-two-cells,mclstm-dynamic"
    ),
    "addition-forms": forms,
    "addition-cells": cells,
    "recurrent-arithmetic-reading": reading,
    "addition-rates": partial(rates, task="addition"),
}
