"""Tables in README and docs, written from result files between marks: `<!-- name -->` ... `<!-- /name -->`.

Run with `make docs`; a test fails when a page and its results differ.
"""

import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from mclstm.report.markdown import text_table
from mclstm_paper.bench import page as runtime
from mclstm_paper.durability.drift_page import drift_svg, drift_table
from mclstm_paper.experiment import Block, Experiment
from mclstm_paper.findings.page_of_findings import findings
from mclstm_paper.first_contact import warnings_table
from mclstm_paper.pages import (
    example_tables,
    many_runs_tables,
    operation_tables,
    page_tables,
    trace_tables,
)
from mclstm_paper.pages.code_sizes import sizes_table
from mclstm_paper.pages.headlines import failures, headlines
from mclstm_paper.pages.sections import differences, protocol_section
from mclstm_paper.pages.summary import summary
from mclstm_paper.registry import every_experiment
from mclstm_paper.results import committed_results
from mclstm_paper.side_by_side import side_by_side_table

__all__ = ["BLOCKS", "DRAWINGS", "every_block", "every_drawing", "filled", "main"]


def demo(root: Path) -> str:
    """Scores of both models on the Fulda, median of the seeds with the range."""
    content = committed_results(root / "results/demo/stated.json")
    cells = {(item["model"], item["metric"]): item for item in content["rows"]}
    models = list(dict.fromkeys(model for model, _ in cells))
    lines = []
    for metric in dict.fromkeys(metric for _, metric in cells):
        texts = [
            f"{c['value']:.2f} ({c['low']:.2f} to {c['high']:.2f})"
            for c in (cells[m, metric] for m in models)
        ]
        lines.append([metric.upper(), *texts])
    table, count = text_table(["Fulda, test 1986-1988", *models], lines), content["rows"][0]["n"]
    return f"{table}\n\nMedian of {count} seeds, lowest and highest in brackets."


def properties(root: Path) -> str:
    """The worst ledger errors of ten thousand random configurations, by backend and dtype."""
    content = committed_results(root / "results/conservation/properties.json")
    count = content.pop("configurations")
    rows = [[name, f"{share:.2f}"] for name, share in content.items()]
    return text_table([f"{count:,} random configurations", "worst error, as a share of the promise"], rows)


def backends(root: Path) -> str:
    """How far the fast backends are from the reference: the worst of all cases, as a share of the bound."""
    content = committed_results(root / "results/conservation/backends.json")
    cases = content.pop("cases")
    rows = [[name, f"{share:.2f}"] for name, share in content.items()]
    return text_table([f"{cases:,} random cases", "worst, as a share of the bound"], rows)


def kills(root: Path) -> str:
    """How many runs were killed where, and how many were lost."""
    content = committed_results(root / "results/durability/kills.json")
    lines = [[name, str(n)] for name, n in sorted(content["phases"].items())]
    return text_table(["killed while", "times"], [*lines, ["lost", str(content["losses"])]])


# Blocks and figures that belong to no single experiment.
BLOCKS: dict[str, Block] = {
    "headlines": headlines,
    "summary": summary,
    "failures": failures,
    "findings": findings,
    "demo": demo,
    "properties": properties,
    "backends": backends,
    "long-run": drift_table,
    "kills": kills,
    "sizes": sizes_table,
    "camels-warnings": warnings_table,
    "side-by-side": side_by_side_table,
    **example_tables.BLOCKS,
    **operation_tables.BLOCKS,
    **page_tables.BLOCKS,
    **many_runs_tables.BLOCKS,
    **trace_tables.BLOCKS,
    **runtime.BLOCKS,
}
DRAWINGS: dict[str, Callable[[Path], bytes | None]] = {
    "runtime.svg": runtime.figure_svg,
    "long_run.svg": drift_svg,
}


def every_block() -> dict[str, Block]:
    """The blocks by mark; an experiment's own block replaces a general one of the same name."""
    blocks = dict(BLOCKS)
    for task in every_experiment():
        blocks |= experiment_blocks(task)
    return blocks


def experiment_blocks(task: Experiment) -> dict[str, Block]:
    """`<name>-stated`, `<name>-published`, `<name>-differences`, and the experiment's own blocks."""
    tables: dict[str, Block] = {
        f"{task.name}-{protocol}": partial(protocol_section, task=task, protocol=protocol)
        for protocol in task.protocols
    }
    if task.switches:
        tables[f"{task.name}-differences"] = lambda root: differences(task.switches)
    return tables | dict(task.blocks)


def every_drawing() -> dict[str, Callable[[Path], bytes | None]]:
    """Figures of docs/figures that come from result files, by file name; None without a result."""
    return DRAWINGS | {name: draw for task in every_experiment() for name, draw in task.drawings.items()}


def filled(text: str, root: Path) -> str:
    """The page with new content in every marked block."""
    blocks = every_block()

    def block(match: re.Match[str]) -> str:
        name = match.group(1)
        return f"<!-- {name} -->\n{blocks[name](root)}\n<!-- /{name} -->"

    return re.sub(r"<!-- ([\w-]+) -->\n.*?<!-- /\1 -->", block, text, flags=re.DOTALL)


def main() -> None:
    root = Path(sys.argv[1])
    for name, draw in every_drawing().items():
        if (content := draw(root)) is not None:
            (root / "docs" / "figures" / name).write_bytes(content)
    for page in (root / "README.md", *sorted((root / "docs").glob("*.md"))):
        page.write_text(filled(page.read_text(), root))


if __name__ == "__main__":
    main()
