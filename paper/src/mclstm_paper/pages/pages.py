"""Tables in README and docs, written from result files between marks: `<!-- name -->` ... `<!-- /name -->`.

Run with `make docs`; a test fails when a page and its results differ.
"""

import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from mclstm.report.results import record
from mclstm.report.tables import lined
from mclstm_paper.arithmetic.page import ARITHMETIC
from mclstm_paper.bench import page as runtime
from mclstm_paper.durability.drift import drift_svg, drift_table
from mclstm_paper.hydrology.page import HYDROLOGY
from mclstm_paper.mnist_sum.page import length_page, length_svg
from mclstm_paper.pages.summary import summary
from mclstm_paper.pages.switches import DIFFERENCES

__all__ = ["BLOCKS", "FIGURES", "filled", "main"]

RESULTS = Path("results")


def demo(root: Path) -> str:
    """Scores of both models on the Fulda, median of the seeds with the range."""
    found = record(root / RESULTS / "demo/stated.json")
    cells = {(item["model"], item["metric"]): item for item in found["rows"]}
    models = list(dict.fromkeys(model for model, _ in cells))
    lines = []
    for metric in dict.fromkeys(metric for _, metric in cells):
        shown = [
            f"{c['value']:.2f} ({c['low']:.2f} to {c['high']:.2f})"
            for c in (cells[m, metric] for m in models)
        ]
        lines.append([metric.upper(), *shown])
    table, count = lined(["Fulda, test 1986-1988", *models], lines), found["rows"][0]["n"]
    return f"{table}\n\nMedian of {count} seeds, lowest and highest in brackets."


def properties(root: Path) -> str:
    """The worst ledger errors of ten thousand random configurations, by backend and dtype."""
    found = record(root / RESULTS / "conservation/properties.json")
    rows = [[name, f"{share:.2f}"] for name, share in found.items()]
    return lined(["", "worst error, as a share of 4 eps (T + K)"], rows)


def backends(root: Path) -> str:
    """How far the fast backends are from the reference: the worst of all cases, as a share of the bound."""
    found = record(root / RESULTS / "conservation/backends.json")
    cases = found.pop("cases")
    rows = [[name.replace("torch.float", "float"), f"{share:.2f}"] for name, share in found.items()]
    return lined([f"{cases:,} random cases", "worst, as a share of the bound"], rows)


def kills(root: Path) -> str:
    """How many runs were killed where, and how many were lost."""
    found = record(root / RESULTS / "durability/kills.json")
    lines = [[name, str(n)] for name, n in sorted(found["phases"].items())]
    return lined(["killed while", "times"], [*lines, ["lost", str(found["losses"])]])


BLOCKS: dict[str, Callable[[Path], str]] = {
    "summary": summary,
    "demo": demo,
    "properties": properties,
    "backends": backends,
    "long-run": drift_table,
    "kills": kills,
    **runtime.BLOCKS,
    **ARITHMETIC,
    **HYDROLOGY,
    **DIFFERENCES,
    "mnist-sum-stated": partial(length_page, protocol="stated"),
    "mnist-sum-published": partial(length_page, protocol="published"),
}
# Figures of docs/figures that are made of result files; None as long as there is no result.
FIGURES: dict[str, Callable[[Path], bytes | None]] = {
    "runtime.svg": runtime.drawn,
    "long_run.svg": drift_svg,
    "mnist_sum_stated.svg": partial(length_svg, protocol="stated"),
    "mnist_sum_published.svg": partial(length_svg, protocol="published"),
}


def filled(text: str, root: Path) -> str:
    """The page with every marked block made anew."""

    def made(match: re.Match[str]) -> str:
        name = match.group(1)
        return f"<!-- {name} -->\n{BLOCKS[name](root)}\n<!-- /{name} -->"

    return re.sub(r"<!-- ([\w-]+) -->\n.*?<!-- /\1 -->", made, text, flags=re.DOTALL)


def main() -> None:
    root = Path(sys.argv[1])
    for name, draw in FIGURES.items():
        if (content := draw(root)) is not None:
            (root / "docs" / "figures" / name).write_bytes(content)
    for page in (root / "README.md", *sorted((root / "docs").glob("*.md"))):
        page.write_text(filled(page.read_text(), root))


if __name__ == "__main__":
    main()
