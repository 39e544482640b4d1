"""Members of one model: read from their run folders, averaged, scored alone and together."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from mclstm.data.readers.hdf5_door import require_safe
from mclstm.errors import DataError
from mclstm.evaluation.comparison import COMPARED, Scored
from mclstm.evaluation.nonnegative import MARK, nonnegative
from mclstm.evaluation.score_tables import score_table

__all__ = ["averaged", "read_flows", "read_outlet", "require_alike", "scored", "together"]

LEDGER = ("entered", "outflow", "storage", "storage_before", "residual")
KEPT = ("simulated", "observed", "inflow")  # the stores of 447 basins would fill the memory


def read_flows(path: Path) -> xr.Dataset:
    """Simulated, observed and inflow, (site, time), of a run's predictions.nc; the stores stay unread."""
    if not path.is_file():
        raise DataError(f"{path} does not exist. Make it with: mclstm evaluate {path.parents[2]}")
    require_safe(path)
    with xr.open_dataset(path, engine="h5netcdf", decode_timedelta=False) as file:
        missing = [name for name in KEPT if name not in file]
        if missing:
            raise DataError(
                f"{path} has no variable {missing[0]!r}. "
                "Reports compare one target that was observed: evaluate a run with one."
            )
        flows = file[list(KEPT)].load()
    # A file from before there was a choice; only models of signed mass would not be scored so today.
    return flows if MARK in flows["simulated"].attrs else nonnegative(flows)


def read_outlet(path: Path, name: str, site: str) -> pd.Series | None:
    """What left one site by a named outlet, of the ledger or of a free head, by day; None without it."""
    require_safe(path)
    with xr.open_dataset(path, engine="h5netcdf", decode_timedelta=False) as file:
        at = [str(known) for known in file["site"].to_numpy()].index(site)
        if name in file.data_vars:
            return file[name].isel(site=at).to_series()
        if "outlet" not in file.coords or name not in file["outlet"].to_numpy():
            return None
        return file["outflow"].isel(site=at).sel(outlet=name).drop_vars(["outlet", "site"]).to_series()


def require_alike(first: xr.Dataset, second: xr.Dataset, names: tuple[str, str]) -> None:
    """Refuse two simulations of other sites, dates or observations: their scores would not compare."""
    for axis in ("site", "time"):
        if not np.array_equal(first[axis].to_numpy(), second[axis].to_numpy()):
            raise DataError(
                f"{names[0]} and {names[1]} were evaluated on different {axis}s. "
                "Evaluate all runs on the same sites and dates."
            )
    if not np.allclose(first["observed"], second["observed"], rtol=1e-6, equal_nan=True):
        raise DataError(
            f"{names[0]} and {names[1]} were scored against different observations. "
            "Evaluate all of them on the same data."
        )


def averaged(members: Sequence[xr.Dataset]) -> xr.Dataset:
    """The ensemble: the mean of the simulations, with the observations they share.

    >>> days = {"site": ["A"], "time": [0, 1]}
    >>> low, high = (xr.Dataset({n: (("site", "time"), [[v, v]]) for n in KEPT}, days) for v in (1.0, 3.0))
    >>> averaged([low, high])["simulated"].to_numpy().tolist()
    [[2.0, 2.0]]
    """
    total = members[0]["simulated"].copy()
    for member in members[1:]:
        total += member["simulated"].to_numpy()
    return members[0].assign(simulated=total / len(members))


def together(members: Iterable[xr.Dataset]) -> xr.Dataset:
    """All that members simulated, averaged; `simulated_low` and `simulated_high` are the extreme members.

    The ledger is linear, so the mean of ledgers that close closes. Cells of different members have nothing
    in common: where there are several members their storage is to be the total (`simulate(cells=False)`).
    One member stays as it is.

    >>> days = {"site": ["A"], "time": [0, 1]}
    >>> low, high = (xr.Dataset({"simulated": (("site", "time"), [[v, v]])}, days) for v in (1.0, 3.0))
    >>> {name: item.to_numpy().tolist() for name, item in together([low, high]).data_vars.items()}
    {'simulated': [[2.0, 2.0]], 'simulated_low': [[1.0, 1.0]], 'simulated_high': [[3.0, 3.0]]}
    """
    given = iter(members)
    first = next(given)
    flows = [str(name) for name in first.data_vars if str(name).startswith("simulated")]
    total = {name: first[name].to_numpy() for name in [*flows, *(key for key in LEDGER if key in first)]}
    low, high = ({name: total[name] for name in flows} for _ in range(2))
    count = 1
    for member in given:
        count += 1
        total = {name: value + member[name].to_numpy() for name, value in total.items()}
        low = {name: np.fmin(value, member[name].to_numpy()) for name, value in low.items()}
        high = {name: np.fmax(value, member[name].to_numpy()) for name, value in high.items()}
    if count == 1:
        return first
    means = {name: first[name].copy(data=value / count) for name, value in total.items()}
    result = first.assign(means).assign_attrs(members=count, simulated=f"mean of {count} members")
    for word, ends in (("low", low), ("high", high)):
        for name, value in ends.items():
            about = {**first[name].attrs, "long_name": f"{word}est of {count} members"}
            result[f"{name}_{word}"] = first[name].copy(data=value).assign_attrs(about)
    return result


def scored(name: str, members: Sequence[xr.Dataset], conserving: bool) -> list[Scored]:
    """The single model with a frame a member and, of several members, `<name>-ensemble`."""
    frames = [score_table(member, COMPARED).set_index("site") for member in members]
    found = [Scored(name, tuple(frames), conserving)]
    if len(members) > 1:
        frame = score_table(averaged(members), COMPARED).set_index("site")
        found.append(Scored(f"{name}-ensemble", (frame,), conserving, len(members)))
    return found
