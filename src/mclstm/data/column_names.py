"""What the name of a column tells: its role, and the unit that many tables write into it.

>>> from mclstm.data.column_names import guess_roles, units_in_names
>>> guess_roles(["rain", "tmean", "Q [m³/s]"])
Roles(mass=('rain',), aux=('tmean',), static=(), target=('Q [m³/s]',))
>>> units_in_names(["Precip [mm]", "flow_cfs", "tmean"], step="h")
{'Precip [mm]': 'mm/h', 'flow_cfs': 'ft3/s'}
"""

import re
from collections.abc import Iterable

from mclstm.data.site_tables import Roles
from mclstm.data.units import LENGTHS, VOLUMES, known, parse

__all__ = ["MASS_NAMES", "guess_roles", "unit_in_name", "units_in_names"]

MASS_NAMES = (
    "rain", "rainfall", "precipitation", "precip", "prcp", "prec", "ppt", "pcp", "pr", "tp",
    "total_precipitation_sum", "inflow",
)  # fmt: skip
TARGET_NAMES = (
    "flow", "discharge", "streamflow", "runoff", "q", "qobs", "q_obs", "outflow",
)  # fmt: skip
# Words for units at the end of a name, after an underscore; a unit in brackets may be any.
ENDINGS = {
    "mm": "mm", "cm": "cm", "inch": "in", "mmd": "mm/day", "mmh": "mm/h", "cms": "m3/s", "m3s": "m3/s",
    "cumecs": "m3/s", "cfs": "ft3/s", "ft3s": "ft3/s", "ls": "l/s", "degc": "degC", "kelvin": "K",
}  # fmt: skip
BRACKETS = re.compile(r"(.+?)\s*[\[(]\s*([^\[\]()]+?)\s*[\])]")
STEPS = {"D": "day", "h": "h"}


def guess_roles(columns: Iterable[str], static: Iterable[str] = ()) -> Roles:
    """Roles by the usual names of columns; every column that is not mass or target is auxiliary.

    Columns `in_...` and `out_...` are flows that were counted.
    """
    names = list(dict.fromkeys(columns))
    words = {name: _parts(name)[0] for name in names}
    counted = {word[: word.index("_")] for word in words.values() if word.startswith(("in_", "out_"))}
    prefixes = ("in_", "out_") if counted == {"in", "out"} else ()
    mass = tuple(name for name in names if words[name] in MASS_NAMES or words[name].startswith(prefixes[:1]))
    target = tuple(
        name for name in names if words[name] in TARGET_NAMES or words[name].startswith(prefixes[1:])
    )
    aux = tuple(name for name in names if name not in mass + target)
    return Roles(mass, aux, tuple(static), target)


def unit_in_name(column: str) -> str:
    """The unit that a name carries, or nothing.

    >>> unit_in_name("Precip [mm/d]"), unit_in_name("flow_cms"), unit_in_name("rain (gauge 2)")
    ('mm/day', 'm3/s', '')
    """
    return _parts(column)[1]


def units_in_names(columns: Iterable[str], step: str) -> dict[str, str]:
    """The units that names carry. An amount, such as mm, is what fell or flowed in a step: mm/day."""
    units = {column: unit_in_name(column) for column in columns}
    per = STEPS.get(step, step if re.fullmatch(r"\d+min", step) else "")
    for column, unit in units.items():
        if per and unit in (*LENGTHS, *VOLUMES):
            units[column] = f"{unit}/{per}"
    return {column: unit for column, unit in units.items() if unit}


def _parts(column: str) -> tuple[str, str]:
    """The word of a name in lower case, and its unit."""
    plain = column.strip()
    bracket = BRACKETS.fullmatch(plain)
    if bracket is not None:
        unit = parse(bracket[2])
        # An amount in brackets that is no unit, such as a gauge's number, tells nothing.
        return bracket[1].lower(), _written(bracket[2]) if known(bracket[2]) or unit.seconds else ""
    word, mark, ending = plain.lower().rpartition("_")
    return (word, ENDINGS[ending]) if mark and ending in ENDINGS else (plain.lower(), "")


def _written(unit: str) -> str:
    """A unit as this package writes it."""
    amount, seconds = parse(unit)
    per = {86400.0: "/day", 3600.0: "/h", 1.0: "/s", 60.0: "/min"}
    return amount + per.get(seconds, "") if not seconds or seconds in per else unit
