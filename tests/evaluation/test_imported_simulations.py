"""A folder of simulations: four layouts, one result."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from mclstm.errors import DataError
from mclstm.evaluation.comparison import COMPARED
from mclstm.evaluation.imported_simulations import score_simulations
from mclstm.evaluation.score_tables import score_table
from support.flows import flows

SITES = ("01013500", "02", "03")


def write(folder: Path, data: xr.Dataset) -> None:
    """The same simulation as netCDF, long CSV, wide CSV, and one file per basin as on HydroShare."""
    only = data[["simulated"]]
    only.transpose("time", "site").to_netcdf(folder / "SAC_SMA.nc", engine="h5netcdf")
    long = only.to_dataframe().reset_index().rename(columns={"time": "date"})
    long.to_csv(folder / "long_form.csv", index=False)
    wide = long.pivot(index="date", columns="site", values="simulated")
    wide.add_prefix("simulated.").to_csv(folder / "wide.csv")
    for row, site in enumerate(data["site"].to_numpy()):
        series = {name: ("index", data[name].to_numpy()[row]) for name in ("simulated", "observed")}
        file = xr.Dataset({"HBV_lb": series["simulated"], "QObs": series["observed"]})
        file = file.assign_coords(index=data["time"].to_numpy())
        file.to_netcdf(folder / f"{site}_benchmark_models.nc", engine="h5netcdf")


def test_four_layouts_give_the_scores_of_the_series(tmp_path: Path) -> None:
    data = flows(SITES)
    write(tmp_path, data)
    models, notes = score_simulations(tmp_path, data["observed"])
    assert {model.name: model.conserving for model in models} == {
        "sac-sma": True, "long-form": None, "wide": None, "hbv-lower": True,
    }  # fmt: skip
    expected = score_table(data, COMPARED).set_index("site")
    for model in models:
        pd.testing.assert_frame_equal(model.frames[0].sort_index(), expected, check_exact=False, rtol=1e-9)
    assert notes == []


def test_units_are_converted(tmp_path: Path) -> None:
    data = flows(SITES)
    hourly = data[["simulated"]] / 24
    hourly["simulated"].attrs["units"] = "mm/h"
    hourly.to_netcdf(tmp_path / "mine.nc", engine="h5netcdf")
    (model,), _ = score_simulations(tmp_path, data["observed"])
    expected = score_table(data, COMPARED).set_index("site")
    pd.testing.assert_frame_equal(model.frames[0], expected, check_exact=False, rtol=1e-9)


def test_sites_without_all_days_are_left_out_and_named(tmp_path: Path) -> None:
    data = flows(SITES)
    broken = data[["simulated"]].copy(deep=True)
    broken["simulated"][0, 5] = np.nan
    broken.isel(site=[0, 1]).to_netcdf(tmp_path / "mine.nc", engine="h5netcdf")
    (model,), notes = score_simulations(tmp_path, data["observed"])
    assert list(model.frames[0].index) == ["02"]
    assert any("lacks days of 1 sites" in note and "01013500" in note for note in notes)
    assert any("lacks 1 of 3 sites: '03'" in note for note in notes)
    gap = data["observed"].copy(deep=True)
    gap[0, 5] = np.nan  # what is not observed need not be simulated
    assert len(score_simulations(tmp_path, gap)[0][0].frames[0]) == 2


def test_a_folder_without_usable_files_is_refused(tmp_path: Path) -> None:
    data = flows(SITES)
    with pytest.raises(DataError, match="holds no"):
        score_simulations(tmp_path, data["observed"])
    flows(("77",))[["simulated"]].to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(DataError, match="simulates no site"):
        score_simulations(tmp_path, data["observed"])
    pd.DataFrame({"date": ["1989-10-01"], "flow": [1.0]}).to_csv(tmp_path / "z.csv", index=False)
    with pytest.raises(DataError, match="simulated"):
        score_simulations(tmp_path, data["observed"])
