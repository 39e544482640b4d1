"""Blocks of the page about static arithmetic, and its lines of the README's table."""

from collections.abc import Sequence

from mclstm_paper.arithmetic.success_tables import paper_success
from mclstm_paper.experiment import Block, Headline, Line, percent
from mclstm_paper.protocols import Protocol, other_protocol
from mclstm_paper.results import Row
from mclstm_paper.static_arithmetic.printed import PRINTED

__all__ = ["BLOCKS", "HEADLINES", "SUMMARY", "rejudge"]


def rejudge(rows: Sequence[Row], protocol: Protocol) -> list[Row]:
    """Rows of the other protocol by this protocol's threshold, the only thing in which the two differ.

    The metric "success (published threshold)" becomes "success", and "success" gets the other name.
    """
    judged = []
    for row in rows:
        metric, _, threshold = row["metric"].partition(" (")
        by_threshold = metric in ("success", "updates", "sparsity")
        name = metric if threshold or not by_threshold else f"{metric} ({other_protocol(protocol)} threshold)"
        judged.append(row | {"metric": name})
    return judged


BLOCKS: dict[str, Block] = {"static-arithmetic-paper": lambda root: paper_success(PRINTED)}

SUMMARY = tuple(
    Line(
        f"static {operation}: solved by mcfc",
        operation,
        "mcfc",
        "success",
        percent,
        paper=PRINTED["mcfc"][operation][0],
    )
    for operation in ("addition", "subtraction", "multiplication")
)
HEADLINES = (Headline("static multiplication: solved runs", "multiplication", "mcfc", "success", percent),)
