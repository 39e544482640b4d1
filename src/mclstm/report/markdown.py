"""Tables as Markdown that also reads well on a terminal."""

import math
from collections.abc import Iterable, Sequence

import pandas as pd

__all__ = ["NOTHING", "markdown", "safe", "text_table"]

NOTHING = "–"


def markdown(frame: pd.DataFrame, digits: int = 3) -> str:
    """A frame as a Markdown table with aligned columns; numbers with `digits` decimals, gaps as a dash.

    The index is shown unless it only counts rows.

    >>> print(markdown(pd.DataFrame({"site": ["A", "B"], "nse": [0.81234, float("nan")]}), digits=2))
    | site |  nse |
    |:-----|-----:|
    | A    | 0.81 |
    | B    |    – |
    """
    counts_only = isinstance(frame.index, pd.RangeIndex)
    whole = frame.rename_axis(str(frame.index.name or "")).reset_index() if not counts_only else frame
    head = [safe(str(name)) for name in whole.columns]
    body = [[cell_text(value, digits) for value in whole.iloc[:, at].tolist()] for at in range(len(head))]
    right = [pd.api.types.is_numeric_dtype(dtype) for dtype in whole.dtypes]
    widths = [max(3, *map(len, [name, *cells])) for name, cells in zip(head, body, strict=True)]
    rule = ["-" * (w + 1) + ":" if r else ":" + "-" * (w + 1) for w, r in zip(widths, right, strict=True)]
    rows = [line(list(row), widths, right) for row in zip(*body, strict=True)]
    return "\n".join([line(head, widths, right), f"|{'|'.join(rule)}|", *rows])


def line(cells: list[str], widths: list[int], right: list[bool]) -> str:
    padded = [
        cell.rjust(width) if numeric else cell.ljust(width)
        for cell, width, numeric in zip(cells, widths, right, strict=True)
    ]
    return f"| {' | '.join(padded)} |"


def cell_text(value: object, digits: int) -> str:
    """A number with enough digits to show a small residual, but no noise; text made safe."""
    if value is None or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
        return NOTHING
    if isinstance(value, float):
        small = value != 0 and abs(value) < 0.5 * 10**-digits
        return f"{value:.1e}" if small or abs(value) >= 1e9 else f"{value:.{digits}f}"
    return safe(str(value))


def safe(text: str) -> str:
    """Text that cannot end its cell, its row or the table, nor begin a tag."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return plain.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def text_table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A head and lines of text as a Markdown table without padding; a bar does not end its cell.

    >>> print(text_table(["model", "NSE"], [["a|b", "0.7"]]))
    | model | NSE |
    |---|---|
    | a\\|b | 0.7 |
    """
    barless = [[cell.replace("|", r"\|") for cell in line] for line in (head, *lines)]
    shown = [f"| {' | '.join(line)} |" for line in barless]
    return "\n".join([shown[0], f"|{'---|' * len(head)}", *shown[1:]])
