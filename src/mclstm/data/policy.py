"""What happens to missing inputs: nothing, unless declared; the ledger counts apart what was filled."""

import numpy as np
import pandas as pd

from mclstm.data.tables import Roles
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
    frame: pd.DataFrame, roles: Roles, missing_mass: str, missing_aux: str, where: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A site's table on its full grid without missing inputs, and where mass was filled.

    Targets keep their NaN: what was not observed is not scored.
    """
    mass, aux = list(roles.mass), list(roles.aux)
    was_missing = frame[mass].isna()
    result = frame.copy()
    for columns, policy in ((mass, missing_mass), (aux, missing_aux)):
        holes = [column for column in columns if frame[column].isna().any()]
        for column in holes:
            result[column] = _fill(frame[column], policy, f"{where}, column {column}")
    return result, was_missing


def _fill(column: pd.Series, policy: str, where: str) -> pd.Series:
    values = column.to_numpy(np.float64)
    known = np.flatnonzero(~np.isnan(values))
    if policy == "zero":
        return column.fillna(0.0)
    if policy == "interpolate" and len(known) and known[0] == 0 and known[-1] == len(values) - 1:
        # Steps are regular, so the position is the time.
        return pd.Series(np.interp(np.arange(len(values)), known, values[known]), index=column.index)
    first = column.index[int(np.flatnonzero(np.isnan(values))[0])]
    ends = policy == "interpolate"
    raise DataError(
        f"{where}: {int(np.isnan(values).sum())} missing values from {first.date()}"
        + (", at an end of the series where nothing can be interpolated. " if ends else ". ")
        + "Fill them, cut the rows off, or declare a policy (missing_mass: zero)."
    )
