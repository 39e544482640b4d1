"""How every figure looks: colours, labels, dates; and how it becomes the same bytes on every run.

Figures are built with matplotlib's objects, never with pyplot, so that drawing leaves no backend chosen and
no setting changed in the program that asked for it.
"""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

__all__ = [
    "COLOURS",
    "OUTLETS",
    "dated",
    "labelled",
    "legend_above",
    "logarithmic",
    "rendered",
    "shown",
    "styled",
]

# Okabe and Ito's palette: told apart by all common kinds of colour vision, and in grey by lightness.
COLOURS = {
    "observed": "#000000",
    "simulated": "#D55E00",
    "inflow": "#0072B2",
    "storage": "#56B4E9",
    "trash": "#999999",
    "guide": "#777777",
}
OUTLETS = ("#009E73", "#E69F00", "#CC79A7", "#F0E442")

STYLE: dict[str, Any] = {
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.0,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "figure.titlesize": 10,
    "savefig.dpi": 150,
    "svg.hashsalt": "mclstm",
    # Site names and units are foreign text: a dollar sign in them is not a formula.
    "text.parse_math": False,
}

LONGEST = 60  # characters of a name in a title


@contextmanager
def styled() -> Iterator[None]:
    """Matplotlib's defaults and STYLE, whatever the user's own settings are; they come back afterwards."""
    with matplotlib.style.context(["default", STYLE]):
        yield


def rendered(figure: Figure, form: str) -> bytes:
    """The figure as `svg` or `png`, without date, so that the same numbers give the same bytes."""
    into = io.BytesIO()
    with styled(), warnings.catch_warnings():
        # A name in a script the font lacks is drawn as boxes: no reason to stop or to alarm.
        warnings.filterwarnings("ignore", message="(?s).*[Gg]lyph.*")
        figure.savefig(into, format=form, metadata={"Date": None} if form == "svg" else None)
    return into.getvalue()


def shown(name: str) -> str:
    """A name fit for a title: no control characters, not endless.

    >>> shown("Fulda\\n$x$")
    'Fulda�$x$'
    """
    plain = "".join(letter if letter.isprintable() else "\ufffd" for letter in name)
    return plain if len(plain) <= LONGEST else plain[: LONGEST - 1] + "…"


def labelled(what: str, unit: str) -> str:
    """An axis label with its unit.

    >>> labelled("discharge", "m3/s"), labelled("count", "")
    ('discharge (m³/s)', 'count')
    """
    pretty = re.sub(r"\b([a-zµ]?m|ft|in)([23])\b", lambda m: m[1] + "²³"[int(m[2]) - 2], unit)
    return shown(f"{what} ({pretty})" if pretty else what)


def dated(axes: Axes, ticks: int = 13) -> None:
    """At most so many dates on the x axis, as short as they can be without losing the year."""
    # With more than half of them as the least there are spans that no interval of the locator fits.
    locator = AutoDateLocator(minticks=(ticks - 1) // 2, maxticks=ticks)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def logarithmic(axes: Axes, which: str) -> None:
    """Make the x or y axis logarithmic with plain numbers (0.1, 1, 10) as labels."""
    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    # Over less than two decades powers of ten alone would leave one label or none.
    axis.set_major_locator(LogLocator(subs=(1.0,) if high / low > 100 else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def legend_above(axes: Axes, columns: int = 6) -> None:
    """A legend in a row above the axes, where it never covers data."""
    axes.legend(
        loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=columns, borderaxespad=0.2,
        handlelength=1.6, columnspacing=1.2,
    )  # fmt: skip
