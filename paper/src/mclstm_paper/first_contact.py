"""What `mclstm check` says about real basins: every finding but missing flow is counted as a false alarm.

    python -m mclstm_paper.first_contact --data camels_us --out results/first_contact/camels_warnings.json

`make record-warnings` runs it on CAMELS-US; `make docs` turns the counts into a table.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mclstm.data.checks.data_check import Report, check
from mclstm.report.markdown import text_table
from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm.training.folder import environment
from mclstm_paper.results import committed_results

__all__ = ["alarm_counts", "main", "warnings_table"]

FILE = "results/first_contact/camels_warnings.json"
SHOWN = 3  # examples of each kind
QUANTILES = {"lowest": 0.0, "first quartile": 0.25, "median": 0.5, "third quartile": 0.75, "highest": 1.0}


def alarm_counts(report: Report) -> dict[str, Any]:
    """Basins with each kind of finding, examples, and the distribution of outflow over inflow."""
    kinds: dict[str, dict[str, Any]] = {}
    for finding in report.findings:
        kind = kinds.setdefault(f"{finding.severity}: {finding.kind}", {"sites": set(), "examples": []})
        kind["sites"].add(finding.site)
        sentence = f"site {finding.site}, column {finding.column or '-'}: {finding.message}"
        kind["examples"] += [sentence] if len(kind["examples"]) < SHOWN else []
    ratios = [budget.ratio for budget in report.budgets]
    return {
        "sites": report.sites,
        "kinds": {
            name: {**kind, "sites": sorted(kind["sites"] - {""})} for name, kind in sorted(kinds.items())
        },
        "ratios": {name: float(np.quantile(ratios, share)) for name, share in QUANTILES.items()},
    }


def warnings_table(root: Path) -> str:
    """Basins by what is said of them."""
    content = committed_results(root / FILE)
    rows = [[name, str(len(kind["sites"])), kind["examples"][0]] for name, kind in content["kinds"].items()]
    table = text_table([f"{content['sites']} basins of CAMELS-US", "basins", "for example"], rows)
    ratios = ", ".join(f"{name} {value:.2g}" for name, value in content["ratios"].items())
    return f"{table}\n\nOutflow over inflow: {ratios}."


def main(words: Sequence[str] | None = None) -> None:
    """Check the basins and write the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--out", type=Path, default=Path(FILE))
    options = parser.parse_args(words)
    began = time.perf_counter()
    content = alarm_counts(check(options.data))
    content |= {"seconds": round(time.perf_counter() - began, 1), "environment": environment()}
    make_folder(options.out.parent)
    write_text_atomic(options.out, json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
