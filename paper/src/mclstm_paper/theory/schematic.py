"""The architecture as a picture: one step of an MC-LSTM, mass in thick arrows, information in thin ones.

Drawn by `python -m mclstm_paper.theory.page`, for the theory page and the README.
"""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch

from mclstm_paper.theory.drawing import GATE, INK, MASS, panels

__all__ = ["draw"]

Point = tuple[float, float]


def arrow(axes: Axes, path: list[Point], colour: str, width: float) -> None:
    """An arrow along straight pieces; only the last piece has a head."""
    xs, ys = zip(*path, strict=True)
    if len(path) > 2:
        axes.plot(xs[:-1], ys[:-1], color=colour, lw=width, solid_capstyle="round", zorder=1)
    head = 7.0 + 2.0 * width
    axes.add_patch(
        FancyArrowPatch(
            path[-2],
            path[-1],
            arrowstyle="-|>",
            mutation_scale=head,
            color=colour,
            lw=width,
            shrinkA=0,
            shrinkB=0,
            zorder=1,
        )
    )


def mass(axes: Axes, *path: Point) -> None:
    arrow(axes, list(path), MASS, width=4.0)


def information(axes: Axes, *path: Point) -> None:
    arrow(axes, list(path), GATE, width=1.1)


def gate(axes: Axes, at: Point, name: str, what: str) -> None:
    """A box that computes shares from information."""
    x, y = at
    axes.add_patch(
        FancyBboxPatch(
            (x - 0.62, y - 0.36),
            1.24,
            0.72,
            boxstyle="round,pad=0.02,rounding_size=0.1",
            facecolor="#fdebdc",
            edgecolor=GATE,
            zorder=3,
        )
    )
    axes.text(x, y + 0.1, name, ha="center", va="center", fontsize=11, zorder=4)
    axes.text(x, y - 0.19, what, ha="center", va="center", fontsize=6.5, color=INK, zorder=4)


def node(axes: Axes, at: Point, sign: str) -> None:
    """A place where mass is split or joined."""
    axes.add_patch(Circle(at, 0.26, facecolor="white", edgecolor=MASS, lw=1.8, zorder=3))
    name(axes, at, sign, MASS, size=12 if len(sign) == 1 else 8)


def name(axes: Axes, at: Point, text: str, colour: str = INK, size: float = 12) -> None:
    axes.text(*at, text, ha="center", va="center", color=colour, fontsize=size, zorder=4)


def draw_mass(axes: Axes) -> None:
    """Stores along the top line, inflow from below, outflow upwards."""
    mass(axes, (0.75, 4.0), (2.55, 4.0))
    mass(axes, (3.05, 4.0), (4.75, 4.0))
    mass(axes, (5.25, 4.0), (7.75, 4.0))
    mass(axes, (8.25, 4.0), (10.2, 4.0))
    mass(axes, (5.0, 0.4), (5.0, 2.35))
    mass(axes, (5.0, 2.85), (5.0, 3.75))
    mass(axes, (8.0, 4.25), (8.0, 5.3))
    for at, sign in (((2.8, 4.0), "×"), ((5.0, 4.0), "+"), ((5.0, 2.6), "×"), ((8.0, 4.0), "split")):
        node(axes, at, sign)
    name(axes, (0.35, 4.0), "$c_{t-1}$")
    name(axes, (10.6, 4.0), "$c_t$")
    name(axes, (5.0, 0.12), "$x_t$")
    name(axes, (8.0, 5.55), "$h_t$")
    for at, text in (
        ((3.9, 4.32), "$c_{t-1} R_t$"),
        ((5.5, 3.3), "$x_t\\, i_t$"),
        ((6.5, 4.32), "$m_t$"),
        ((9.2, 4.32), "$(1 - o_t) \\odot m_t$"),
        ((8.65, 4.85), "$o_t \\odot m_t$"),
    ):
        name(axes, at, text, MASS, size=9.5)


def draw_information(axes: Axes) -> None:
    """Auxiliary inputs and the normalised state feed three gates; no mass goes this way."""
    axes.plot([4.8, 5.2], [1.2, 1.2], color="white", lw=6, zorder=1.5)  # information passes over mass
    axes.plot([0.7, 0.7, 8.0], [0.4, 1.2, 1.2], color=GATE, lw=1.1, zorder=2)
    axes.plot([1.5, 1.5], [4.0, 1.2], color=GATE, lw=1.1, zorder=0.5)
    for x in (1.5, 2.8, 6.5):
        axes.plot(x, 1.2, "o", color=GATE, ms=4, zorder=2)
    information(axes, (2.8, 1.2), (2.8, 2.2))
    information(axes, (2.8, 2.98), (2.8, 3.72))
    information(axes, (6.5, 1.2), (6.5, 2.2))
    information(axes, (5.86, 2.6), (5.28, 2.6))
    information(axes, (8.0, 1.2), (8.0, 2.2))
    information(axes, (8.0, 2.98), (8.0, 3.72))
    gate(axes, (2.8, 2.6), "$R_t$", "rows sum to 1")
    gate(axes, (6.5, 2.6), "$i_t$", "rows sum to 1")
    gate(axes, (8.0, 2.6), "$o_t$", "between 0 and 1")
    name(axes, (0.7, 0.12), "$a_t$")
    name(axes, (0.85, 2.6), "$c_{t-1} / \\|c_{t-1}\\|_1$", GATE, size=9.5)


def draw_key(axes: Axes) -> None:
    """What the two kinds of arrows mean, and the step as equations."""
    mass(axes, (0.2, 5.5), (0.9, 5.5))
    name(axes, (1.3, 5.5), "mass", MASS, size=9.5)
    information(axes, (0.2, 5.1), (0.9, 5.1))
    name(axes, (1.58, 5.1), "information", GATE, size=9.5)
    equations = "$m_t = c_{t-1} R_t + x_t\\, i_t,\\quad h_t = o_t \\odot m_t,\\quad c_t = m_t - h_t$"
    name(axes, (8.0, 0.4), equations, size=9.5)


def draw() -> Figure:
    """One step of an MC-LSTM."""
    figure, (axes,) = panels(1, width=8.6, height=4.7)
    axes.set(xlim=(-0.1, 11.0), ylim=(-0.15, 5.85), aspect="equal")
    axes.set_axis_off()
    draw_mass(axes)
    draw_information(axes)
    draw_key(axes)
    return figure
