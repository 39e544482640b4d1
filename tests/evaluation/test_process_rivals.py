"""Process models beside a run: from `evaluation.against` to scores, without a look at the test days."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mclstm import pipeline
from mclstm.config import check_config
from mclstm.config.training import EvaluationConfig
from mclstm.errors import ConfigError, DataError
from mclstm.evaluation.process_rivals import PROCESS_RIVALS, process_rival
from mclstm.evaluation.rivals import Record, Weather
from mclstm.models.process.calibration import CALIBRATIONS, by_evolution
from support.small_run import brook, brook_config


@pytest.fixture(autouse=True)
def small_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CALIBRATIONS, "evolution", partial(by_evolution, generations=2, population=6))


def config(folder: Path, **evaluation: Any) -> dict[str, Any]:
    table = pd.read_csv(brook(folder / "brook.csv"))
    table["tmax"], table["tmin"] = table["temperature"] + 4, table["temperature"] - 4
    table.to_csv(folder / "brook.csv", index=False)
    raw = brook_config(folder / "brook.csv", updates=2)
    raw["data"] |= {"aux": ["tmax", "tmin"], "pet": {"latitude": 50.0}}
    return raw | {"evaluation": {"against": ["hbv-evolution"]} | evaluation}


def record(days: int = 200) -> Record:
    source = np.random.default_rng(0)
    rain = source.gamma(0.5, 6.0, (3, days))
    weather = Weather(rain, np.full((3, days), 9.0), np.full((3, days), 2.0))
    y = 0.5 * (rain + np.roll(rain, 1, axis=1))[..., np.newaxis]
    y[2] = np.nan
    time = pd.date_range("2001-01-01", periods=days)
    return Record(rain[..., np.newaxis], rain[..., :0], y, time, np.arange(days) == 0, weather)


def test_every_process_model_can_be_chosen() -> None:
    assert EvaluationConfig(against=list(PROCESS_RIVALS)).against == list(PROCESS_RIVALS)


def test_only_the_training_days_count() -> None:
    data = record()
    train = np.arange(200) < 120
    changed = data._replace(y=np.where(train[:, np.newaxis], data.y, np.nan))
    flows = [process_rival(one, train, model="hbv", method="evolution") for one in (data, changed)]
    np.testing.assert_array_equal(*flows)
    assert np.isfinite(flows[0][:2]).all()
    assert np.isnan(flows[0][2]).all()  # a site that was never observed


def test_from_a_config_to_scores(tmp_path: Path) -> None:
    run = pipeline.train(check_config(config(tmp_path)), tmp_path / "runs", quiet=True)
    result = pipeline.evaluate(run, figures=False)
    assert list(result.rival_scores["model"]) == ["hbv-evolution"]
    assert np.isfinite(result.rival_scores["nse"]).all()
    assert np.isfinite(result.rivals["hbv-evolution"]["simulated"]).all()


def test_what_cannot_be_used_is_refused(tmp_path: Path) -> None:
    raw = config(tmp_path)
    dry = raw | {"data": {key: value for key, value in raw["data"].items() if key != "pet"}}
    volume = raw | {
        "data": raw["data"] | {"units": {"flow": "m3/s"}},
        "model": {"name": "lstm", "hidden_size": 2},
    }
    for wrong, kind, message in (
        (dry, ConfigError, "hbv-evolution needs evapotranspiration. Add data.pet"),
        (volume, DataError, "need mm/day, but flow is in m3/s"),
    ):
        with pytest.raises(kind, match=message):
            pipeline.train(check_config(wrong), tmp_path / "runs", quiet=True)
    with pytest.raises(DataError, match="needs the weather"):
        process_rival(record()._replace(weather=None), np.ones(200, bool), model="hbv", method="evolution")
