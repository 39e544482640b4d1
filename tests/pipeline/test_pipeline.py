"""From a user's file to an audited prediction: one small run through every verb, numbers checked by hand."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

import mclstm
from mclstm import pipeline
from mclstm.cli.main import main
from mclstm.config import load_config
from mclstm.deploy.predict import predict
from mclstm.errors import DataError
from mclstm.evaluation.metrics import kge, nse
from mclstm.run import load_run
from mclstm.training.folder import RunFolder
from mclstm.training.state import load_weights

CONFIG = """
name: brook
data:
  path: brook.csv
  mass: [rain]
  aux: [temperature]
  target: [flow]
  units: {rain: mm/day, flow: m3/s}
  area: 50
  target_unit: mm/day
periods:
  train: [2001-01-01, 2002-06-30]
  validation: [2002-07-01, 2002-12-31]
  test: [2003-01-01, 2003-12-31]
model: {name: mclstm, hidden_size: 4}
training:
  length: 60
  warmup: 30
  batch_size: 8
  updates: 12
  checkpoint_every: 5
  threads: 1
"""


def brook(folder: Path) -> pd.DataFrame:
    """A leaking bucket: a fifth of what is stored flows away each day."""
    source = np.random.default_rng(0)
    days = pd.date_range("2001-01-01", "2003-12-31")
    rain = source.gamma(0.4, 8.0, len(days)) * (source.random(len(days)) < 0.5)
    stored, flow = 0.0, []
    for amount in rain:
        stored += amount
        flow.append(0.2 * stored)
        stored -= flow[-1]
    cubic_metres = np.array(flow) / 1000 * 50e6 / 86400
    table = pd.DataFrame(
        {"date": days, "rain": rain, "temperature": 10.0 + 8 * np.sin(np.arange(len(days)) / 58)}
    )
    table["flow"] = cubic_metres
    table.loc[20:25, "flow"] = np.nan
    table.to_csv(folder / "brook.csv", index=False)
    return table


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("brook")
    brook(folder)
    (folder / "brook.yaml").write_text(CONFIG)
    assert main(["train", str(folder / "brook.yaml"), "--out", str(folder / "runs"), "--quiet"]) == 0
    (made,) = (folder / "runs" / "brook").iterdir()
    return made


def test_the_run_folder_holds_what_is_promised(run: Path) -> None:
    for name in (
        "config.yaml", "environment.json", "data_manifest.json", "scaling.json", "log.txt", "metrics.jsonl",
        "checkpoints/last.safetensors", "checkpoints/best.safetensors",
        "evaluation/test/predictions.nc", "evaluation/test/metrics.csv", "evaluation/test/mass_balance.csv",
    ):  # fmt: skip
        assert (run / name).is_file(), name
    assert list((run / "figures").glob("*.svg"))
    resolved = load_config(run / "config.yaml")
    assert Path(resolved.data.path).is_absolute()


def test_predictions_have_units_and_the_scores_are_theirs(run: Path) -> None:
    with xr.open_dataset(run / "evaluation/test/predictions.nc", engine="h5netcdf") as file:
        content = file.load()
    assert content.sizes["time"] == 365
    assert content["simulated"].dims == ("site", "time")
    assert content["storage"].dims == ("site", "time", "cell")
    assert content["outflow"].dims == ("site", "time", "outlet")
    assert {content[name].attrs["units"] for name in ("simulated", "observed", "inflow")} == {"mm/day"}
    assert {content[name].attrs["units"] for name in ("storage", "residual")} == {"mm"}
    simulated, observed = (content[name].to_numpy()[0] for name in ("simulated", "observed"))
    scores = pd.read_csv(run / "evaluation/test/metrics.csv").iloc[0]
    assert scores["nse"] == pytest.approx(nse(simulated, observed), abs=1e-9)
    assert scores["kge"] == pytest.approx(kge(simulated, observed), abs=1e-9)
    table = brook(run.parents[2])
    expected = table.loc[table.date.dt.year == 2003, "flow"].to_numpy() * 86400 / 50e6 * 1000
    np.testing.assert_allclose(observed, expected)


def test_the_balance_closes_and_its_parts_are_sums_of_the_predictions(run: Path) -> None:
    balance = pd.read_csv(run / "evaluation/test/mass_balance.csv").iloc[0]
    with xr.open_dataset(run / "evaluation/test/predictions.nc", engine="h5netcdf") as file:
        content = file.load()
    assert balance["relative error"] < 1e-5
    assert balance["inflow"] == pytest.approx(float(content["inflow"].sum()))
    assert balance["outflow flow"] == pytest.approx(float(content["simulated"].sum()), rel=1e-6)
    gone = balance["outflow flow"] + balance["outflow losses"] + balance["storage after"]
    assert balance["inflow"] + balance["storage before"] - gone == pytest.approx(
        balance["residual"], abs=1e-6
    )
    assert balance["filled"] == balance["filled steps"] == 0
    assert "added by input scaling" not in balance
    assert np.abs(content["residual"].to_numpy()).max() < 1e-5 * balance["inflow"]


def test_evaluation_starts_warm_and_equals_the_model_run_by_hand(run: Path) -> None:
    loaded = load_run(run)
    load_weights(loaded.folder.weights(), loaded.model, loaded.model_hash)
    first = int(np.flatnonzero(loaded.series["time"].dt.year == 2003)[0])
    x, a = (value[0, first - 30 :, None] for value in (loaded.data.x, loaded.data.a))
    with torch.no_grad():
        y = loaded.model(x, a, loaded.data.static[:1]).y[30:, 0, 0].numpy()
    with xr.open_dataset(run / "evaluation/test/predictions.nc", engine="h5netcdf") as file:
        np.testing.assert_allclose(file["simulated"].to_numpy()[0], y, rtol=1e-6)


def test_every_split_can_be_scored_and_others_are_named(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(run), "--split", "validation", "--no-figures", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"run", "median", "mass_error", "files"}
    assert main(["evaluate", str(run), "--split", "future"]) == 2
    assert "periods.future" in capsys.readouterr().err


def test_a_finished_run_resumes_to_itself(run: Path) -> None:
    before = (run / "checkpoints/last.safetensors").read_bytes()
    pipeline.resume(run, quiet=True)
    assert (run / "checkpoints/last.safetensors").read_bytes() == before


def test_a_run_that_was_scored_is_not_scored_again(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipeline.evaluate_once(load_run(run))
    lines = [line for line in (run / "log.txt").read_text().splitlines() if "evaluated test" in line]
    assert main(["resume", str(run), "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    again = [line for line in (run / "log.txt").read_text().splitlines() if "evaluated test" in line]
    assert again == lines
    assert content["files"] == str(run / "evaluation" / "test")
    assert content["median"]["nse"] == pytest.approx(
        pipeline.evaluate(run, figures=False).scores["nse"].median(), abs=1e-6
    )


def test_prediction_needs_no_observations_and_two_halves_equal_one_whole(run: Path, tmp_path: Path) -> None:
    table = brook(tmp_path).drop(columns="flow")
    parts = {"whole": table, "first": table[:500], "second": table[500:]}
    for name, part in parts.items():
        part.to_csv(tmp_path / f"{name}.csv", index=False)
    state = tmp_path / "state.safetensors"
    whole = predict(run, str(tmp_path / "whole.csv"))
    first = predict(run, str(tmp_path / "first.csv"), state_out=state)
    second = predict(run, str(tmp_path / "second.csv"), state_in=state)
    assert "observed" not in whole
    joined = np.concatenate([first["simulated"], second["simulated"]], axis=1)
    np.testing.assert_array_equal(joined, whole["simulated"].to_numpy())
    np.testing.assert_array_equal(second["storage"][:, -1], whole["storage"][:, -1])


def test_the_command_predicts(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    brook(tmp_path)
    words = [
        "predict",
        str(run),
        "--data",
        str(tmp_path / "brook.csv"),
        "--out",
        str(tmp_path / "p.nc"),
        "--csv",
    ]
    assert main(words) == 0
    assert str(tmp_path / "p.nc") in capsys.readouterr().out
    assert pd.read_csv(tmp_path / "p.csv")["simulated"].notna().all()


def test_missing_mass_is_an_error_until_a_policy_is_declared_and_then_counted(tmp_path: Path) -> None:
    table = brook(tmp_path)
    table.loc[800:809, "rain"] = np.nan
    table.to_csv(tmp_path / "brook.csv", index=False)
    (tmp_path / "brook.yaml").write_text(CONFIG)
    words = [
        "train",
        str(tmp_path / "brook.yaml"),
        "--out",
        str(tmp_path),
        "--quiet",
        "--set",
        "training.updates=1",
    ]
    assert main(words) == 2
    assert not (tmp_path / "brook").exists()
    assert main([*words, "--set", "data.missing_mass=interpolate"]) == 0
    (run,) = (tmp_path / "brook").iterdir()
    balance = pd.read_csv(run / "evaluation/test/mass_balance.csv").iloc[0]
    assert balance["filled"] > 0
    assert balance["filled steps"] == 10


def test_the_lstm_goes_through_the_same_pipeline(run: Path, tmp_path: Path) -> None:
    source = run.parents[2]
    words = ["train", str(source / "brook.yaml"), "--out", str(tmp_path), "--quiet"]
    assert main([*words, "--set", "model={name: lstm, hidden_size: 4}", "--set", "training.scheme=last"]) == 0
    (made,) = (tmp_path / "brook").iterdir()
    balance = pd.read_csv(made / "evaluation/test/mass_balance.csv")
    assert list(balance.columns) == ["site", "inflow", "filled", "filled steps"]


def test_a_run_is_a_function_of_its_config(run: Path, tmp_path: Path) -> None:
    config = load_config(run / "config.yaml")
    again = pipeline.train(config, tmp_path, quiet=True)
    for name in ("last", "best"):
        file = f"checkpoints/{name}.safetensors"
        assert (again.path / file).read_bytes() == (run / file).read_bytes()
    assert (again.path / "metrics.jsonl").read_bytes() == (run / "metrics.jsonl").read_bytes()


def test_early_stopping_ends_a_run_that_gets_no_better(run: Path, tmp_path: Path) -> None:
    config = run.parents[2] / "brook.yaml"
    words = ["train", str(config), "--out", str(tmp_path), "--quiet", "--no-figures"]
    stuck = ["training.early_stopping=2", "training.learning_rate=1.0e-9", "training.updates=2000"]
    assert main([*words, *(word for change in stuck for word in ("--set", change))]) == 0
    (made,) = (tmp_path / "brook").iterdir()
    scores = [json.loads(line) for line in (made / "metrics.jsonl").read_text().splitlines()]
    assert sum("validation_nse" in record for record in scores) < 50
    assert not (made / "figures").exists()


def test_a_site_without_a_window_is_named_in_the_log(run: Path, tmp_path: Path) -> None:
    table = brook(tmp_path)
    late = table[table.date >= "2002-06-01"]  # thirty days before the training ends
    both = pd.concat([table.assign(site="long"), late.assign(site="short")])
    both.to_csv(tmp_path / "brook.csv", index=False)
    (tmp_path / "brook.yaml").write_text(CONFIG.replace("  path:", "  site: site\n  path:"))
    words = ["train", str(tmp_path / "brook.yaml"), "--out", str(tmp_path), "--quiet"]
    assert main([*words, "--set", "training.updates=1"]) == 0
    (made,) = (tmp_path / "brook").iterdir()
    assert "1 sites have no window and teach nothing: short" in (made / "log.txt").read_text()
    assert "no window" not in (run / "log.txt").read_text()


def test_three_lines_of_python(tmp_path: Path) -> None:
    table = brook(tmp_path).set_index("date").assign(flow=lambda t: t.flow * 86400 / 50e6 * 1000)
    river = mclstm.fit(
        table[:700], mass="rain", aux="temperature", target="flow",
        hidden_size=4, warmup=30, length=60, updates=60, learning_rate=0.05, output_bias=0.0,
    )  # fmt: skip
    flow = river.predict(table[["rain", "temperature"]])
    assert flow.index.equals(table.index)
    assert river.score(table[700:])["nse"] > 0.3


SHORT: dict[str, Any] = {"hidden_size": 3, "warmup": 20, "length": 40, "updates": 2}


def test_negative_masses_in_a_table_are_read_where_they_are_allowed(tmp_path: Path) -> None:
    table = brook(tmp_path).set_index("date").assign(rain=lambda t: t.rain - 1.0)[:200]
    with pytest.raises(DataError, match="negative"):
        mclstm.fit(table, mass="rain", target="flow", **SHORT)
    river = mclstm.fit(table, mass="rain", target="flow", allow_negative_mass=True, **SHORT)
    assert river.predict(table[["rain"]]).notna().all()


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "unknown loss": ({"loss": "mae"}, "fit, loss: needs 'mse' or 'nse'; got 'mae'"),
    "no stride": ({"stride": 0}, "fit, stride: needs a number of at least 1"),
    "no updates": ({"updates": 0}, "fit, updates: needs a number of at least 1; got 0.$"),
    "nothing scored": ({"warmup": 40}, "fit: leaves no step to score: .*length 40"),
    "unknown model": ({"model": "gru"}, "model is 'gru'; choose one of mclstm, hybrid, lstm"),
    "no target": ({"target": ()}, "no target column is named"),
    "no mass": ({"mass": ()}, "no mass column is declared"),
    "two roles": ({"aux": "rain"}, "the column 'rain' is named more than once"),
    "too short": ({"length": 500}, "no window of 500 steps .* Choose a smaller length"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_calls_of_fit_get_one_sentence(name: str, tmp_path: Path) -> None:
    change, message = REFUSED[name]
    table = brook(tmp_path).set_index("date")[:200]
    with pytest.raises(ValueError, match=message) as caught:
        mclstm.fit(table, **{"mass": "rain", "target": "flow", **SHORT, **change})
    assert len(str(caught.value).splitlines()) == 1


def test_what_is_no_table_or_has_no_target_is_refused(tmp_path: Path) -> None:
    table = brook(tmp_path).set_index("date")[:200]
    with pytest.raises(DataError, match=r"is of type ndarray. Give a pandas.DataFrame"):
        mclstm.fit(table.to_numpy(), mass="rain", target="flow", **SHORT)
    river = mclstm.fit(table, mass="rain", target="flow", **SHORT)
    with pytest.raises(DataError, match="the DataFrame has no column 'flow'"):
        river.score(table[["rain"]])


def test_holes_in_a_table_are_filled_as_declared_in_training_and_after(tmp_path: Path) -> None:
    table = brook(tmp_path).set_index("date")[:200]
    table.iloc[50:52, table.columns.get_loc("rain")] = float("nan")
    with pytest.raises(DataError, match="declare missing_mass='interpolate' \\(or zero\\)"):
        mclstm.fit(table, mass="rain", target="flow", **SHORT)
    river = mclstm.fit(table, mass="rain", target="flow", missing_mass="zero", **SHORT)
    dry = river.predict(table.fillna({"rain": 0.0}))
    assert river.predict(table).equals(dry)


def test_a_remedy_for_data_of_a_config_names_its_keys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = brook(tmp_path)
    table.loc[50:51, "rain"] = float("nan")
    table.to_csv(tmp_path / "brook.csv", index=False)
    (tmp_path / "brook.yaml").write_text(CONFIG)
    assert main(["train", str(tmp_path / "brook.yaml"), "--out", str(tmp_path / "runs"), "--quiet"]) == 2
    assert "declare data.missing_mass: interpolate (or zero)" in capsys.readouterr().err


def test_a_folder_that_is_no_run_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(tmp_path)]) == 2
    assert "is not a run" in capsys.readouterr().err
    for verb in ("evaluate", "resume", "report", "trace"):
        assert main([verb, str(tmp_path / "absent")]) == 2
        assert capsys.readouterr().err.endswith(
            "absent: there is no such folder. Give the folder of a run.\n"
        )
    (tmp_path / "config.yaml").write_text(CONFIG)
    assert main(["resume", str(tmp_path)]) == 2
    assert RunFolder(tmp_path).path == tmp_path


def test_doctor_and_config_answer(capsys: pytest.CaptureFixture[str], run: Path) -> None:
    assert main(["doctor", "--json"]) == 0
    assert "reference" in json.loads(capsys.readouterr().out)["backends"]
    assert main(["doctor"]) == 0
    assert "versions" in capsys.readouterr().out
    assert main(["config", str(run / "config.yaml"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "brook"
