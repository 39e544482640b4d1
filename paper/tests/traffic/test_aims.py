"""Aims beside what was measured, and the trial of more updates."""

import json
from pathlib import Path
from typing import Any

from mclstm_paper.results import row
from mclstm_paper.traffic.aims import aims_table, updates_table
from mclstm_paper.traffic.days import City
from mclstm_paper.traffic.models import Setting
from mclstm_paper.traffic.more_updates import validation
from mclstm_paper.traffic.task import FlowTask
from mclstm_paper.traffic.training import Forecaster


def table(tmp_path: Path, setting: str, scores: dict[tuple[str, str], float]) -> list[list[str]]:
    rows = [row(setting, model, metric, [value]) for (model, metric), value in scores.items()]
    path = tmp_path / "results/traffic/stated.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"rows": rows}))
    lines = aims_table(tmp_path).splitlines()[2:]
    return [[cell.strip() for cell in line.split("|")[2:-1]] for line in lines]


def test_every_aim_stands_beside_its_ratio(tmp_path: Path) -> None:
    scores = {
        ("mclstm-timeless", "rmse"): 1.0,
        ("mclstm-timeless", "rmse total"): 3.0,
        ("mclstm", "rmse total"): 0.5,  # no rival
        ("lstm", "rmse"): 2.0,
        ("lstm", "rmse total"): 2.0,
        ("regression-by-time", "rmse"): 0.8,
        ("regression-by-time", "rmse total"): 2.5,
    }
    assert table(tmp_path, "flights-sparse-step", scores) == [
        ["rmse", "mclstm-timeless", "regression-by-time", "1", "0.8", "1.25", "1", "no"],
        ["rmse total", "mclstm-timeless", "lstm", "3", "2", "1.50", "1", "no"],
        ["rmse", "mclstm-timeless", "lstm", "1", "2", "0.50", "0.6", "yes"],
    ]


def test_dense_days_have_no_aim_beside_the_lstm_and_what_was_not_run_no_line(tmp_path: Path) -> None:
    scores = {("mclstm-harmonics", "rmse"): 1.0, ("lstm", "rmse"): 4.0, ("regression-by-time", "rmse"): 1.0}
    assert table(tmp_path, "flights-dense", scores) == [
        ["rmse", "mclstm-harmonics", "regression-by-time", "1", "1", "1.00", "1", "yes"]
    ]


def test_more_updates_are_tried_on_validation_days_only(city: City, tmp_path: Path) -> None:
    def errors(city: City, updates: int) -> list[float]:
        forecaster = Forecaster("mclstm", FlowTask(city, "sparse-step", "number"), "stated")
        return validation(forecaster, Setting(2, 0.1, start=0.0, learned=False), updates, [1, 2])

    other: Any = city._replace(test=city.test._replace(y=city.test.y + 9.0))
    assert errors(city, 2) == errors(other, 2) != errors(city, 3)
    (tmp_path / "results/traffic").mkdir(parents=True)
    trial = {"reading": "dense", "model": "lstm", "rmse": {"400": [1.0, 3.0], "2000": [1.5, 1.5]}}
    (tmp_path / "results/traffic/updates.json").write_text(json.dumps({"trials": [trial]}))
    assert updates_table(tmp_path).splitlines()[0].split("|")[3].strip() == "400 updates"
    assert [cell.strip() for cell in updates_table(tmp_path).splitlines()[2].split("|")[3:6]] == [
        "2.000", "1.500", "-25.0%",
    ]  # fmt: skip
