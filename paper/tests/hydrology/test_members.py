"""The hydrology experiment end to end on real basins: numbers by hand, mass, one look at the test years."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from hydrology.conftest import BASINS
from mclstm.cli.main import main
from mclstm.training import journal

MEMBERS = [f"{model}-{member}" for model in ("mclstm", "lstm") for member in (0, 1)]


def predictions(run: Path) -> xr.Dataset:
    with xr.open_dataset(run / "evaluation/test/predictions.nc", engine="h5netcdf") as file:
        return file.load()


def by_hand(s: np.ndarray, o: np.ndarray) -> dict[str, float]:
    """The paper's and the field's definitions, written out: s, o (T,)."""
    s, o = s[np.isfinite(o)], o[np.isfinite(o)]
    r, alpha, beta = np.corrcoef(s, o)[0, 1], s.std() / o.std(), s.mean() / o.mean()
    s_high, o_high = (np.sort(v)[::-1][: round(0.02 * len(o))] for v in (s, o))
    s_low, o_low = (np.log(np.sort(np.where(v <= 0, 1e-6, v))[::-1][-round(0.3 * len(o)) :]) for v in (s, o))
    below, seen = (s_low - s_low.min()).sum(), (o_low - o_low.min()).sum()
    return {
        "nse": 1 - ((s - o) ** 2).sum() / ((o - o.mean()) ** 2).sum(),
        "beta-nse": (s.mean() - o.mean()) / o.std(),
        "alpha-nse": alpha,
        "kge": 1 - np.sqrt((r - 1) ** 2 + (alpha - 1) ** 2 + (beta - 1) ** 2),
        "fhv": 100 * (s_high - o_high).sum() / o_high.sum(),
        "flv": -100 * (below - seen) / (seen + 1e-6),
    }


def scores(found: xr.Dataset) -> pd.DataFrame:
    rows = [
        by_hand(found["simulated"].sel(site=site).to_numpy(), found["observed"].sel(site=site).to_numpy())
        for site in BASINS
    ]
    return pd.DataFrame(rows, index=BASINS)


@pytest.mark.parametrize("member", MEMBERS)
def test_the_pipelines_numbers_are_those_computed_by_hand(made: Path, member: str) -> None:
    run = made / "jobs" / member
    found = predictions(run)
    assert str(found["time"].to_numpy()[0])[:10] == "1989-10-01"
    assert str(found["time"].to_numpy()[-1])[:10] == "1999-09-30"
    table = pd.read_csv(run / "evaluation/test/metrics.csv", dtype={"site": str}).set_index("site")
    for metric, column in scores(found).items():
        np.testing.assert_allclose(table.loc[list(BASINS), metric], column, rtol=1e-9, err_msg=str(metric))


def test_the_ensemble_is_the_mean_of_the_simulations_scored_again(made: Path) -> None:
    content = json.loads((made / "stated.json").read_text())
    rows = {(row["model"], row["metric"]): row for row in content["rows"]}
    assert {row["setting"] for row in content["rows"]} == {"4 basins"}
    assert len(rows) == len(content["rows"]) == 4 * 6
    assert all(row["seeds"] == [0, 1] for row in content["rows"])
    for model in ("mclstm", "lstm"):
        runs = [predictions(made / "jobs" / f"{model}-{member}") for member in (0, 1)]
        mean = runs[0].assign(simulated=(runs[0]["simulated"] + runs[1]["simulated"]) / 2)
        for metric, column in scores(mean).items():
            row = rows[f"{model}-ensemble", str(metric)]
            assert row["n"] == 2
            low, middle, high = np.quantile(column, [0.25, 0.5, 0.75])
            np.testing.assert_allclose(
                [row["low"], row["value"], row["high"]], [low, middle, high], rtol=1e-6
            )
            np.testing.assert_allclose(row["values"], column, rtol=1e-5)
            medians = [np.median(scores(run)[metric]) for run in runs]
            np.testing.assert_allclose(rows[model, str(metric)]["value"], np.mean(medians), rtol=1e-6)


@pytest.mark.parametrize("member", MEMBERS[:2])
def test_mass_closes_in_every_basin_over_ten_years(made: Path, member: str) -> None:
    found = predictions(made / "jobs" / member)
    before, inflow = found["storage_before"].to_numpy(), found["inflow"].to_numpy().sum(1)
    gone = found["outflow"].to_numpy().sum((1, 2)) + found["storage"].to_numpy()[:, -1].sum(-1)
    assert found.sizes["time"] == 3652
    assert (inflow > 1000).all()
    assert (np.abs(before + inflow - gone) / (before + inflow) < 1e-5).all()


@pytest.mark.parametrize("member", MEMBERS)
def test_the_test_years_are_scored_once_and_the_log_shows_it(made: Path, member: str) -> None:
    run = made / "jobs" / member
    lines = [line.split(" ", 2)[2] for line in (run / "log.txt").read_text().splitlines()]
    assert [line.split(":")[0].split(" after")[0] for line in lines] == [
        f"training {member.split('-')[0]}", "finished", "evaluated test",
    ]  # fmt: skip
    scored = [record for record in journal.read(run / "metrics.jsonl") if "validation_nse" in record]
    assert len(scored) == 1
    best = json.loads((run / "result.json").read_text())["result"]["validation"]
    assert scored[0]["validation_nse"] == best


def test_the_same_command_again_does_nothing_again(
    made: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [made / "jobs" / member for member in MEMBERS]
    before = [(run / "log.txt").read_text() for run in runs]
    rows = json.loads((made / "stated.json").read_text())["rows"]
    assert main([*command, "--out", str(made.parents[1])]) == 0
    assert "MC-LSTM ensemble" in capsys.readouterr().out
    assert [(run / "log.txt").read_text() for run in runs] == before
    assert json.loads((made / "stated.json").read_text())["rows"] == rows


def test_a_finished_run_that_is_put_there_counts_as_finished(
    made: Path, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a run trained by hand with `mclstm train`: a folder, or a link to one."""
    jobs = tmp_path / "hydrology" / "quick-stated" / "jobs"
    for member in (0, 1):
        shutil.copytree(made / "jobs" / f"mclstm-{member}", tmp_path / f"run-{member}")
        for name in ("job.json", "result.json", "progress.json", "lock"):
            (tmp_path / f"run-{member}" / name).unlink(missing_ok=True)
    jobs.mkdir(parents=True)
    (jobs / "mclstm-0").symlink_to(tmp_path / "run-0")
    (tmp_path / "run-1").rename(jobs / "mclstm-1")
    words = [*command, "--models", "mclstm", "--out", str(tmp_path)]
    assert main(words) == 0
    rows = json.loads((jobs.parent / "stated.json").read_text())["rows"]
    assert rows == [
        row for row in json.loads((made / "stated.json").read_text())["rows"] if "mc" in row["model"]
    ]
    assert (jobs / "mclstm-1/log.txt").read_text() == (made / "jobs/mclstm-1/log.txt").read_text()

    (jobs / "mclstm-0").unlink()
    shutil.copytree(
        made / "jobs" / "mclstm-1", jobs / "mclstm-0", ignore=lambda *_: ["job.json", "result.json"]
    )
    capsys.readouterr()
    assert main(words) == 2
    assert "holds a run with another training.seed" in capsys.readouterr().err
