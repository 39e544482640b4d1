"""Malformed CAMELS-US: the text files of one basin, and the folders around them."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mclstm.cli.main import main

Refused = Callable[[list[str], str], None]
BASIN = "01013500"
DAYS = np.arange("1980-01-01", "1980-03-11", dtype="datetime64[D]")
FORCING = Path("basin_mean_forcing/daymet/01") / f"{BASIN}_lump_cida_forcing_leap.txt"
FLOW = Path("usgs_streamflow/01") / f"{BASIN}_streamflow_qc.txt"
TOPO = Path("camels_attributes_v2.0/camels_topo.txt")
ROLES = ["--mass", "prcp", "--aux", "tmax,tmin", "--static", "elev_mean", "--target", "discharge"]

HEADER = "  47.23\n 250.31\n2303988000\nYear Mnth Day Hr\tdayl(s)\tprcp(mm/day)\tswe(mm)\ttmax(C)\ttmin(C)\n"
PARTS = [str(day).split("-") for day in DAYS]
FORCING_ROWS = [
    f"{y} {m} {d} 12\t30000.0\t{i % 5}.5\t0.00\t{i % 9}.1\t-{i % 7}.2\n" for i, (y, m, d) in enumerate(PARTS)
]
FLOW_ROWS = [f"{BASIN} {y} {m} {d}   {600 + i}.00 A\n" for i, (y, m, d) in enumerate(PARTS)]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    texts = {
        FORCING: HEADER + "".join(FORCING_ROWS),
        FLOW: "".join(FLOW_ROWS),
        TOPO: f"gauge_id;gauge_lat;elev_mean\n{BASIN};47.2;250.31\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    return tmp_path


# name: (file, what is replaced, by what, what the message must name)
EDITS: dict[str, tuple[Path, str, str, str]] = {
    "area is text": (FORCING, "2303988000", "large", "line 3"),
    "area is zero": (FORCING, "2303988000", "0", "line 3"),
    "area is negative": (FORCING, "2303988000", "-5", "line 3"),
    "area is nan": (FORCING, "2303988000", "nan", "line 3"),
    "header without date": (FORCING, "Year Mnth Day Hr", "Date", "line 4"),
    "header with a column twice": (FORCING, "tmin(C)", "tmax(C)", "line 4"),
    "header without tmax": (FORCING, "tmax(C)", "tmean(C)", "'tmax'"),
    "text in the forcing": (FORCING, "30000.0\t2.5", "30000.0\tabc", "'abc'"),
    "infinite forcing": (FORCING, "30000.0\t2.5", "30000.0\tinf", "infinite"),
    "1e400 in the forcing": (FORCING, "30000.0\t2.5", "30000.0\t1e400", "infinite"),
    "a field too few": (FORCING, "30000.0\t2.5\t", "30000.0\t", "line 7 has 8 fields"),
    "a field too many": (FORCING, "30000.0\t2.5\t", "30000.0\t2.5\t1\t", "line 7 has 10 fields"),
    "month 13": (FORCING, "1980 02 01", "1980 13 01", "1980-13-1"),
    "30 February": (FORCING, "1980 02 29", "1980 02 30", "1980-2-30"),
    "year 0": (FORCING, "1980 01 05", "0 01 05", "line 9"),
    "fractional month": (FORCING, "1980 01 05", "1980 1e9 05", "line 9"),
    "a day twice": (FORCING, FORCING_ROWS[9], FORCING_ROWS[9] * 2, "more than once"),
    "a day left out": (FORCING, FORCING_ROWS[9], "", "1980-01-10"),
    "negative rain": (FORCING, "30000.0\t2.5", "30000.0\t-2.5", "negative"),
    "sentinel in the forcing": (FORCING, "30000.0\t2.5", "30000.0\t-999", "-999"),
    "blank line in the forcing": (FORCING, FORCING_ROWS[9], " \n" + FORCING_ROWS[9] + "x\n", "fields"),
    "no flow value": (FLOW, " 605.00 A", " A", "line 6"),
    "text in the flow": (FLOW, "605.00", "high", "'high'"),
    "flow of another gauge": (FLOW, FLOW_ROWS[7], "0" * 8 + FLOW_ROWS[7][8:], "another gauge"),
    "flow of 31 April": (FLOW, "1980 02 28", "1980 04 31", "1980-4-31"),
    "flow of a day twice": (FLOW, FLOW_ROWS[9], FLOW_ROWS[9] * 2, "1980-01-10"),
    "flow is empty": (FLOW, "".join(FLOW_ROWS), "", "empty"),
    "NUL in the flow": (FLOW, "605.00", "60\0.00", "NUL"),
    "basin without attributes": (TOPO, BASIN, "01013501", BASIN),
    "leading zero lost": (TOPO, BASIN, BASIN[1:], BASIN),
    "attribute is NA": (TOPO, "250.31", "NA", "elev_mean"),
    "attribute is text": (TOPO, "250.31", "high", "'high'"),
    "attribute absent": (TOPO, "elev_mean", "elevation", "elev_mean"),
    "attributes ragged": (TOPO, "47.2;250.31", "47.2", "line 2 has 2 fields"),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_edit(name: str, archive: Path, refused: Refused) -> None:
    file, old, new, word = EDITS[name]
    text = (archive / file).read_text()
    assert old in text
    (archive / file).write_text(text.replace(old, new, 1))
    refused([str(archive), *ROLES], word)


PLACES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no forcing": (lambda root: (root / FORCING).unlink(), "forcing"),
    "no flow": (lambda root: (root / FLOW).unlink(), "'discharge'"),
    "two products": (lambda root: (root / "basin_mean_forcing/nldas").mkdir(), "--reader camels_us/"),
    "no attributes": (lambda root: shutil.rmtree(root / TOPO.parent), "elev_mean"),
    "header only": (lambda root: (root / FORCING).write_text(HEADER), "first row"),
    "three lines": (lambda root: (root / FORCING).write_text("1\n2\n3\n"), "first row"),
    "folder in place of a file": (
        lambda root: ((root / FORCING).unlink(), (root / FORCING).mkdir()), "folder"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_place(name: str, archive: Path, refused: Refused) -> None:
    change, word = PLACES[name]
    change(archive)
    refused([str(archive), *ROLES], word)


@pytest.mark.parametrize("file", [FORCING, FLOW], ids=["forcing", "flow"])
@pytest.mark.parametrize("seed", range(5))
def test_cut_short(file: Path, seed: int, archive: Path, refused: Refused) -> None:
    data = (archive / file).read_bytes()
    offset = random.Random(seed).randrange(20, len(data))
    offset += data[offset - 1 : offset] == b"\n"  # a cut between two lines leaves a sound, shorter file
    (archive / file).write_bytes(data[:offset])
    refused([str(archive), *ROLES], file.name)


def test_unknown_product(archive: Path, refused: Refused) -> None:
    refused([str(archive), *ROLES, "--reader", "camels_us/era5"], "'daymet'")


def test_the_good_archive_passes(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCLSTM_CACHE", str(archive / "cache"))
    assert main(["check", str(archive), *ROLES]) == 0
