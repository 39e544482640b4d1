"""Run folders become one comparison, `mclstm report RUN...`: each module makes one section of its page."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

__all__ = ["Row", "Section"]

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
