"""A run with two outlets from its table to its report: scores by hand, rivals beside it, figures of all."""

import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import mclstm
from mclstm import pipeline
from mclstm.cli.main import main
from mclstm.config import check_config
from mclstm.deploy.pack import pack
from mclstm.errors import DataError
from mclstm.evaluation.metrics import nse
from mclstm.evaluation.rivals import RIVALS
from mclstm.report.comparison.comparison_report import Others, compare

DAYS = 24
MODELS: dict[str, dict[str, Any]] = {
    "mclstm": {"name": "mclstm", "hidden_size": 4, "head": "mcfc", "trash_cell": False, "output_bias": 0.0},
    "lstm": {"name": "lstm", "hidden_size": 4},
}
SMALL: dict[str, Any] = {"length": 48, "warmup": 24, "batch_size": 8, "updates": 4}


def station() -> pd.DataFrame:
    """People in at two doors, by the hour; three quarters leave north an hour later, the rest south."""
    time = pd.date_range("2024-01-01", periods=24 * DAYS, freq="h", name="time")
    crowd = np.random.default_rng(0).poisson(
        20 + 15 * np.sin(np.arange(len(time)) * np.pi / 12), (2, len(time))
    )
    late = np.roll(crowd.sum(0), 1) * (time.hour > 0)
    return pd.DataFrame(
        {"east": crowd[0], "west": crowd[1], "north": 0.75 * late, "south": 0.25 * late}, time
    )


def config(folder: Path, model: str, seed: int = 0) -> dict[str, Any]:
    mass, target = ["east", "west"], ["north", "south"]
    units = dict.fromkeys([*mass, *target], "people/h")
    against = list(RIVALS) if model == "mclstm" else []
    return {
        "name": "station",
        "data": {"path": str(folder / "station.csv"), "mass": mass, "target": target, "units": units},
        "periods": {"train": ["2024-01-01", "2024-01-14"], "validation": ["2024-01-15", "2024-01-17"],
                    "test": ["2024-01-18", "2024-01-24"]},
        "model": MODELS[model],
        "training": SMALL | {"seed": seed, "threads": 1},
        "evaluation": {"metrics": ["nse", "kge", "rmse", "mae"], "against": against},
    }  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("station")
    station().to_csv(folder / "station.csv")
    folders = {}
    for name, model, seed in (("first", "mclstm", 0), ("second", "mclstm", 1), ("lstm", "lstm", 0)):
        run = pipeline.train(check_config(config(folder, model, seed)), folder / "runs", quiet=True)
        pipeline.evaluate(run, figures=False)
        folders[name] = run.path
    return folders


def flows(run: Path, name: str = "predictions") -> xr.Dataset:
    with xr.open_dataset(run / f"evaluation/test/{name}.nc", engine="h5netcdf") as file:
        return file.load()


def test_scores_by_outlet_are_those_of_the_predictions(runs: dict[str, Path]) -> None:
    scores = pd.read_csv(runs["first"] / "evaluation/test/metrics.csv").set_index("target")
    content = flows(runs["first"])
    pairs = {
        name: tuple(content[f"{what}_{name}"].to_numpy()[0] for what in ("simulated", "observed"))
        for name in ("north", "south")
    }
    assert list(scores.index) == ["north", "south", "total", "pooled"]
    for name, (simulated, observed) in pairs.items():
        assert scores.loc[name, "rmse"] == pytest.approx(np.sqrt(np.mean((simulated - observed) ** 2)))
        assert scores.loc[name, "nse"] == pytest.approx(nse(simulated, observed))
    simulated, observed = (np.sum([pair[at] for pair in pairs.values()], axis=0) for at in (0, 1))
    assert scores.loc["total", "nse"] == pytest.approx(nse(simulated, observed))
    errors = np.concatenate([s - o for s, o in pairs.values()])
    assert scores.loc["pooled", "rmse"] == pytest.approx(np.sqrt(np.mean(errors**2)))
    assert scores.loc["pooled", "mae"] == pytest.approx(np.abs(errors).mean())
    journal = [json.loads(line) for line in (runs["first"] / "metrics.jsonl").read_text().splitlines()]
    assert any(record.get("validation_nse") is not None for record in journal)


def test_rivals_stand_beside_the_model_over_the_same_steps(runs: dict[str, Path]) -> None:
    table = pd.read_csv(runs["first"] / "evaluation/test/rivals.csv").set_index(["model", "target"])
    own, rivals = flows(runs["first"]), flows(runs["first"], "rivals")
    assert list(rivals["model"].to_numpy()) == list(RIVALS)
    whole = station()
    # Last week by hand: the hours of the week before.
    expected = whole["north"].shift(7 * 24)["2024-01-18":].to_numpy()
    np.testing.assert_allclose(rivals["simulated_north"].sel(model="last-week")[0], expected)
    error = expected - own["observed_north"].to_numpy()[0]
    assert table.loc[("last-week", "north"), "rmse"] == pytest.approx(np.sqrt(np.mean(error**2)))
    # All that leaves is a share of the last inflow; only midnights differ.
    assert table.loc[("regression-by-time", "pooled"), "nse"] > 0.99
    assert set(table.index.get_level_values("target")) == {"north", "south", "total", "pooled"}
    assert not (runs["lstm"] / "evaluation/test/rivals.csv").exists()


def printed(words: list[str]) -> str:
    with redirect_stdout(StringIO()) as shown:
        assert main(words) == 0
    return shown.getvalue()


def test_the_command_prints_outlets_and_rivals(runs: dict[str, Path]) -> None:
    text = printed(["evaluate", str(runs["first"]), "--no-figures"])
    assert "(all targets, 1 site)" in text
    assert "| pooled " in text
    assert "| regression-by-time " in text
    content = json.loads(printed(["resume", str(runs["first"]), "--json"]))
    assert list(content["targets"]) == ["north", "south", "total", "pooled"]
    assert (
        content["median"]["rmse"]
        == content["targets"]["pooled"]["rmse"]
        == content["against"]["this model"]["rmse"]
    )
    assert list(content["against"])[1:] == list(RIVALS)


def test_the_report_compares_outlets_models_and_rivals(runs: dict[str, Path], tmp_path: Path) -> None:
    content = json.loads(printed(["report", *map(str, runs.values()), "--out", str(tmp_path), "--json"]))
    assert {row["setting"] for row in content["rows"]} == {"1 sites, 2 targets"}
    page = (tmp_path / "report.md").read_text()
    assert "## Outlets" in page
    outlets = pd.read_csv(tmp_path / "outlets.csv").set_index(["model", "target"])
    each = [
        pd.read_csv(runs[name] / "evaluation/test/metrics.csv").set_index("target")
        for name in ("first", "second")
    ]
    for target in ("north", "total", "pooled"):
        mean = np.mean([table.loc[target, "rmse"] for table in each])
        assert outlets.loc[("mclstm", target), "rmse"] == pytest.approx(mean)
    both = [flows(runs[name])["simulated_south"] for name in ("first", "second")]
    observed = flows(runs["first"])["observed_south"].to_numpy()[0]
    expected = nse(((both[0] + both[1]) / 2).to_numpy()[0], observed)
    assert outlets.loc[("mclstm-ensemble", "south"), "nse"] == pytest.approx(expected)
    assert ("climatology", "pooled") in outlets.index
    balance = pd.read_csv(tmp_path / "balance.csv").set_index("model").loc["lstm"]
    left = balance["left as north"] + balance["left as south"]
    assert balance["residual"] == pytest.approx(balance["inflow"] - left)
    with pytest.raises(DataError, match="several targets, and --benchmarks"):
        compare([runs["first"]], Others(benchmarks=tmp_path))


def test_members_with_several_targets_are_packed(runs: dict[str, Path], tmp_path: Path) -> None:
    packed = pack([runs["first"], runs["second"]], tmp_path / "pack")
    assert packed.seeds == [0, 1]
    card = (tmp_path / "pack/README.md").read_text()
    assert "the median over sites and targets" in card
    assert "against" not in json.loads((tmp_path / "pack/model.json").read_text())["config"]["evaluation"]


def test_fit_predicts_and_scores_all_targets() -> None:
    table = station()
    options = {key: value for key, value in MODELS["mclstm"].items() if key != "name"}
    crowd = mclstm.fit(table[:-72], mass=["east", "west"], target=["north", "south"], **SMALL, **options)
    content = crowd.predict(table[["east", "west"]])
    assert isinstance(content, pd.DataFrame)
    assert list(content.columns) == ["north", "south"]
    assert content.index.equals(table.index)
    scores = crowd.score(table, warmup=0)
    assert isinstance(scores, pd.DataFrame)
    assert list(scores.index) == ["north", "south", "total", "pooled"]
    assert scores.loc["south", "nse"] == pytest.approx(nse(content["south"], table["south"]))
    with pytest.raises(DataError, match="no column 'south'"):
        crowd.score(table.drop(columns="south"))


def test_a_target_called_total_is_refused_before_the_training(tmp_path: Path) -> None:
    station().rename(columns={"south": "total"}).to_csv(tmp_path / "station.csv")
    raw = config(tmp_path, "mclstm")
    raw["data"] |= {"target": ["north", "total"], "units": {}}
    with pytest.raises(DataError, match="Rename the column"):
        pipeline.train(check_config(raw), tmp_path / "runs", quiet=True)
    assert not (tmp_path / "runs").exists()
