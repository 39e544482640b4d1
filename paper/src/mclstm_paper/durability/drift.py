"""How far the ledger drifts over a million steps: the table and the figure of the record."""

from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from mclstm.report.results import record
from mclstm.report.style import COLOURS, legend_above, logarithmic, rendered, styled
from mclstm.report.tables import lined

__all__ = ["drift_svg", "drift_table"]

RECORD = Path("results/conservation/long_run.json")
EPS = {"float32": 2.0**-23, "float64": 2.0**-52}


def drift_table(root: Path) -> str:
    """The drift after the last step of every case."""
    found = record(root / RECORD)
    lines = []
    for case, curve in found["curves"].items():
        worst, middle = curve["worst"][-1], curve["median"][-1]
        share = worst / (EPS[dtype(case)] * found["steps"])
        lines.append([case, f"{worst:.1e}", f"{middle:.1e}", f"{share:.1e}"])
    return lined(["case", f"worst of {found['seeds']} seeds", "median", "worst / (eps T)"], lines)


def drift_svg(root: Path) -> bytes:
    """The figure of the page."""
    return rendered(drift_figure(record(root / RECORD)["curves"]), "svg")


def drift_figure(curves: Mapping[str, Mapping[str, list[float]]]) -> Figure:
    """Both dtypes side by side: every case's worst seed under the bound eps T."""
    with styled():
        figure = Figure(figsize=(9, 3.8), layout="constrained")
        for place, (name, eps) in enumerate(EPS.items()):
            axes = figure.add_subplot(1, 2, place + 1)
            cases = {case: curve for case, curve in curves.items() if dtype(case) == name}
            for case, curve in cases.items():
                axes.plot(curve["steps"], curve["worst"], label=case.removeprefix(f"{name}, "))
            steps = next(iter(cases.values()))["steps"]
            bound = [eps * step for step in steps]
            axes.plot(steps, bound, "--", color=COLOURS["guide"], label="bound: eps × steps")
            logarithmic(axes, "x")
            logarithmic(axes, "y")
            axes.set(xlabel="steps", ylabel=f"mass missing / mass in, {name}")
            legend_above(axes, columns=3)
    return figure


def dtype(case: str) -> str:
    """The dtype of a case, which its name begins with.

    >>> dtype("float32, closed, static R")
    'float32'
    """
    return case.split(",")[0]
