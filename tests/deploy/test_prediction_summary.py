"""What `mclstm predict` says of its predictions, its warm-up, and its choice of dates and members."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from mclstm.cli.main import main
from mclstm.deploy.predict import predict
from mclstm.evaluation.metrics import nse
from support.layouts import Frames, as_csv, attributes

WARMUP = 8  # of the members


def run_predict(pack: Path, data: Path, out: Path, *options: str) -> xr.Dataset:
    assert main(["predict", str(pack), "--data", str(data), "--out", str(out), *options]) == 0
    with xr.open_dataset(out, engine="h5netcdf") as file:
        return file.load()


def test_it_says_what_was_predicted_and_scores_it_after_the_warm_up(
    pack: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run_predict(pack, data, tmp_path / "p.nc", "--csv", "--state-out", str(tmp_path / "s"))
    said = capsys.readouterr().out.splitlines()
    assert said[0] == (
        "discharge in mm/day: the mean of 2 members, 2 sites, 2001-01-01 to 2001-08-28, 240 steps"
    )
    assert said[1] == "warm-up: do not use the first 8 steps; they are marked in `warmup`"
    assert said[2].startswith("NSE ")
    assert said[2].endswith(" after the warm-up, median over sites")
    files = [f"predictions {tmp_path / 'p.nc'}", f"csv {tmp_path / 'p.csv'}", f"state {tmp_path / 's'}"]
    assert said[3:] == [*files, f"page {tmp_path / 'p.html'}"]
    assert result["warmup"].sum("time").to_numpy().tolist() == [WARMUP, WARMUP]
    assert result["warmup"].to_numpy()[:, :WARMUP].all()
    assert "warmup" in pd.read_csv(tmp_path / "p.csv")
    main(["predict", str(pack), "--data", str(data), "--out", str(tmp_path / "p.nc"), "--json"])
    about = json.loads(capsys.readouterr().out)
    expected = [
        nse(*(result[name].to_numpy()[site, WARMUP:] for name in ("simulated", "observed")))
        for site in (0, 1)
    ]
    assert about["median"]["nse"] == pytest.approx(np.median(expected), abs=1e-12)
    assert (about["members"], about["targets"], about["warmup_steps"]) == (2, {"discharge": "mm/day"}, WARMUP)


def test_without_observations_there_is_no_score(
    pack: Path, tables: Frames, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blind = as_csv(
        tmp_path / "blind",
        {site: table[["prcp", "srad", "tmax", "tmin", "vp"]][:5] for site, table in tables.items()},
    )
    run_predict(pack, blind, tmp_path / "p.nc")
    said = capsys.readouterr().out
    assert "NSE" not in said
    assert "the first 5 steps (all there are: give more data before them)" in said


def test_a_start_and_an_end_cut_the_same_prediction(pack: Path, data: Path, tmp_path: Path) -> None:
    """The days before the start still fill the stores, and the state is that of the end."""
    whole = predict(pack, str(data))
    dates = ["--start", "2001-03-01", "--end", "2001-04-30"]
    part = run_predict(pack, data, tmp_path / "p.nc", *dates, "--state-out", str(tmp_path / "s"))
    same = whole.sel(time=slice("2001-03-01", "2001-04-30"))
    np.testing.assert_array_equal(part["simulated"], same["simulated"])
    np.testing.assert_allclose(part["outflow"], same["outflow"], rtol=1e-6)  # written as float32
    assert not part["warmup"].any()
    rest = run_predict(pack, data, tmp_path / "r.nc", "--start", "2001-05-01")
    np.testing.assert_array_equal(rest["simulated"], whole.sel(time=slice("2001-05-01", None))["simulated"])


def test_a_state_and_a_start_go_together(pack: Path, data: Path, tables: Frames, tmp_path: Path) -> None:
    state = str(tmp_path / "s")
    run_predict(pack, data, tmp_path / "a.nc", "--end", "2001-01-05", "--state-out", state)
    later = as_csv(tmp_path / "later", {site: table["2001-01-06":] for site, table in tables.items()})
    part = run_predict(pack, later, tmp_path / "b.nc", "--state-in", state, "--start", "2001-01-08")
    same = predict(pack, str(data)).sel(time=slice("2001-01-08", None))
    np.testing.assert_array_equal(part["simulated"], same["simulated"])
    # Five steps were before the state: the eighth step of the record is the last to fill the stores.
    assert part["warmup"].to_numpy()[:, :2].tolist() == [[1, 0], [1, 0]]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ["--start", "2005-01-01"],
            "covers 2001-01-01 to 2001-08-28: --start and --end leave",
        ),
        (["--end", "soon"], "--end soon: write dates as 2001-12-31"),
        (["--member", "7"], "have the seeds 3, 8. Choose one."),
    ],
)
def test_dates_and_members_that_are_not_there(
    pack: Path,
    data: Path,
    options: list[str],
    expected: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["predict", str(pack), "--data", str(data), "--out", str(tmp_path / "p.nc"), *options]
    assert main(words) == 2
    assert expected in capsys.readouterr().err


def test_a_member_alone_has_its_cells(pack: Path, runs: list[Path], data: Path, tmp_path: Path) -> None:
    part = run_predict(pack, data, tmp_path / "p.nc", "--member", "8")
    alone = predict(runs[1], str(data))
    np.testing.assert_array_equal(part["simulated"], alone["simulated"])
    np.testing.assert_allclose(part["storage"], alone["storage"], rtol=1e-6)
    assert part.sizes["cell"] == 3


def test_messages_name_options_of_predict(
    pack: Path, tables: Frames, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = as_csv(tmp_path / "gaps", {site: table.drop(table.index[5]) for site, table in tables.items()})
    words = ["predict", str(pack), "--out", str(tmp_path / "p.nc"), "--data"]
    assert main([*words, str(folder)]) == 2
    said = capsys.readouterr().err
    assert "declare missing_mass: zero (--columns FILE)" in said
    assert "data." not in said
    bare = as_csv(tmp_path / "bare", tables)
    (bare / "attributes.csv").unlink()
    assert main([*words, str(bare)]) == 2
    said = capsys.readouterr().err
    assert "--attributes" in said
    assert "data." not in said
    assert main([*words, str(tmp_path / "absent")]) == 2
    assert "there is no such file or folder" in capsys.readouterr().err


def test_one_site_and_one_row_of_attributes_belong_together(
    pack: Path, tables: Frames, data: Path, tmp_path: Path
) -> None:
    site = next(iter(tables))
    tables[site].to_csv(tmp_path / "my river.csv")
    table = pd.read_csv(attributes(tmp_path / "all.csv"), dtype={"gauge_id": str})
    table[table["gauge_id"] == site].assign(gauge_id="another name").to_csv(tmp_path / "one.csv", index=False)
    part = run_predict(
        pack, tmp_path / "my river.csv", tmp_path / "p.nc", "--attributes", str(tmp_path / "one.csv")
    )
    # One site alone and two together take different paths through the kernel: equal within rounding.
    whole = predict(pack, str(data))["simulated"].sel(site=[site])
    np.testing.assert_allclose(part["simulated"], whole, rtol=1e-5)
