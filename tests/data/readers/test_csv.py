"""The four shapes of CSV give one and the same series."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from mclstm.data.read import read
from mclstm.errors import ConfigError, DataError

DATES = pd.date_range("2001-01-01", periods=10)


@pytest.fixture
def frames() -> dict[str, pd.DataFrame]:
    chance = np.random.default_rng(1)
    return {
        site: pd.DataFrame({"rain": chance.random(10), "temp": chance.normal(size=10)}, DATES.rename("date"))
        for site in ("007", "B")
    }


def values(series: xr.Dataset) -> np.ndarray:
    return np.stack([series["rain"].to_numpy(), series["temp"].to_numpy()])


def test_long_wide_and_folder_are_equal(frames: dict[str, pd.DataFrame], tmp_path: Path) -> None:
    long = pd.concat(frames, names=["site"]).reset_index()
    long.to_csv(tmp_path / "long.csv", index=False)
    wide = pd.concat(frames, axis=1)
    wide.columns = [f"{name}.{site}" for site, name in wide.columns]
    wide.to_csv(tmp_path / "wide.csv")
    (tmp_path / "folder").mkdir()
    for site, frame in frames.items():
        frame.to_csv(tmp_path / "folder" / f"{site}.csv")
    expected = np.stack([[frame[name] for frame in frames.values()] for name in ("rain", "temp")])
    for name in ("long.csv", "wide.csv", "folder"):
        series = read(tmp_path / name, mass=["rain"], aux=["temp"])
        assert list(series["site"].to_numpy()) == ["007", "B"]
        np.testing.assert_allclose(values(series), expected, rtol=1e-15)


def test_declared_separator(frames: dict[str, pd.DataFrame], tmp_path: Path) -> None:
    frame = frames["B"].add_suffix("__B")
    frame.to_csv(tmp_path / "wide.csv")
    series = read(tmp_path / "wide.csv", mass=["rain"], separator="__")
    assert list(series["site"].to_numpy()) == ["B"]


def test_german_file(tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text("Datum;Regen\n01.02.2001;0,5\n02.02.2001;1,5\n")
    series = read(tmp_path / "g.csv", mass=["Regen"], time="Datum", date_format="%d.%m.%Y", decimal=",")
    assert series["Regen"].to_numpy().tolist() == [[0.5, 1.5]]
    assert str(series["time"].to_numpy()[0])[:10] == "2001-02-01"


def test_byte_order_mark_and_blank_lines(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_bytes(b"\xef\xbb\xbfdate,rain\r\n2001-01-01,1\r\n\r\n2001-01-02,2\r\n")
    assert read(tmp_path / "b.csv", mass=["rain"])["rain"].to_numpy().tolist() == [[1.0, 2.0]]


def test_unsorted_rows_are_sorted(tmp_path: Path) -> None:
    (tmp_path / "u.csv").write_text("date,rain\n2001-01-03,3\n2001-01-01,1\n2001-01-02,2\n")
    assert read(tmp_path / "u.csv", mass=["rain"])["rain"].to_numpy().tolist() == [[1.0, 2.0, 3.0]]


def test_hourly_and_monthly_steps(tmp_path: Path) -> None:
    for step, count in (("h", 48), ("MS", 24)):
        dates = pd.date_range("2001-01-01", periods=count, freq=step, name="time")
        pd.DataFrame({"rain": np.arange(count) * 1.0}, dates).to_csv(tmp_path / "s.csv")
        assert read(tmp_path / "s.csv", mass=["rain"]).attrs["step"] == step


def test_spans_may_differ(tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text(
        "site,date,rain\nA,2001-01-01,1\nA,2001-01-02,2\nB,2001-01-02,3\nB,2001-01-03,4\n"
    )
    series = read(tmp_path / "l.csv", mass=["rain"])
    np.testing.assert_array_equal(series["rain"].to_numpy(), [[1, 2, np.nan], [np.nan, 3, 4]])
    assert not series["rain_filled"].any()


def test_static_in_the_table_or_beside_it(tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text("site,date,rain,area\n01,2001-01-01,1,5\n01,2001-01-02,2,5\n")
    (tmp_path / "a.csv").write_text("site,area\n01,7\n02,9\n")
    inside = read(tmp_path / "l.csv", mass=["rain"], static=["area"])
    beside = read(tmp_path / "l.csv", mass=["rain"], static=["area"], attributes=str(tmp_path / "a.csv"))
    assert [float(inside["area"][0]), float(beside["area"][0])] == [5.0, 7.0]


def test_target_may_be_absent_only_when_allowed(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("date,rain\n2001-01-01,1\n2001-01-02,2\n")
    options = {"mass": ["rain"], "target": ["flow"], "convert": {"flow": "mm/day"}}
    with pytest.raises(DataError, match="'flow'"):
        read(tmp_path / "p.csv", **options)
    assert "flow" not in read(tmp_path / "p.csv", **options, require_target=False)


def test_mistakes_in_the_request(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("date,rain\n2001-01-01,1\n2001-01-02,2\n")
    with pytest.raises(ConfigError, match="mass"):
        read(tmp_path / "p.csv", mass=[])
    with pytest.raises(DataError, match="'Z'"):
        read(tmp_path / "p.csv", mass=["rain"], sites=["Z"])
    with pytest.raises(DataError, match="not declared"):
        read(tmp_path / "p.csv", mass=["rain"], convert={"rain": "mm/day"})
