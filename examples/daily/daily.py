"""A daily forecast without a server: a timer runs this file once per day.

    python daily.py RUN OBSERVED WEATHER FOLDER

OBSERVED: a CSV with `date` and the inputs of the model up to now. Rows may be late, and corrected afterwards.
WEATHER: a CSV with `date`, `member` and the inputs of the days ahead, one row per day and weather member.
FOLDER keeps the state after every day, the data it was made with, and the forecasts.
"""

import sys
from pathlib import Path

import pandas as pd

import mclstm
from mclstm.training.atomic import write_text_atomic

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)


def complete(table: pd.DataFrame) -> pd.DataFrame:
    """The days up to the first one that is missing or has a gap: what comes behind it has to wait."""
    days = pd.date_range(table.index[0], table.index[-1])
    whole = table.reindex(days).notna().all(axis=1)
    return table.reindex(days)[whole.cummin()]


def unchanged(observed: pd.DataFrame, folder: Path) -> pd.Timestamp | None:
    """The last day with a state that was made with the data as they are now."""
    used = folder / "used.csv"
    before = pd.read_csv(used, index_col="date", parse_dates=True) if used.is_file() else observed[:0]
    both = observed.index.intersection(before.index)
    same = (observed.loc[both] == before.loc[both, observed.columns]).all(axis=1).cummin()
    states = [day for day in both[same] if state_of(day, folder).is_file()]
    return states[-1] if states else None


def state_of(day: pd.Timestamp, folder: Path) -> Path:
    return folder / "states" / f"{day:%Y-%m-%d}.safetensors"


def catch_up(run: str, observed: pd.DataFrame, folder: Path) -> mclstm.Stepper:
    """Go from the last valid state to the last complete day, and keep the state of every day."""
    stepper, last = mclstm.Stepper(run), unchanged(observed, folder)
    (folder / "states").mkdir(parents=True, exist_ok=True)
    if last is not None:
        stepper.load(state_of(last, folder))
    # First the record: a crash below leaves days without a state, never a state of other data.
    stale = observed.index if last is None else observed.index[observed.index > last]
    for day in stale:
        state_of(day, folder).unlink(missing_ok=True)
    write_text_atomic(folder / "used.csv", observed.rename_axis("date").to_csv())
    for day in stale:
        stepper.step(observed.loc[day].to_dict(), day)
        stepper.save(state_of(day, folder))
    return stepper


def forecast(stepper: mclstm.Stepper, weather: pd.DataFrame) -> pd.DataFrame:
    """Quantiles over all members of the model and of the weather, one row per day ahead."""
    ahead = weather[weather.index > stepper.time]
    members = ahead["member"].unique()
    runs, rows = stepper.fork(len(members)), {}
    for day, rows_of_day in ahead.groupby(level=0):
        inputs = rows_of_day.set_index("member").loc[members]
        step = runs.step({name: inputs[name].to_numpy()[:, None] for name in inputs}, day)
        rows[day] = step.quantiles(SHARES)[:, 0, 0]
    return pd.DataFrame.from_dict(rows, orient="index", columns=[f"q{share:g}" for share in SHARES])


def main(run: str, observed_file: str, weather_file: str, place: str) -> None:
    folder = Path(place)
    observed, weather = (
        pd.read_csv(file, index_col="date", parse_dates=True) for file in (observed_file, weather_file)
    )
    stepper = catch_up(run, complete(observed), folder)
    table = forecast(stepper, weather).rename_axis("date")
    write_text_atomic(folder / f"forecast-{stepper.time:%Y-%m-%d}.csv", table.to_csv())


if __name__ == "__main__":
    main(*sys.argv[1:])
