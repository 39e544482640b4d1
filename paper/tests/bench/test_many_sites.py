"""The record of more sites than memory, with few: sites made of real ones, and what a training tells."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from mclstm.evaluation.prediction_store import open_store
from mclstm_paper.bench import many_sites

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def basins() -> xr.Dataset:
    """Two basins with the columns of the recipe over the days of the record."""
    columns, source = many_sites.recipe(ROOT)["data"], np.random.default_rng(0)
    time = pd.date_range("1999-10-01", "2006-09-30")
    dynamic = {
        name: (("site", "time"), source.gamma(2.0, 1.0, (2, len(time))), {"role": role, "units": unit})
        for role, unit in (("mass", "mm/day"), ("aux", ""), ("target", "mm/day"))
        for name in columns[role]
    }
    static = {name: ("site", source.random(2) + 1, {"role": "static"}) for name in columns["static"]}
    dynamic["discharge"][1][:] *= 0.5  # no site gives more than it gets
    return xr.Dataset(dynamic | static, {"site": ["A", "B"], "time": time})


def test_the_first_copies_are_the_basins_and_the_others_have_their_own_noise(basins: xr.Dataset) -> None:
    sites = many_sites.copies(basins, 0, 6)
    for name in basins:
        np.testing.assert_array_equal(sites[name][:2], basins[name])
        assert (sites[name][2:4] != basins[name]).all()
        assert (sites[name][2:4] != sites[name][4:6]).all()
    xr.testing.assert_identical(many_sites.copies(basins, 4, 2), sites.isel(site=slice(4, 6)))
    ratio = [item["discharge"].sum("time") / item["prcp"].sum("time") for item in (sites, basins)]
    # The noise of a day has mean one: over 2,557 days its mean is within a few of its 0.2 / sqrt(days).
    np.testing.assert_allclose(ratio[0][2:4] / ratio[1].to_numpy(), 1, atol=5 * 0.2 / 2557**0.5)


def test_a_training_in_parts_and_a_prediction_are_measured(basins: xr.Dataset, tmp_path: Path) -> None:
    many_sites.write_sites(basins, tmp_path / "sites.zarr", 66)
    run = tmp_path / "run"
    numbers = many_sites.measure(ROOT, tmp_path / "sites.zarr", False, many_sites.FIRST + 2, run)
    assert all(value > 0 for value in numbers.values())
    assert numbers["peak MB"] >= numbers["MB before"]
    told = many_sites.predict(run, tmp_path / "sites.zarr", tmp_path / "p.zarr", many_sites.Dates(end="2000"))
    assert told["MB of the prediction"] > 0
    assert open_store(tmp_path / "p.zarr").sizes["site"] == 66
