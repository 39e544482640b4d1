"""Which mistake a factor points to: units and areas that are often confused."""

from collections.abc import Sequence
from math import log
from typing import NamedTuple

from mclstm.data.units import VOLUMES, parse

__all__ = ["likely_factor", "likely_mistakes"]

TYPICAL = 0.4  # outflow over inflow of a river
MOST = 3  # causes to name


class Mistake(NamedTuple):
    """The factor by which values are wrong where two things are confused, and both in words."""

    factor: float
    words: str


MISTAKES = (
    Mistake(24.7, "per hour and per day (24) or inches and mm (25.4)"),
    Mistake(10.0, "cm, mm and tenths of mm (10)"),
    Mistake(1000.0, "m and mm (1000)"),
    Mistake(86_400.0, "per second and per day (86,400)"),
)
# Where a volume becomes a depth over an area:
OVER_AN_AREA = (
    Mistake(35.3, "ft3 and m3 (35.3)"),
    Mistake(1000.0, "litres and m3 (1000)"),
    Mistake(2.59, "an area in square miles and in km2 (2.59)"),
    Mistake(10.0, "an area with its decimal point in the wrong place (10)"),
    Mistake(100.0, "an area in hectares and in km2 (100)"),
    Mistake(1e6, "an area in m2 and in km2 (1,000,000)"),
)


def likely_mistakes(ratio: float, units: tuple[str, str], expected: float | None = None) -> str:
    """What to check where the outflow over the inflow is odd; units: of mass and target, as declared.

    >>> likely_mistakes(9.6, ("mm/day", "mm/day"))
    'Check the units: per hour and per day (24) or inches and mm (25.4) may be confused'
    """
    wrong_by = ratio / (expected or TYPICAL)
    if not units[1]:
        area = float(f"{86.4 * wrong_by:.2g}")
        fits = f" (m3/s beside mm/day fits --area {area:.0f})" if ratio > 1 else ""
        return f"Declare the units of mass and target with --unit NAME=UNIT{fits}; {likely_factor(wrong_by)}"
    over_an_area = (parse(units[0]).amount in VOLUMES) != (parse(units[1]).amount in VOLUMES)
    mistakes = (*OVER_AN_AREA, *MISTAKES) if over_an_area else MISTAKES
    return f"Check the units: {likely_factor(wrong_by, mistakes)}"


def likely_factor(wrong_by: float, mistakes: Sequence[Mistake] = MISTAKES) -> str:
    """The mistakes whose factors are nearest to this one, in words.

    >>> likely_factor(0.001)
    'm and mm (1000) may be confused'
    """
    goal = abs(log(max(wrong_by, 1e-12)))
    far = {mistake: abs(log(mistake.factor) - goal) for mistake in mistakes}
    nearest = sorted(mistakes, key=lambda mistake: far[mistake])[:MOST]
    # The others are worth naming only where they are about as near.
    shown = [mistake for mistake in nearest if far[mistake] < far[nearest[0]] + log(2)]
    return f"{', or '.join(mistake.words for mistake in shown)} may be confused"
