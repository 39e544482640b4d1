"""Blocks of the page about recurrent arithmetic, and its lines of the README's table."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mclstm_paper.arithmetic.success_tables import paper_success, success_table
from mclstm_paper.experiment import Block, Headline, Line, percent
from mclstm_paper.pages.sections import missing, read, variants_section
from mclstm_paper.recurrent_arithmetic.models import FLIPPED
from mclstm_paper.recurrent_arithmetic.printed import PRINTED
from mclstm_paper.recurrent_arithmetic.switch_study import switch_study

__all__ = ["BLOCKS", "HEADLINES", "SUMMARY"]

NAME = "recurrent-arithmetic"


def readings(root: Path) -> str:
    """What the cells of trained networks do, in sentences made from their weights."""
    parts = []
    for protocol in ("published", "stated"):
        content = read(root, f"{NAME}/{protocol}-reading.json")
        if content is not None:
            parts += [f"Protocol {protocol}.", *pictures(root, protocol)]
            shown = {name: one for name, one in content.items() if name.split(",")[0] not in FLIPPED}
            parts += [sentences(name, reading) for name, reading in shown.items()]
    return "\n\n".join(parts) or missing(NAME, "published", " --models mclstm")


def pictures(root: Path, protocol: str) -> list[str]:
    """The figures of the weights that exist, first that of the table's model."""
    files = [f"{NAME}/{protocol}-{name}.svg" for name in ("recurrent-weights", "variants-weights")]
    return [f"![gates](../results/{file})" for file in files if (root / "results" / file).exists()]


def sentences(name: str, reading: Mapping[str, Any]) -> str:
    lines = "\n".join(f"- {sentence}" for sentence in reading["sentences"])
    about = f"seed {reading['seed']}, task {reading['task']} of the inputs' sums over time"
    return f"**{name}**, {about}:\n\n{lines}"


BLOCKS: dict[str, Block] = {
    "recurrent-arithmetic-paper": lambda root: paper_success(PRINTED),
    "recurrent-arithmetic-variants": lambda root: variants_section(
        root, NAME, success_table, "mclstm-tuned,mclstm-two-cells,mclstm-dynamic"
    ),
    "recurrent-arithmetic-switches": switch_study,
    "recurrent-arithmetic-reading": readings,
}

SUMMARY = tuple(
    Line(
        f"recurrent {operation}: solved by {model}",
        operation,
        model,
        "success",
        percent,
        paper=PRINTED[model][operation][0] if model in PRINTED else None,
    )
    for operation, rival in (("addition", "nau"), ("subtraction", "nau"), ("multiplication", "nmu"))
    for model in ("mclstm", "mclstm-tuned", rival)
)
HEADLINES = tuple(
    Headline(f"recurrent {operation}: solved runs", operation, "mclstm", "success", percent, "published")
    for operation in ("addition", "multiplication")
)
