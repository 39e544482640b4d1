"""The figures of docs/theory.md: what the paper proves or claims, shown by the layer itself.

python -m mclstm_paper.theory.page --out docs/figures
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from mclstm_paper.theory import dynamics, schematic
from mclstm_paper.theory.drawing import GATE, INK, MASS, OTHER, PALE, label, panels, write
from mclstm_paper.theory.markov_chain import (
    ENTRIES,
    bulk_eigenvalues,
    bulk_singular_values,
    circular_distance,
    first_redistribution,
    lognormal_ratio,
    quarter_circular_distance,
    random_markov,
)
from mclstm_paper.theory.operations import lstm_step, mclstm_step, paper_dynamic, paper_static

__all__ = ["FIGURES", "main"]


def spectra() -> Figure:
    """Singular values, eigenvalues, and the distance from their laws as K grows."""
    figure, (left, middle, right) = panels(3, width=11.0)
    R, ratio = random_markov(500, "uniform", seed=0), ENTRIES["uniform"][1]
    left.hist(bulk_singular_values(R, ratio), bins=30, range=(0, 2.2), density=True, color=PALE)
    s = np.linspace(0.0, 2.0, 200)
    left.plot(s, np.sqrt(4.0 - s**2) / np.pi, color=MASS, label="quarter circle on [0, 2]")
    paper = np.linspace(0.0, 1.0, 200)
    left.plot(paper, 4 * np.sqrt(1 - paper**2) / np.pi, color=GATE, ls="--", label="on [0, 1]: paper, m = 1")
    left.legend(loc="upper right")
    label(left, "Singular values, K = 500, uniform entries", "s √K m / σ", "density")
    eigen = bulk_eigenvalues(R, ratio)
    ring = bulk_eigenvalues(first_redistribution(500, "static", seed=0), lognormal_ratio(500**-0.5))
    middle.scatter(eigen.real, eigen.imag, s=3, color=MASS, label="uniform entries")
    middle.scatter(ring.real, ring.imag, s=3, color=GATE, label="static, stay=None")
    circle = np.exp(2j * np.pi * np.linspace(0, 1, 200))
    middle.plot(circle.real, circle.imag, color=INK, lw=0.8, zorder=0)
    middle.set(aspect="equal", xlim=(-1.6, 1.6), ylim=(-1.25, 1.6))
    middle.legend(loc="upper center", ncols=2, markerscale=3, columnspacing=0.8, handletextpad=0.1)
    label(middle, "Eigenvalues: disk, or ring", "Re λ √K m / σ", "Im λ √K m / σ")
    sizes = (16, 32, 64, 128, 256, 512)
    laws = (("quarter-circular", quarter_circular_distance, "o"), ("circular", circular_distance, "s"))
    for (entries, (_, scale)), colour in zip(ENTRIES.items(), (MASS, GATE, OTHER), strict=True):
        for law, distance, marker in laws:
            gaps = [np.mean([distance(random_markov(K, entries, k), scale) for k in range(3)]) for K in sizes]
            dashes = "-" if marker == "o" else "--"
            right.loglog(
                sizes, gaps, dashes, marker=marker, ms=3, lw=1, color=colour, label=f"{law}, {entries}"
            )
    right.legend(loc="lower left", fontsize=6.5)
    right.set_ylim(1e-3, 0.4)
    right.set_xticks(sizes, [str(K) for K in sizes])
    right.minorticks_off()
    label(right, "Distance from the law", "cells K", "Kolmogorov-Smirnov distance")
    return figure


def operations() -> Figure:
    """Multiply-adds of a step against the paper's orders, at the hydrology sizes M = 1, L = 30."""
    figure, (axes,) = panels(1, width=6.0)
    sizes = (2, 4, 8, 16, 32, 64, 128)
    for form, paper, colour in (("dynamic", paper_dynamic, MASS), ("static", paper_static, OTHER)):
        axes.loglog(sizes, [paper(K, 1, 30) for K in sizes], color=colour, lw=1, label=f"paper, {form} R")
        counts = [mclstm_step(K, 1, 30, form).total for K in sizes]
        axes.loglog(sizes, counts, "o", color=colour, ms=4, label=f"counted, {form} R")
    lstm = [lstm_step(K, 1, 30).total for K in sizes]
    axes.loglog(sizes, lstm, "^", color=GATE, ms=4, label="counted, LSTM")
    axes.set_xticks(sizes, [str(K) for K in sizes], minor=False)
    axes.minorticks_off()
    axes.legend(loc="upper left")
    label(axes, "One step of one sample, M = 1, L = 30", "cells K", "multiply-adds")
    return figure


FIGURES: dict[str, Callable[[], Figure]] = {
    "schematic": schematic.draw,
    "conservation": dynamics.conservation,
    "markov": dynamics.markov,
    "equivariance": dynamics.equivariance,
    "flow": dynamics.flow,
    "gradients": dynamics.gradients,
    "spectra": spectra,
    "operations": operations,
}


def main() -> None:
    """Draw every figure."""
    parser = argparse.ArgumentParser(description="Draw the figures of the theory page.")
    parser.add_argument("--out", type=Path, default=Path("docs/figures"))
    out = parser.parse_args().out
    for name, draw in FIGURES.items():
        # The README shows the schematic on sites that do not render SVG.
        kinds = ("svg", "png") if name == "schematic" else ("svg",)
        for path in write(draw, out, name, kinds):
            print(path)


if __name__ == "__main__":
    main()
