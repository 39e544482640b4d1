"""`mclstm report` on three real basins: two members and an LSTM, benchmarks, balance, snow, trash."""

import json
import shutil
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from mclstm import pipeline
from mclstm.cli.main import main
from mclstm.config import check_config
from mclstm.config.same_model import find_runs
from mclstm.errors import ConfigError
from mclstm.evaluation.ensemble import read_members
from mclstm.evaluation.ensemble_weights import site_weights_of_members
from mclstm.evaluation.metrics import METRICS, nse
from mclstm.evaluation.prediction_dataset import as_netcdf
from mclstm.report.comparison.comparison_report import Others, compare
from mclstm.report.comparison.model_groups import grouped, joined
from mclstm.report.comparison.snow_section import periods_of
from support.basin_runs import SITES, flows_of, members, train_basins
from support.shared_data import shared
from support.small_run import brook_config, brooks, trained


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs, their report, and what the command prints with --json."""
    root = tmp_path_factory.mktemp("hydrology")
    with pytest.MonkeyPatch.context() as patch:
        train_basins(root, patch)
        words = [
            "report", str(root / "runs" / "camels"), "--benchmarks", str(shared("benchmarks")),
            "--simulations", str(root / "simulations"), "--snow", str(shared("snow17")),
            "--out", str(root / "report"), "--json",
        ]  # fmt: skip
        with (root / "printed.json").open("w") as file, redirect_stdout(file):
            assert main(words) == 0
    return root


def printed(root: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((root / "printed.json").read_text())
    return content


def scores_of(root: Path) -> pd.DataFrame:
    table = pd.read_csv(root / "report/scores.csv", dtype={"site": str})
    return table.set_index(["model", "site"]).sort_index()


def test_runs_are_grouped_by_what_they_are(made: Path) -> None:
    groups = grouped(find_runs([made / "runs" / "camels"]))
    assert {name: sorted(run.config.training.seed for run in runs) for name, runs in groups.items()} == {
        "mclstm": [0, 1], "lstm": [0],
    }  # fmt: skip


def test_scores_of_single_models_and_ensemble_are_those_of_the_predictions(made: Path) -> None:
    scores = scores_of(made)
    parts = [flows_of(run) for run in members(made, "mclstm")]
    mean = sum(part["simulated"] for part in parts) / 2
    observed = parts[0]["observed"]
    for site in SITES:
        s, o = mean.sel(site=site).to_numpy(), observed.sel(site=site).to_numpy()
        row = scores.loc[("mclstm-ensemble", site)]
        for metric in ("nse", "beta-nse", "flv", "fhv", "kge", "alpha-nse"):
            assert row[metric] == pytest.approx(METRICS[metric](s, o), rel=1e-9)
    single = scores.loc["mclstm"].set_index("member", append=True)
    for number, part in enumerate(parts):
        expected = nse(
            part["simulated"].sel(site=SITES[1]).to_numpy(), observed.sel(site=SITES[1]).to_numpy()
        )
        assert single.loc[(SITES[1], number), "nse"] == pytest.approx(expected, rel=1e-9)
    page = (made / "report/report.md").read_text()
    medians = [single.xs(number, level="member")["nse"].median() for number in (0, 1)]
    assert f"{np.mean(medians):.3f} ± {np.std(medians, ddof=1):.3f}" in page


def test_tests_are_about_the_model_that_conserves_whatever_folders_are_called(
    made: Path, tmp_path: Path
) -> None:
    groups = grouped(find_runs([made / "runs" / "camels"]))
    for name, runs in groups.items():
        for run in runs:
            shutil.copytree(run.path, tmp_path / f"{name}-{run.config.training.seed}")
    training = tmp_path / "mclstm-2"
    training.mkdir()
    text = (tmp_path / "mclstm-1" / "config.yaml").read_text().replace("seed: 1", "seed: 2")
    (training / "config.yaml").write_text(text)
    comparison = compare([tmp_path], Others(), "test")
    assert comparison.subjects == ["mclstm-ensemble"]
    (text,) = [section.text for section in comparison.sections if section.title == "Tests"]
    assert "| MC-LSTM ensemble against | NSE |" in text
    assert "\n| LSTM single | " in text
    assert f"{training} has not been evaluated on test: left out." in comparison.notes


def test_members_of_several_models_as_one_ensemble(made: Path) -> None:
    groups = grouped(find_runs([made / "runs" / "camels"]))
    comparison = compare([made / "runs" / "camels"], Others(together=["all=lstm,mclstm"]), "test")
    parts = [flows_of(run.path) for runs in groups.values() for run in runs]
    mean = sum(part["simulated"] for part in parts) / 3
    scores = comparison.tables["scores"].set_index(["model", "site"])
    for site in SITES:
        expected = nse(mean.sel(site=site).to_numpy(), parts[0]["observed"].sel(site=site).to_numpy())
        assert scores.loc[("all-ensemble", site), "nse"] == pytest.approx(expected, rel=1e-9)
    assert comparison.subjects == ["mclstm-ensemble", "all-ensemble"]
    assert [model.conserving for model in comparison.groups[-1].scores] == [False]
    for option in ("all=lstm", "lstm=lstm,mclstm", "all=lstm,gru", "all"):
        with pytest.raises(ConfigError, match="does not join two models under a new name"):
            joined(groups, [option])


def test_members_are_weighed_by_other_years(made: Path, tmp_path: Path) -> None:
    runs = members(made, "mclstm")
    for run in runs:
        shutil.copytree(run, tmp_path / run.name)
        pipeline.evaluate(tmp_path / run.name, "validation", figures=False)
    comparison = compare([tmp_path], Others(weights="validation"), "test")
    assert comparison.subjects == ["mclstm-weighted-ensemble"]
    fitted = read_members(sorted(tmp_path.iterdir()), "validation")
    weights = site_weights_of_members(fitted)
    parts = [flows_of(run) for run in sorted(tmp_path.iterdir())]
    scores = comparison.tables["scores"].set_index(["model", "site"])
    for at, site in enumerate(SITES):
        flow = sum(
            w * part["simulated"].sel(site=site).to_numpy()
            for w, part in zip(weights[at], parts, strict=True)
        )
        expected = nse(flow, parts[0]["observed"].sel(site=site).to_numpy())
        assert scores.loc[("mclstm-weighted-ensemble", site), "nse"] == pytest.approx(expected, rel=1e-9)
        assert ("mclstm-ensemble", site) in scores.index
    with pytest.raises(ConfigError, match="--weights test is the period to compare"):
        compare([tmp_path], Others(weights="test"), "test")


def test_steps_without_flow_are_counted(made: Path, tmp_path: Path) -> None:
    """FLV takes 1e-6 for them."""
    for run in (*members(made, "mclstm"), *members(made, "lstm")):
        shutil.copytree(run, tmp_path / run.name)
    (dry,) = (tmp_path / run.name for run in members(made, "lstm"))
    changed = flows_of(dry)
    flow = changed["simulated"].to_numpy().clip(min=1e-3)
    flow[0, :73] = 0.0
    changed["simulated"] = changed["simulated"].copy(data=flow)
    (dry / "evaluation/test/predictions.nc").write_bytes(as_netcdf(changed))
    comparison = compare([tmp_path], Others(), "test")
    (section,) = [section for section in comparison.sections if section.title == "Low flows"]
    rows = {(row["model"], row["metric"]): row["value"] for row in section.rows}
    assert rows["lstm", "zero-flow"] == pytest.approx(73 / 3652 / 3, abs=1e-6)
    assert rows["lstm", "zero-flow-sites"] == 1
    assert rows["lstm", "flv-with-zeros"] < rows["lstm", "flv-without-zeros"]
    assert "| LSTM | 0.666 % | 1.0 |" in section.text


def test_the_page_names_models_notes_and_figures(made: Path) -> None:
    page = (made / "report/report.md").read_text()
    for words in ("MC-LSTM ensemble", "LSTM single", "SAC-SMA", "EA-LSTM ensemble (Kratzert 2019)",
                  "lstm-kratzert2024", "r of anomalies", "* mclstm closes the mass balance"):  # fmt: skip
        assert words in page
    for name in ("map-mclstm", "distributions", "budyko-mclstm", "budyko-lstm", "snow-01031500",
                 "snow-response-01031500", "evapotranspiration-mclstm-01031500"):  # fmt: skip
        assert (made / f"report/figures/{name}.png").stat().st_size > 5000
        assert f"figures/{name}.png" in page


def test_benchmarks_fit_the_real_observations(made: Path) -> None:
    scores = scores_of(made)
    source = pd.read_csv(shared("benchmarks/process_model_metrics_1989_1999.csv"), dtype={"gauge_id": str})
    row = source[(source["mdl"] == "HBV_ub") & (source["gauge_id"] == SITES[0])].iloc[0]
    found_row = scores.loc[("hbv-upper", SITES[0])]
    assert found_row["nse"] == row["NSE"]
    observed = flows_of(members(made, "mclstm")[0])["observed"].sel(site=SITES[0]).to_numpy()
    assert found_row["beta-nse"] == pytest.approx((row["Beta"] - 1) * observed.mean() / observed.std())


def test_simulations_replace_published_scores(made: Path) -> None:
    scores = scores_of(made)
    member = scores.loc["mclstm"].query("member == 0").drop(columns="member")
    replaced = scores.loc["sac-sma"].drop(columns="member")
    pd.testing.assert_frame_equal(replaced, member, check_exact=False, rtol=1e-9)


def test_the_balance_closes_in_every_basin(made: Path) -> None:
    table = pd.read_csv(made / "report/balance.csv", dtype={"site": str})
    mass = table[table["model"] == "mclstm"]
    assert len(mass) == 3
    assert (mass["relative error"] < 1e-5).all()
    parts = mass[["left as discharge", "left as losses", "change of storage", "residual"]].sum(axis=1)
    np.testing.assert_allclose(parts, mass["inflow"], rtol=1e-6)
    budyko = pd.read_csv(made / "report/budyko-mclstm.csv", dtype={"site": str}).set_index("site")
    data = flows_of(members(made, "mclstm")[0])
    rain = float(data["inflow"].sel(site=SITES[2]).mean())
    assert budyko.loc[SITES[2], "runoff ratio observed"] == pytest.approx(
        float(data["observed"].sel(site=SITES[2]).mean()) / rain
    )


def test_snow_is_chosen_in_validation_years_and_scored_in_test_years(made: Path) -> None:
    table = pd.read_csv(made / "report/snow.csv", dtype={"site": str, "cells": str})
    assert len(table) == 2 * 4  # two members, sums of one to four cells
    run = members(made, "mclstm")[0]
    swe = pd.read_csv(shared("snow17/01031500_05_model_output.txt.gz"), sep=r"\s+")
    swe.index = pd.to_datetime({"year": swe["YR"], "month": swe["MNTH"], "day": swe["DY"]})
    data = flows_of(run).sel(site="01031500")
    row = table[(table["run"] == str(run)) & (table["count"] == 2)].iloc[0]
    cells = [int(cell) for cell in row["cells"].split()]
    stored = data["storage"].to_numpy()[:, cells].sum(1)
    held = swe["SWE"].reindex(data["time"].to_numpy()).to_numpy()
    assert row["r held out"] == pytest.approx(np.corrcoef(stored, held)[0, 1], abs=1e-4)
    assert row["r chosen"] != pytest.approx(row["r held out"], abs=1e-6)


def test_the_trash_is_compared_with_the_real_pet_of_the_same_days(made: Path) -> None:
    content = printed(made)
    rows = {(row["setting"], row["metric"]): row for row in content["rows"] if row["model"] == "mclstm"}
    row = rows["basin 01031500, losses against PET", "et-ratio"]
    table = pd.read_csv(shared("snow17/01031500_05_model_output.txt.gz"), sep=r"\s+")
    table.index = pd.to_datetime({"year": table["YR"], "month": table["MNTH"], "day": table["DY"]})
    pet = table["PET"]["1989-10-01":"1999-09-30"]  # type: ignore[misc]
    lost = [
        flows_of(run).sel(site="01031500")["outflow"].sel(outlet="losses") for run in members(made, "mclstm")
    ]
    # The mean year has 28.25 days in February, the ten real ones 28.2.
    assert row["values"] == pytest.approx([float(each.sum()) / pet.sum() for each in lost], rel=2e-3)
    assert (row["n"], row["reference_peak"]) == (2, pet.groupby(pet.index.month).mean().idxmax())
    assert ("basin 01031500, losses against ET", "et-cycle-r") in rows
    assert not [row for row in content["rows"] if row["model"] == "lstm" and row["metric"].startswith("et-")]


def test_stores_simulated_for_one_site_are_those_of_the_evaluation(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCLSTM_CACHE", str(made / "cache"))
    run = members(made, "mclstm")[1]
    (again,) = periods_of(run, ["06221400"], ["test"], None)
    kept = flows_of(run)["storage"].sel(site="06221400")
    np.testing.assert_allclose(again["storage"].to_numpy()[0], kept.to_numpy(), rtol=1e-4, atol=1e-4)
    warmth = again["temperature"].to_numpy()[0]
    assert warmth.shape == (3652,)
    assert -10 < warmth.mean() < 10


def test_json_has_rows_tests_and_closures(made: Path) -> None:
    content = printed(made)
    metrics = {(row["model"], row["metric"]) for row in content["rows"]}
    assert {("mclstm-ensemble", "nse"), ("sac-sma", "beta-nse"), ("lstm-kratzert2019", "flv")} <= metrics
    assert {row["setting"] for row in content["rows"]} >= {"3 basins"}
    pairs = {(test["model"], test["other"], test["metric"]) for test in content["tests"]}
    assert ("mclstm-ensemble", "lstm", "nse") in pairs
    (closure,) = content["closures"]
    assert (closure["model"], closure["sites"], closure["members"], closure["holds"]) == (
        "mclstm",
        3,
        2,
        True,
    )
    assert all(Path(file).is_file() for file in content["files"])


def test_mistakes_end_with_one_sentence(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = members(made, "mclstm")[0]
    for words, message in (
        ([str(tmp_path)], "neither a run nor a folder of runs"),
        ([str(run), str(run)], "Leave one out"),
        ([str(run), "--split", "train"], "mclstm evaluate"),
        ([str(run), "--snow", str(tmp_path)], "holds no file"),
        ([str(members(made, "lstm")[0]), "--snow", str(shared("snow17"))], "no run has stores"),
    ):
        assert main(["report", *words, "--out", str(tmp_path / "out")]) == 2
        said = capsys.readouterr().err
        assert message in said
        assert len(said.strip().splitlines()) == 1


def test_two_models_of_one_name_are_told_apart_or_refused(tmp_path: Path) -> None:
    first = trained(tmp_path)
    second = trained(tmp_path, {"name": "mclstm", "hidden_size": 4})
    with pytest.raises(ValueError, match=r"differ in model\.hidden_size"):
        grouped(find_runs([first, second]))
    raw = yaml.safe_load((second / "config.yaml").read_text())
    (second / "config.yaml").write_text(yaml.safe_dump(raw | {"name": "study-wide"}))
    assert list(grouped(find_runs([first, second]))) == ["brook", "study-wide"]
    assert list(grouped(find_runs([first, second]), prefix="study-")) == ["brook", "wide"]


def test_data_without_places_gives_a_report_without_map(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = brook_config(tmp_path / "brook.csv")
    trained(tmp_path)  # writes brook.csv
    brooks(tmp_path / "brook.csv", ["A", "B", "C"]).to_csv(tmp_path / "brooks.csv", index=False)
    raw["data"] |= {"path": str(tmp_path / "brooks.csv"), "site": "site"}
    raw["training"]["updates"] = 2
    run = pipeline.train(check_config(raw | {"name": "three"}), tmp_path / "runs", quiet=True).path
    pipeline.evaluate(run, figures=False)
    assert main(["report", str(run), "--out", str(tmp_path / "report"), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert any("No map of mclstm" in note for note in shown["notes"])
    assert (tmp_path / "report/figures/distributions.svg").is_file()
    assert [closure["holds"] for closure in shown["closures"]] == [True]
    assert shown["tests"] == []  # there is no other model
