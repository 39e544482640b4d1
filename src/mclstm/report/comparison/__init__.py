"""Run folders become one comparison, `mclstm report RUN...`: each module makes one section of its page."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

__all__ = ["Row", "Section", "at_most"]

DRAWN = 12  # sites with figures of their own; nobody looks at more

# One number: model, setting, metric, n, value, low, high, values, and fields of its own.
Row = dict[str, Any]


class Section(NamedTuple):
    """One part of the comparison; a section without text appears on the page with its figures and notes."""

    title: str = ""
    text: str = ""  # Markdown
    rows: Sequence[Row] = ()
    tables: Mapping[str, pd.DataFrame] = {}  # by file name
    figures: Mapping[str, Figure] = {}  # by file name
    notes: Sequence[str] = ()  # what is missing, and why


def at_most(drawings: Sequence[Mapping[str, Figure]]) -> tuple[dict[str, Figure], list[str]]:
    """The figures of the first sites with any, by file name, and a note where there are more."""
    drawn = [figures for figures in drawings if figures]
    shown = {name: figure for figures in drawn[:DRAWN] for name, figure in figures.items()}
    if len(drawn) <= DRAWN:
        return shown, []
    first = f"the first {DRAWN} of {len(drawn)} pairs of model and site"
    return shown, [f"Figures such as {next(iter(shown))} are of {first}; the tables have all."]
