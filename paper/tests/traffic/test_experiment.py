"""The whole protocol on a small city: grid, runs, floors, result files, tables, figure, a second call."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from mclstm.cli.main import main
from mclstm.jobs.job import Job
from mclstm.jobs.monitor import JobMonitor
from mclstm_paper.options import Options, Plan
from mclstm_paper.results import row
from mclstm_paper.seeds.member_ensemble import Ensemble
from mclstm_paper.traffic import floors
from mclstm_paper.traffic.days import City
from mclstm_paper.traffic.experiment import EXPERIMENT, LIMIT, claims, finished_days, jobs, score_rows
from mclstm_paper.traffic.floors import FLOORS, predictions, record_of
from mclstm_paper.traffic.models import NETWORKS, Setting
from mclstm_paper.traffic.task import FlowTask
from mclstm_paper.traffic.training import FORECAST, GRID_SEED, learn

RUN = ("dense", "sparse-overall")
RESULTS = Path(__file__).parents[3] / "results"


def run(smallville: Path, root: Path, *words: str) -> dict[str, Any]:
    places = [
        "--data",
        str(smallville),
        "--out",
        str(root / "out"),
        "--results",
        str(root / "results"),
        "--quiet",
    ]
    assert main(["experiment", "traffic", *places, *words]) == 0
    content: dict[str, Any] = json.loads((root / "results/traffic/stated.json").read_text())
    return content


def test_the_whole_protocol(smallville: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(floors, "TRIED", (2, 13))
    words = ("--seeds", "2", "--updates", "3", "--cells", "4", "--operations", "dense,sparse-overall")
    content = run(smallville, tmp_path, *words)
    expected = {(model, f"smallville-{reading}") for model in NETWORKS for reading in RUN}
    expected |= {
        (model, f"smallville-{where}")
        for model, readings in FLOORS.items()
        for where in readings
        if where in RUN
    }
    rows = {(one["model"], one["setting"]): one for one in content["rows"] if one["metric"] == "rmse"}
    assert set(rows) == expected
    assert all(one["paper"] is None for one in content["rows"])
    # A lag of twelve steps explains this city; the floors find that on validation days.
    assert rows["regression", "smallville-dense"]["choice"] == {"lags": 13}
    assert (
        rows["regression", "smallville-dense"]["value"] < rows["climatology", "smallville-dense"]["value"] / 2
    )
    for model in NETWORKS:
        one = rows[model, "smallville-sparse-overall"]
        assert (one["n"], one["seeds"], one["trained"], one["scorings"]) == (2, [0, 1], 3, 1)
        assert len(one["trials"]) == 2
        assert one["choice"] in [
            {k: v for k, v in trial.items() if k != "validation"} for trial in one["trials"]
        ]
    lowest = [
        one["value"]
        for one in content["rows"]
        if one["metric"] == "lowest stock" and "mclstm" in one["model"]
    ]
    assert len(lowest) == 6
    assert min(lowest) >= 0
    texts = [one["claim"] for one in content["claims"]]
    assert "smallville-sparse-overall: rmse of mclstm is below that of lstm" in texts
    assert (tmp_path / "results/traffic/stated-day.png").exists()
    table = (tmp_path / "out/traffic/quick-stated/table.md").read_text()
    assert "smallville-sparse-overall:" in table
    # A second command trains and scores nothing again.
    weights = list((tmp_path / "out").rglob("checkpoint.safetensors"))
    before = {path: path.stat().st_mtime_ns for path in weights}
    again = run(smallville, tmp_path, *words, "--models", "mclstm")
    assert before == {path: path.stat().st_mtime_ns for path in weights}
    assert again["rows"] == content["rows"]
    # Whoever ran last, the day of every network is there to be drawn.
    jobs_dir = tmp_path / "out/traffic/quick-stated/jobs"
    assert list(finished_days(jobs_dir, "smallville-dense")) == list(NETWORKS)


def test_the_grid_and_the_paper_size() -> None:
    plan = Plan(Options(profile="paper"))
    by_name = {job.name: job for job in jobs(plan)}
    sparse = by_name["mclstm/flights-sparse-step/seeds-0-49"]
    assert (len(sparse.parameters["grid"]), sparse.goal) == (20, 2_000)
    assert len(by_name["lstm/flights-sparse-step/seeds-0-49"].parameters["grid"]) == 10
    assert GRID_SEED not in sparse.parameters["seeds"]
    assert "last-week/flights-sparse-step/fit" not in by_name


def core_seconds(one: Job, seconds: dict[str, dict[str, float]]) -> float:
    """What a job costs at most: its grid with one seed, and its seeds with the dearest setting."""
    by_size = seconds[one.parameters["model"]]
    grid = sum(by_size[str(hidden)] for hidden, *_ in one.parameters["grid"]) * one.parameters["grid_updates"]
    dearest = max(by_size[str(hidden)] for hidden, *_ in one.parameters["grid"])
    return grid + dearest * len(one.parameters["seeds"]) * one.goal


def test_the_paper_profile_stays_in_its_limit_and_the_papers_larger_sizes_would_not() -> None:
    seconds = json.loads((RESULTS / "traffic/cost.json").read_text())["seconds"]
    whole = [job for job in jobs(Plan(Options(profile="paper"))) if job.parameters["model"] in NETWORKS]
    assert len(whole) == 18
    assert sum(core_seconds(job, seconds) for job in whole) < LIMIT
    models = ("mclstm",)
    larger = jobs(Plan(Options(profile="paper", models=models, settings=("dense",), cells=100)))
    assert sum(core_seconds(job, seconds) for job in larger) > LIMIT


def test_the_papers_networks_are_tested_with_their_last_weights_and_ours_with_their_best(
    smallville: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = Ensemble.use_best
    used: list[str] = []

    def noted(members: Ensemble) -> None:
        used.append(model)
        best(members)

    monkeypatch.setattr(Ensemble, "use_best", noted)
    for model in ("mclstm", "mclstm-timeless"):
        setting = [*Setting(2, 0.1, start=0.0, learned=False)]
        learn(
            tmp_path / model, JobMonitor(tmp_path, lambda: None), 1, model=model, operation="one",
            reading="sparse-step", protocol="stated", seeds=[0], grid=[setting], grid_updates=1,
            reader="auto", data=str(smallville),
        )  # fmt: skip
    assert used == ["mclstm-timeless"]


def test_choices_that_do_not_exist_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["experiment", "traffic", "--operations", "rare", "--out", str(tmp_path)]) == 2
    assert "has no reading 'rare'" in capsys.readouterr().err
    assert main(["experiment", "traffic", "--data", str(tmp_path / "none"), "--out", str(tmp_path)]) == 2


def test_floors_of_sparse_days_see_nothing_else(city: City) -> None:
    task = FlowTask(city, "sparse-step", "harmonics")
    learned = torch.arange(20) < 16
    record = record_of(task, learned, test=True)
    observed = torch.from_numpy(record.y[0]).isfinite().all(-1).view(20, 288)
    assert observed.sum() == 16 * 9
    assert not observed[16:].any()
    y = predictions("regression", 13, task, learned)
    other = city._replace(train=city.train._replace(y=city.train.y.clone()))
    other.train.y[100] += 50.0  # a step that nobody observed
    assert torch.equal(y, predictions("regression", 13, FlowTask(other, "sparse-step", "harmonics"), learned))


def test_a_claim_needs_both_models_and_most_seeds() -> None:
    seeds = {"seeds": list(range(8))}
    ours = row("x-sparse-step", "mclstm", "rmse", [1.0 + 0.01 * n for n in range(8)]) | seeds
    theirs = row("x-sparse-step", "lstm", "rmse", [2.0 + 0.01 * n for n in range(8)]) | seeds
    assert claims([ours]) == []
    (one,) = claims([ours, theirs])
    assert one["holds"]
    assert not claims([ours | {"model": "lstm"}, theirs | {"model": "mclstm"}])[0]["holds"]
    floor = row("x-sparse-step", "climatology", "rmse", [1.02])
    (against,) = claims([ours | {"model": "mclstm-timeless"}, floor])
    assert not against["holds"]
    assert against["test"] == "Wilcoxon test, 8 seeds, not blind"
    # A seed that failed in one model is compared in neither.
    failed = theirs | {"values": [None, *theirs["values"][1:]]}
    (one,) = claims([ours, failed])
    assert (one["test"], one["holds"]) == ("Wilcoxon test, 7 seeds", True)
    few = ours | {"values": [*ours["values"][:3], *[None] * 5]}
    assert not claims([few, theirs])[0]["holds"]  # three pairs decide nothing


def test_cities_of_the_paper_have_its_numbers_and_flights_do_not() -> None:
    result: dict[str, Any] = {"choice": {}, "trials": [], "scorings": 1, "failed": [-1]}
    result["test"] = {"rmse": [1.0], "rmse midnight": [1.0], "mae": [1.0], "rmse total": [1.0]}

    def printed(city: str, reading: str, model: str = "mclstm") -> list[float | None]:
        about = {"model": model, "operation": f"{city}-{reading}", "reading": reading}
        return [one["paper"] for one in score_rows(Job("one", FORECAST, about, 1), result, "published")]

    assert printed("berlin", "sparse-step") == [None, 13.6, 66.0, None]
    assert printed("moscow", "sparse-overall", "lstm") == [45.6, None, 31.7, None]
    others = (("berlin", "dense"), ("flights", "sparse-step"), ("berlin", "sparse-step", "lstm-timeless"))
    assert all(printed(*other) == [None] * 4 for other in others)
    assert {name.rpartition("-")[0] for name in EXPERIMENT.settings if name.endswith("-dense")} == {
        "flights", "berlin", "istanbul", "moscow",
    }  # fmt: skip
