"""Snow and evapotranspiration: the model output that CAMELS ships, and a table of one's own."""

import gzip
from pathlib import Path

import pytest

from mclstm.data.readers.land import read_land, series_of
from mclstm.errors import DataError
from support.shared_data import shared

HEAD = "YR MNTH DY HR SWE PRCP\n"


def test_the_output_of_snow_17() -> None:
    land = read_land(shared("snow17"))
    found = series_of(land, "swe")
    assert list(found) == ["01031500"]
    series = found["01031500"]
    assert (str(series.index[0].date()), len(series)) == ("1980-10-01", 12510)
    assert 300 < series.max() < 500
    assert series["1990-08-01"] == 0
    assert read_land(shared("snow17/01031500_05_model_output.txt.gz"))["01031500"].equals(land["01031500"])


def test_potential_and_modelled_evapotranspiration_come_from_the_same_files() -> None:
    table = read_land(shared("snow17"))["01031500"]
    assert list(table) == ["swe", "pet", "et"]
    assert table.loc["1980-10-01"].tolist() == [0.0, 1.5713, 1.54]  # the file's first line
    assert (table["et"] <= table["pet"] + 1e-3).all()  # no more evaporates than could


def test_a_site_has_what_its_file_has(tmp_path: Path) -> None:
    (tmp_path / "0103.csv").write_text("date,pet,swe\n2001-01-01,3.5,0\n2001-01-02,-0.25,1\n")
    (tmp_path / "0104.csv").write_text("date,swe\n2001-01-01,3.5\n")
    (tmp_path / "0105.csv").write_text("date,et\n2001-01-01,3.5\n")
    land = read_land(tmp_path)
    assert list(series_of(land, "swe")) == ["0103", "0104"]
    assert list(series_of(land, "et")) == ["0105"]
    assert series_of(land, "pet")["0103"].tolist() == [3.5, -0.25]


def test_plain_text_and_csv_give_the_same(tmp_path: Path) -> None:
    (tmp_path / "0102_05_model_output.txt").write_text(HEAD + "2001 1 1 12 3.5 0\n2001 1 2 12 4.5 1\n")
    (tmp_path / "0103.csv").write_text("date,swe\n2001-01-01,3.5\n2001-01-02,4.5\n")
    (tmp_path / "all.csv").write_text(
        "date,site,swe\n2001-01-02,0104,4.5\n2001-01-01,0104,3.5\n2001-01-01,05,\n"
    )
    found = series_of(read_land(tmp_path), "swe")
    assert sorted(found) == ["0102", "0103", "0104", "05"]
    for site in ("0102", "0103", "0104"):
        assert found[site].tolist() == [3.5, 4.5]
        assert found[site].index.is_monotonic_increasing
    assert found["05"].isna().all()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("01_x.txt", "a b c\n1 2 3\n", "does not begin with YR"),
        ("01_x.txt", "YR MNTH DY HR PRCP\n2001 1 1 12 0\n", "no column SWE, PET or ET"),
        ("01_x.txt", HEAD + "2001 13 1 12 1 0\n", "is not a date"),
        ("01_x.txt", HEAD + "2001 1 1 12 1 0\n2001 1 1 12 1 0\n", "two rows"),
        ("01.csv", "date,swe\n2001-01-01,-2\n", "negative snow"),
        ("01.csv", "date,pet\n2001-01-01,-999\n", "negative potential evapotranspiration"),
        ("01.csv", "date,swe\n2001-01-01,much\n", "column swe"),
        ("01.csv", "date,snow\n2001-01-01,1\n", "'swe'"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        read_land(tmp_path)
    assert name in str(caught.value)


def test_damaged_and_double_files_are_refused(tmp_path: Path) -> None:
    text = (HEAD + "2001 1 1 12 3.5 0\n").encode()
    (tmp_path / "01_a.txt.gz").write_bytes(gzip.compress(text)[:-9])
    with pytest.raises(DataError, match="cannot be unpacked"):
        read_land(tmp_path)
    (tmp_path / "01_a.txt.gz").write_bytes(gzip.compress(text))
    (tmp_path / "01_b.txt").write_bytes(text)
    with pytest.raises(DataError, match="twice"):
        read_land(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no file"):
        read_land(tmp_path / "empty")
