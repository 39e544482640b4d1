"""`mclstm predict` with a packed model: the mean of its members, on a user's own data in every layout."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
import yaml

from mclstm.cli.main import main
from mclstm.data.vapour_pressure import saturated
from mclstm.deploy.new_data import Source
from mclstm.deploy.predict import predict
from mclstm.explain.water_balance import balance_table
from support.layouts import AREA_KM2, COLUMNS, Frames, as_caravan, as_csv

ROOT = Path(__file__).parents[2]
MAPPING = {"columns": COLUMNS, "units": {"vapour_pressure": "kPa"}}


@pytest.fixture(scope="session")
def alone(runs: list[Path], data: Path) -> list[xr.Dataset]:
    """What each member predicts by itself."""
    return [predict(run, str(data)) for run in runs]


def written(path: Path, content: object) -> Path:
    path.write_text(yaml.safe_dump(content))
    return path


def test_every_layout_gives_the_mean_of_the_members(
    pack: Path, layout: tuple[str, Path], alone: list[xr.Dataset], tmp_path: Path
) -> None:
    name, folder = layout
    words = ["predict", str(pack), "--data", str(folder), "--out", str(tmp_path / "p.nc"), "--csv"]
    if name == "caravan":
        words += ["--columns", str(written(tmp_path / "columns.yaml", MAPPING))]
    assert main(words) == 0
    with xr.open_dataset(tmp_path / "p.nc", engine="h5netcdf") as file:
        predictions = file.load()
    each = np.stack([member["simulated"].to_numpy() for member in alone])
    tolerance = {"rtol": 1e-12 if name == "csv" else 1e-5, "atol": 0 if name == "csv" else 1e-7}
    np.testing.assert_allclose(predictions["simulated"], each.mean(0), **tolerance)
    np.testing.assert_allclose(predictions["simulated_low"], each.min(0), **tolerance)
    np.testing.assert_allclose(predictions["simulated_high"], each.max(0), **tolerance)
    assert predictions.attrs["members"] == 2
    assert predictions["simulated"].attrs["units"] == "mm/day"
    np.testing.assert_allclose(predictions["observed"], alone[0]["observed"], atol=1e-6)
    table = pd.read_csv(tmp_path / "p.csv")
    assert {"simulated", "simulated_low", "simulated_high"} <= set(table.columns)


def test_the_ledger_of_the_mean_closes(pack: Path, data: Path, alone: list[xr.Dataset]) -> None:
    predictions = predict(pack, str(data))
    assert balance_table(predictions)["relative error"].max() < 1e-5
    total = sum(member["storage"].sum("cell", skipna=False).to_numpy() for member in alone) / 2
    np.testing.assert_allclose(predictions["storage"].sum("cell"), total, rtol=1e-12)
    assert predictions.sizes["cell"] == 1
    assert predictions["storage"].attrs["trash_cell"] == -1
    for name in ("outflow", "residual", "entered"):
        mean = (alone[0][name].to_numpy() + alone[1][name].to_numpy()) / 2
        np.testing.assert_allclose(predictions[name], mean, rtol=1e-9, atol=1e-9)
    books = predictions["entered"].sum("time") - predictions["outflow"].sum(["time", "outlet"])
    stored = predictions["storage"].isel(time=-1).sum("cell") - predictions["storage_before"]
    np.testing.assert_allclose(books - stored, predictions["residual"].isel(time=-1), atol=1e-9)


def test_parts_equal_one_whole(pack: Path, tables: Frames, tmp_path: Path) -> None:
    """The states of all members are in one file, which a run cannot read."""
    state = tmp_path / "state.safetensors"
    halves = [
        as_csv(tmp_path / name, {site: table[part] for site, table in tables.items()})
        for name, part in (("a", slice(0, 100)), ("b", slice(100, None)))
    ]
    whole = predict(pack, str(as_csv(tmp_path / "whole", tables)))
    parts = [predict(pack, str(halves[0]), None, state), predict(pack, str(halves[1]), state)]
    for name in ("simulated", "simulated_low", "storage", "outflow"):
        joined = np.concatenate([part[name].to_numpy() for part in parts], axis=1)
        assert joined.tobytes() == whole[name].to_numpy().tobytes(), name


def test_a_state_of_a_run_is_not_one_of_its_pack(
    pack: Path, runs: list[Path], data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    predict(runs[0], str(data), None, tmp_path / "state")
    later = as_csv(tmp_path / "later", {"01013500": pd.read_csv(data / "01013500.csv", index_col=0)})
    table = pd.read_csv(later / "01013500.csv")
    table["date"] = pd.date_range("2001-08-29", periods=len(table))
    table.to_csv(later / "01013500.csv", index=False)
    words = ["predict", str(pack), "--data", str(later), "--state-in", str(tmp_path / "state")]
    assert main(words) == 2
    assert "was made by a model with other weights" in capsys.readouterr().err


def test_declared_units_are_converted(
    pack: Path, tables: Frames, alone: list[xr.Dataset], tmp_path: Path
) -> None:
    """Rain in m/h, temperatures in kelvin under exchanged names, flow in m3/s over an area."""
    theirs = {
        site: pd.DataFrame(
            {
                "P": table["prcp"] / 24_000,
                "srad": table["srad"],
                "tmin": table["tmax"] + 273.15,
                "tmax": table["tmin"] + 273.15,
                "vp": table["vp"],
                "Q": table["discharge"],
            }
        )
        for site, table in tables.items()
    }
    folder = as_csv(tmp_path / "mine", theirs)
    static = pd.read_csv(folder / "attributes.csv", dtype={"gauge_id": str})
    (folder / "attributes.csv").unlink()
    static = static.rename(columns={"elev_mean": "height"}).assign(km2=AREA_KM2)
    static.assign(height=static["height"] * 100).to_csv(tmp_path / "sites.csv", index=False)
    mapping = {
        "columns": {"prcp": "P", "discharge": "Q", "tmax": "tmin", "tmin": "tmax", "elev_mean": "height"},
        "units": {"P": "m/h", "Q": "m3/s", "tmin": "K", "tmax": "K", "height": "cm"},
        "area": "km2",
    }
    columns = written(tmp_path / "columns.yaml", mapping)
    predictions = predict(pack, Source(str(folder), "csv", str(tmp_path / "sites.csv"), columns))
    mean = (alone[0]["simulated"].to_numpy() + alone[1]["simulated"].to_numpy()) / 2
    np.testing.assert_allclose(predictions["simulated"], mean, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(predictions["observed"], alone[0]["observed"], rtol=1e-9)
    assert predictions["observed"].attrs["units"] == "mm/day"


@pytest.mark.parametrize(
    ("column", "needs"),
    [
        ("prcp", "needs the mass input 'prcp' in mm/day"),
        ("vp", "needs the auxiliary input 'vp' in Pa"),
        ("elev_mean", "needs the attribute 'elev_mean' in m"),
    ],
)
def test_a_missing_column_is_named_with_its_unit(
    pack: Path,
    layout: tuple[str, Path],
    column: str,
    needs: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name, folder = layout
    columns = dict(COLUMNS if name == "caravan" else {}) | {column: "my_own"}
    words = ["predict", str(pack), "--data", str(folder), "--out", str(tmp_path / "p.nc")]
    assert main([*words, "--columns", str(written(tmp_path / "c.yaml", {"columns": columns}))]) == 2
    said = capsys.readouterr().err
    assert needs in said
    assert "my_own" in said
    assert "--columns" in said
    assert not (tmp_path / "p.nc").exists()


MISTAKES = {
    "unknown key": ({"colums": {}}, "Did you mean 'columns'?"),
    "unknown column": ({"columns": {"rain": "P"}}, "the model has no column 'rain'. It has 'prcp'"),
    "no mapping": ({"columns": ["prcp"]}, "needs a mapping"),
    "nothing": ({}, "holds no keys"),
    "unit of nothing": ({"units": {"snow": "mm"}}, "'snow' has a unit but is not read"),
    "unit that is a number": ({"units": {"vp": 3}}, "data.units.vp: needs text"),
    "another quantity": ({"units": {"vp": "mm"}}, "mm cannot become Pa"),
    "kelvin of mass": ({"units": {"prcp": "K"}}, "mass column is declared in K"),
    "one column twice": ({"columns": {"tmax": "tmin"}}, "names 'tmin' twice"),
    "one column in two roles": ({"columns": {"tmax": "prcp"}}, "has 'prcp' in mass and in aux"),
    "negative area": ({"area": -3}, "data.area: needs a number greater than 0"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_in_a_file_of_columns(
    name: str, pack: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, expected = MISTAKES[name]
    file = written(tmp_path / "c.yaml", content)
    assert main(["predict", str(pack), "--data", str(data), "--columns", str(file)]) == 2
    said = capsys.readouterr().err
    assert expected in said, said
    assert len(said.strip().splitlines()) <= 5


def test_a_reader_that_does_not_exist(pack: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", str(pack), "--data", str(data), "--reader", "xls"]) == 2
    assert "--reader, data.reader: needs one of auto, csv" in capsys.readouterr().err


def test_by_default_a_pack_is_not_written_into(
    pack: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(file.name for file in pack.iterdir())
    monkeypatch.chdir(tmp_path)
    assert main(["predict", str(pack), "--data", str(data)]) == 0
    assert (tmp_path / "predictions" / f"{data.name}.nc").is_file()
    assert sorted(file.name for file in pack.iterdir()) == before


def test_the_example_of_the_page_runs(pack: Path, tables: Frames, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "hydrology.md").read_text()
    (example,) = [
        block
        for block in re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL)
        if "total_precipitation_sum" in block
    ]
    (tmp_path / "columns.yaml").write_text(example)
    vapour = {site: table.assign(vp=saturated(table["tmin"].to_numpy())) for site, table in tables.items()}
    folder = as_caravan(tmp_path / "caravan", tables)
    attributes = (folder / "attributes/camels/attributes_caravan_camels.csv").rename(tmp_path / "sites.csv")
    predictions = predict(pack, Source(str(folder), None, str(attributes), tmp_path / "columns.yaml"))
    expected = predict(pack, str(as_csv(tmp_path / "plain", vapour)))["simulated"]
    np.testing.assert_allclose(predictions["simulated"], expected, rtol=1e-5, atol=1e-7)
