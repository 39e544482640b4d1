"""What happens to missing inputs: nothing, unless declared; the ledger counts apart what was filled."""

import numpy as np

from mclstm.data.columns import day
from mclstm.data.tables import Roles, Table
from mclstm.errors import ConfigError, DataError

__all__ = ["MISSING_AUX", "MISSING_MASS", "filled", "require_policy"]

MISSING_MASS = ("error", "zero", "interpolate")
MISSING_AUX = ("error", "interpolate")


def require_policy(missing_mass: str, missing_aux: str) -> None:
    """Refuse a policy that does not exist."""
    for name, value, known in (
        ("missing_mass", missing_mass, MISSING_MASS),
        ("missing_aux", missing_aux, MISSING_AUX),
    ):
        if value not in known:
            raise ConfigError(f"{name} is {value!r}. Choose one of {', '.join(known)}.")


def filled(
    table: Table, roles: Roles, missing_mass: str, missing_aux: str
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """A site's columns on its full grid without missing inputs, and where mass was filled.

    Targets keep their NaN: what was not observed is not scored.
    """
    policies = dict.fromkeys(roles.mass, missing_mass) | dict.fromkeys(roles.aux, missing_aux)
    result, marks = dict(table.values), {}
    for name, policy in policies.items():
        missing = np.isnan(table.values[name])
        if name in roles.mass:
            marks[name] = missing
        if missing.any():
            result[name] = _fill(table, name, missing, policy)
    return result, marks


def _fill(table: Table, name: str, missing: np.ndarray, policy: str) -> np.ndarray:
    values = table.values[name]
    if policy == "zero":
        return np.where(missing, 0.0, values)
    if policy == "interpolate" and not missing[0] and not missing[-1]:
        known = np.flatnonzero(~missing)
        # Steps are regular, so the position is the time.
        return np.asarray(np.interp(np.arange(len(values)), known, values[known]))
    ends = ", at an end of the series where nothing can be interpolated" if policy == "interpolate" else ""
    raise DataError(
        f"{table.file}, site {table.site}, column {name}: {int(missing.sum())} missing values "
        f"from {day(table.times[int(np.argmax(missing))])}{ends}. "
        "Fill them, cut the rows off, or declare a policy."
    )
