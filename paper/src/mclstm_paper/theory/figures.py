"""The figures of the theory page, docs/theory.md: what the paper proves or claims, seen in the layer itself.

python -m mclstm_paper.theory.figures --out docs/figures
"""

import argparse
from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from mclstm_paper.theory import dynamics as theory_dynamics
from mclstm_paper.theory import schematic
from mclstm_paper.theory import sizes as theory_sizes
from mclstm_paper.theory.drawing import write

__all__ = ["FIGURES", "main"]

FIGURES: dict[str, Callable[[], Figure]] = {
    "schematic": schematic.draw,
    "conservation": theory_dynamics.conservation,
    "markov": theory_dynamics.markov,
    "equivariance": theory_dynamics.equivariance,
    "flow": theory_dynamics.flow,
    "gradients": theory_dynamics.gradients,
    "spectra": theory_sizes.spectra,
    "operations": theory_sizes.operations,
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
