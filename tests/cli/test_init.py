"""`mclstm init`: from a table to a config that loads and fits the record; the commands of the page run."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mclstm.cli.main import main
from mclstm.config import Config, load_config
from mclstm.data.fulda import AREA_KM2, fulda

ROOT = Path(__file__).parents[2]


def river(days: int = 800, step: str = "D", area_km2: float = 50.0) -> pd.DataFrame:
    """A leaking bucket of 50 km2: rain in mm per step, temperature, flow in m3/s."""
    source, length = np.random.default_rng(0), pd.Timedelta(pd.tseries.frequencies.to_offset(step))
    rain = source.gamma(0.4, 8.0, days) * (source.random(days) < 0.5)
    stored, flow = 0.0, []
    for amount in rain:
        stored += amount
        flow.append(0.1 * stored)
        stored *= 0.85  # the rest evaporates
    table = pd.DataFrame({"date": pd.date_range("2001-01-01", periods=days, freq=step), "rain": rain})
    table["temperature"] = 10.0 + 8 * np.sin(np.arange(days) / 58)
    table["flow"] = np.array(flow) / 1000 * area_km2 * 1e6 / length.total_seconds()
    return table.round({"rain": 3, "temperature": 3, "flow": 3})


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def config_of(table: pd.DataFrame, *options: str, **form: Any) -> Config:
    """The config that `init` writes for a table in the current folder."""
    table.to_csv("river.csv", index=False, **form)
    assert main(["init", "river.csv", "--force", *options]) == 0
    return load_config("river.yaml")


OPTIONS = ["--unit", "rain=mm/day", "--unit", "flow=m3/s", "--area", "50"]


def test_the_commands_of_the_page_lead_to_a_figure(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At most six commands, each as the page shows it; the training is cut short."""
    page = (ROOT / "docs" / "own-data.md").read_text()
    section = re.search(r"## Your own river.*?(?=\n## )", page, flags=re.DOTALL)
    assert section is not None
    commands = [line.split()[1:] for line in re.findall(r"^    (mclstm .*)$", section[0], flags=re.MULTILINE)]
    assert [words[0] for words in commands] == ["init", "check", "train", "predict"]
    river().to_csv("river.csv", index=False)
    for words in commands:
        (run,) = Path("runs/river").glob("*/") if Path("runs").exists() else [Path("RUN")]
        words = [str(run) if word == "RUN" else word for word in words]
        words += ["--set", "training.updates=2", "--quiet"] if words[0] == "train" else []
        assert main(words) == 0, (words, capsys.readouterr().err)
    assert list(Path("runs/river").glob("*/figures/hydrograph-*.png"))


def test_the_config_declares_what_was_guessed_and_fits_the_record(here: Path) -> None:
    config = config_of(river(), *OPTIONS)
    data, training = config.data, config.training
    assert (data.path, data.mass, data.aux, data.target) == ("river.csv", ["rain"], ["temperature"], ["flow"])
    assert (data.units, data.area, data.target_unit) == ({"rain": "mm/day", "flow": "m3/s"}, 50.0, "mm/day")
    # 60, 20 and 20 of a hundred, moved to the beginning of a month
    assert config.periods.train_pair == ("2001-01-01", "2002-04-30")
    assert config.periods.pair("validation") == ("2002-05-01", "2002-09-30")
    assert config.periods.pair("test") == ("2002-10-01", "2003-03-11")
    assert (training.warmup, training.length, config.model.hidden_size) == (121, 180, 8)
    text = Path("river.yaml").read_text()
    assert text.count("# guessed") >= 3


def test_hours_get_lengths_of_hours(here: Path) -> None:
    config = config_of(river(6000, "h"), "--unit", "rain=mm/h", "--unit", "flow=m3/s", "--area", "50")
    assert (config.training.warmup, config.data.time_of_day, config.data.target_unit) == (906, 2, "mm/h")
    assert config.periods.train[1] < config.periods.pair("validation")[0]


def test_a_german_table_is_read_as_it_is_written(here: Path) -> None:
    table = river().rename(columns={"date": "Datum", "rain": "Niederschlag", "flow": "Abfluss"})
    table["Datum"] = table["Datum"].dt.strftime("%d.%m.%Y")
    table.loc[5:9, "Abfluss"] = -999.0
    roles = ["--mass", "Niederschlag", "--aux", "temperature", "--target", "Abfluss"]
    units = ["--unit", "Niederschlag=mm/day", "--unit", "Abfluss=m3/s", "--area", "50"]
    config = config_of(table.rename(columns={"Datum": "date"}), *roles, *units, sep=";", decimal=",")
    assert (config.data.decimal, config.data.date_format) == (",", "%d.%m.%Y")
    assert config.data.missing_values == [-999.0]
    assert main(["train", "river.yaml", "--set", "training.updates=1", "--quiet", "--no-figures"]) == 0


def test_the_fulda_of_the_demo(here: Path) -> None:
    units = ["--unit", "precipitation=mm/day", "--unit", "discharge=m3/s", "--area", str(AREA_KM2)]
    assert main(["init", str(fulda()), *units, "--out", "fulda.yaml"]) == 0
    config = load_config("fulda.yaml")
    assert (config.data.mass, config.data.target) == (["precipitation"], ["discharge"])
    assert config.data.aux == ["tmax", "tmin", "tmean"]
    assert (config.training.warmup, config.training.length) == (365, 545)
    assert config.data.day_of_year


def test_what_cannot_be_guessed_is_asked_for(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    river().to_csv("river.csv", index=False)
    mistakes = {
        "Add the area in km2: --area KM2": ["--unit", "rain=mm/day", "--unit", "flow=m3/s"],
        "not of the form name=unit": ["--unit", "rain"],
    }
    for expected, options in mistakes.items():
        assert main(["init", "river.csv", *options]) == 2
        assert expected in capsys.readouterr().err
    assert not Path("river.yaml").exists()
    assert main(["init", "river.csv", *OPTIONS]) == 0
    assert main(["init", "river.csv", *OPTIONS]) == 2
    assert "river.yaml is there already" in capsys.readouterr().err
    river()[:30].to_csv("river.csv", index=False)
    assert main(["init", "river.csv", *OPTIONS, "--force"]) == 2
    assert "30 observed steps are too few" in capsys.readouterr().err


def test_without_mass_or_target_it_says_which_option_names_them(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    river().rename(columns={"rain": "x1", "flow": "x2"}).to_csv("river.csv", index=False)
    assert main(["init", "river.csv"]) == 2
    assert "--mass" in capsys.readouterr().err
    assert main(["init", "river.csv", "--mass", "x1", "--aux", "temperature", "--target", "x2", *OPTIONS[-2:],
                 "--unit", "x1=mm/day", "--unit", "x2=m3/s"]) == 0  # fmt: skip
