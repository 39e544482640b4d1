"""The loop of examples/daily: data arrive daily, late and corrected, and a crash costs nothing."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mclstm
from mclstm.cli.main import main
from mclstm.deploy.stepper import Stepper
from mclstm.errors import ConfigError
from support.small_run import trained

FILE = Path(__file__).parents[2] / "examples" / "daily" / "daily.py"
DAYS = pd.date_range("2026-01-01", periods=14)
COLUMNS = ["rain", "temperature"]


@pytest.fixture(scope="module")
def daily() -> Any:
    spec = importlib.util.spec_from_file_location("daily", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("run"), {"name": "mclstm", "hidden_size": 3}, updates=1)


def record() -> pd.DataFrame:
    source = np.random.default_rng(0)
    values = {"rain": source.gamma(0.5, 6.0, 14), "temperature": 5 + source.standard_normal(14)}
    return pd.DataFrame(values, index=DAYS.rename("date"))


def arrived(day: int) -> pd.DataFrame:
    """What is known on a day: day 5 comes two days late, day 3 is corrected on day 9."""
    table = record()[: day + 1]
    if 5 <= day < 7:
        table.loc[DAYS[5], "rain"] = np.nan
    if 3 <= day < 9:
        table.loc[DAYS[3], "rain"] += 20.0
    return table


def weather(day: int) -> pd.DataFrame:
    source = np.random.default_rng(day)
    ahead = pd.MultiIndex.from_product(
        [pd.date_range(DAYS[0], periods=20), range(4)], names=["date", "member"]
    )
    values = {name: source.gamma(0.5, 6.0, len(ahead)) for name in COLUMNS}
    return pd.DataFrame(values, index=ahead).reset_index("member")


def one_day(daily: Any, run: Path, day: int, folder: Path) -> None:
    files = [folder / "observed.csv", folder / "weather.csv"]
    for file, table in zip(files, (arrived(day), weather(day)), strict=True):
        table.to_csv(file)
    daily.main(str(run), *map(str, files), str(folder / "kept"))


def straight(run: Path, until: int) -> Stepper:
    """One stepper over the corrected record."""
    stepper = mclstm.Stepper(run)
    for day in DAYS[:until]:
        stepper.step(record().loc[day].to_dict(), day)
    return stepper


def test_two_weeks_of_operation_end_as_one_run_over_the_corrected_data(
    daily: Any, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[pd.Timestamp] = []
    step = Stepper.step

    def counted(self: Stepper, inputs: Any, time: Any = None) -> Any:
        made.extend([time] if self.realisations == 1 else [])
        if len(made) == 9:
            made.append(time)
            raise KeyboardInterrupt  # the power fails once, while a corrected day is made again
        return step(self, inputs, time)

    monkeypatch.setattr(Stepper, "step", counted)
    crashes = 0
    for day in range(14):
        try:
            one_day(daily, run, day, tmp_path)
        except KeyboardInterrupt:
            crashes += 1
            one_day(daily, run, day, tmp_path)
    assert crashes == 1
    monkeypatch.setattr(Stepper, "step", step)
    last = mclstm.Stepper(run)
    last.load(tmp_path / "kept" / "states" / "2026-01-14.safetensors")
    assert np.array_equal(last.stores, straight(run, 14).stores)
    # 14 days; of the correction day 3 to 8 again; nothing twice for the day that was late.
    assert len(made) == 14 + 6 + 2  # and one step that crashed, counted as two
    late = pd.read_csv(tmp_path / "kept" / "forecast-2026-01-05.csv", index_col="date", parse_dates=True)
    assert late.index[0] == DAYS[5]  # while day 5 was missing, the forecast began there


def test_quantiles_are_those_of_weather_and_model_members(
    daily: Any, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one_day(daily, run, 13, tmp_path)
    table = pd.read_csv(tmp_path / "kept" / "forecast-2026-01-14.csv", index_col="date", parse_dates=True)
    assert len(table) == 6
    assert (np.diff(table.to_numpy(), axis=1) >= 0).all()
    singles, ahead = [straight(run, 14) for _ in range(4)], weather(13)
    for day, row in table.iterrows():
        rows = ahead.loc[[day]].set_index("member")
        values = [one.step(rows.loc[member].to_dict(), day).mean.item() for member, one in enumerate(singles)]
        np.testing.assert_allclose(row.to_numpy(), np.quantile(values, daily.SHARES), rtol=1e-5)
    with pytest.raises(ConfigError, match="Only a single realisation can be copied"):
        singles[0].fork(3).fork(2)
    # `predict` goes on from the same files.
    (tmp_path / "next.csv").write_text("date,rain,temperature\n2026-01-15,3.0,4.0\n")
    state = tmp_path / "kept" / "states" / "2026-01-14.safetensors"
    words = ["predict", str(run), "--data", str(tmp_path / "next.csv"), "--state-in", str(state)]
    assert main([*words, "--out", str(tmp_path / "next.nc"), "--csv"]) == 0
    capsys.readouterr()
    one = straight(run, 14).step({"rain": 3.0, "temperature": 4.0}).mean.item()
    assert pd.read_csv(tmp_path / "next.csv").loc[0, "simulated"] == pytest.approx(one, rel=1e-6)
