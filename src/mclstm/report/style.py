"""How every figure looks: colours, labels, dates; the same numbers give the same bytes.

Figures are built with matplotlib's objects, never with pyplot: drawing chooses no backend and changes no
setting of the user's program.
"""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

__all__ = [
    "COLOURS", "LINE_COLOURS", "OUTLETS", "axis_label", "date_axis", "legend_above", "logarithmic",
    "plot_style", "render", "title_text",
]  # fmt: skip

# Okabe and Ito's palette: readers of every common colour vision can tell the colours apart.
COLOURS = {
    "observed": "#000000",
    "simulated": "#D55E00",
    "inflow": "#0072B2",
    "storage": "#56B4E9",
    "losses": "#999999",
    "guide": "#777777",
}
OUTLETS = ("#009E73", "#E69F00", "#CC79A7", "#F0E442", "#0072B2", "#D55E00")
# Lines of many models, with grey in place of yellow, which is hardly seen as a thin line.
LINE_COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")

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
    # A dollar sign in a site name or unit does not begin a formula.
    "text.parse_math": False,
}

DIGITS = 5  # of a position, which is a share of the figure
LONGEST = 60  # characters of a name in a title


@contextmanager
def plot_style() -> Iterator[None]:
    """Matplotlib's defaults and STYLE instead of the user's settings, which come back afterwards."""
    with matplotlib.style.context(["default", STYLE]):
        yield


def render(figure: Figure, form: str) -> bytes:
    """The figure as `svg` or `png`, without a date: the same numbers give the same bytes."""
    buffer = io.BytesIO()
    with plot_style(), warnings.catch_warnings():
        # Letters that the font lacks are drawn as boxes; this needs no warning.
        warnings.filterwarnings("ignore", message="(?s).*[Gg]lyph.*")
        settle(figure)
        figure.savefig(buffer, format=form, metadata={"Date": None} if form == "svg" else None)
    return buffer.getvalue()


def settle(figure: Figure) -> None:
    """Lay the figure out once and round: the last digits of the layout depend on addresses in memory."""
    if not isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine):
        return
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        left, bottom, width, height = np.round(axes.get_position(original=True).bounds, DIGITS).tolist()
        axes.set_position((left, bottom, width, height))
    for text in figure.texts:
        x, y = text.get_position()
        text.set_position((round(x, DIGITS), round(y, DIGITS)))


def title_text(name: str) -> str:
    """A name fit for a title: without control characters, and not too long.

    >>> title_text("Fulda\\n$x$")
    'Fulda�$x$'
    """
    plain = "".join(letter if letter.isprintable() else "\ufffd" for letter in name)
    return plain if len(plain) <= LONGEST else plain[: LONGEST - 1] + "…"


def axis_label(what: str, unit: str) -> str:
    """An axis label with its unit.

    >>> axis_label("discharge", "m3/s"), axis_label("count", "")
    ('discharge (m³/s)', 'count')
    """
    pretty = re.sub(r"\b([a-zµ]?m|ft|in)([23])\b", lambda m: m[1] + "²³"[int(m[2]) - 2], unit)
    return title_text(f"{what} ({pretty})" if pretty else what)


def date_axis(axes: Axes, ticks: int = 13) -> None:
    """At most `ticks` dates on the x axis, as short as possible without losing the year."""
    # A higher minimum than half of `ticks` leaves time spans that no interval of the locator fits.
    locator = AutoDateLocator(minticks=(ticks - 1) // 2, maxticks=ticks)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def logarithmic(axes: Axes, which: str) -> None:
    """Make the x or y axis logarithmic with plain numbers (0.1, 1, 10) as labels."""
    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    # Powers of ten alone would give at most one label over less than two decades; 1, 2, 5 few over one.
    subs = (1.0,) if high / low > 100 else (1.0, 2.0, 5.0) if high / low > 5 else tuple(range(1, 10))
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def legend_above(axes: Axes, columns: int = 6) -> None:
    """A legend in a row above the axes, where it covers no data."""
    axes.legend(
        loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=columns, borderaxespad=0.2,
        handlelength=1.6, columnspacing=1.2,
    )  # fmt: skip
