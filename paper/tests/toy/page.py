"""What the pages show of the toy experiment."""

from pathlib import Path

from mclstm_paper.experiment import Block, Line, two_digits
from mclstm_paper.pages.sections import missing, read

__all__ = ["BLOCKS", "DRAWINGS", "SUMMARY"]


def best(root: Path) -> str:
    """The model with the lowest error."""
    content = read(root, "toy/stated.json")
    if content is None:
        return missing("toy", "stated")
    return f"{min(content['rows'], key=lambda row: row['value'])['model']} has the lowest error."


def drawing(root: Path) -> bytes | None:
    return None if read(root, "toy/stated.json") is None else b"<svg/>"


BLOCKS: dict[str, Block] = {"toy-best": best}
DRAWINGS = {"toy.svg": drawing}
SUMMARY = (Line("toy: error of mean", "uniform", "mean", "mse", two_digits, paper=0.25),)
