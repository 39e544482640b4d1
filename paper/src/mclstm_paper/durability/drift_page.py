"""The table and the figure of the ledger's drift over a million steps, from its record."""

from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from mclstm.report.markdown import text_table
from mclstm.report.style import COLOURS, legend_above, logarithmic, plot_style, render
from mclstm_paper.results import committed_results

__all__ = ["drift_svg", "drift_table"]

RECORD = Path("results/conservation/long_run.json")
EPS = {"float32": 2.0**-23, "float64": 2.0**-52}


def drift_table(root: Path) -> str:
    """The drift of every case after its last step."""
    content = committed_results(root / RECORD)
    lines = []
    for case, curve in content["curves"].items():
        worst, median = curve["worst"][-1], curve["median"][-1]
        share = worst / (EPS[dtype(case)] * curve["steps"][-1])
        lines.append([case, str(curve["seeds"]), f"{worst:.1e}", f"{median:.1e}", f"{share:.1e}"])
    return text_table(["case", "seeds", "worst", "median", "worst / (eps T)"], lines)


def drift_svg(root: Path) -> bytes:
    """The figure of the page."""
    return render(drift_figure(committed_results(root / RECORD)["curves"]), "svg")


def drift_figure(curves: Mapping[str, Mapping[str, list[float]]]) -> Figure:
    """The kernel's worst seed of every case and the bound eps T, one panel per dtype."""
    with plot_style():
        figure = Figure(figsize=(9, 3.8), layout="constrained")
        for place, (name, eps) in enumerate(EPS.items()):
            axes = figure.add_subplot(1, 2, place + 1)
            cases = {c: curve for c, curve in curves.items() if c.startswith("native") and dtype(c) == name}
            for case, curve in cases.items():
                axes.plot(curve["steps"], curve["worst"], label=case.split(f"{name}, ")[1])
            steps = next(iter(cases.values()))["steps"]
            bound = [eps * step for step in steps]
            axes.plot(steps, bound, "--", color=COLOURS["guide"], label="bound: eps × steps")
            logarithmic(axes, "x")
            logarithmic(axes, "y")
            axes.set(xlabel="steps", ylabel=f"mass missing / mass in, {name}")
            legend_above(axes, columns=3)
    return figure


def dtype(case: str) -> str:
    """The dtype of a case, which its name holds after the backend.

    >>> dtype("native (avx2), float32, closed, static R")
    'float32'
    """
    return case.split(", ")[1]
