"""Basins never seen: folds are whole, runs do not see their own, and fine-tuning starts from them."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from mclstm.cli.main import main
from mclstm.deploy.new_data import Source
from mclstm.deploy.predict import predict
from mclstm.evaluation.metrics import nse
from mclstm.training import checkpoint
from mclstm_paper.hydrology.basins import THIRTY
from mclstm_paper.hydrology.folds import folds_of, random_folds, region_folds, regions_of
from mclstm_paper.hydrology.unseen import block
from support.shared_data import shared

# Real basins may give more than they get, and attributes of the held-out ones lie outside those of training.
pytestmark = pytest.mark.filterwarnings("ignore::mclstm.errors.DataWarning")

FIVE = ("01022500", "01031500", "07291000", "11141280", "12189500")


@pytest.fixture(scope="module")
def words(camels: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Options that both experiments share; each fold has one basin."""
    root = tmp_path_factory.mktemp("unseen")
    (root / "five.txt").write_text("\n".join(FIVE) + "\n")
    return [
        *("--data", str(camels), "--basins", str(root / "five.txt"), "--updates", "2", "--cells", "3"),
        *("--no-test", "--quiet", "--out", str(root)),
    ]


@pytest.fixture(scope="module")
def jobs(words: list[str]) -> Path:
    assert main(["experiment", "hydrology-unseen", "--operations", "random", *words]) == 0
    return Path(words[-1]) / "hydrology-unseen" / "quick-stated" / "jobs"


@pytest.mark.parametrize("kind", ["random", "region"])
def test_every_basin_is_left_out_once(camels: Path, kind: str) -> None:
    folds = folds_of(kind, THIRTY, camels)
    assert len(folds) == 5
    assert sorted(basin for fold in folds for basin in fold) == sorted(THIRTY)
    assert min(map(len, folds)) >= 3
    assert folds == folds_of(kind, THIRTY[::-1], camels)


def test_regions_stay_together_and_the_papers_basins_are_shared_evenly(camels: Path) -> None:
    regions = regions_of(camels, THIRTY)
    assert len(set(regions.values())) == 18
    for fold in region_folds(THIRTY, regions):
        others = {regions[basin] for basin in THIRTY if basin not in fold}
        assert not others & {regions[basin] for basin in fold}
    sizes = [len(fold) for fold in random_folds(shared("basins_447.txt").read_text().split())]
    assert sizes == [90, 90, 89, 89, 89]


def test_a_run_is_scored_where_it_was_not_trained(jobs: Path, tmp_path: Path) -> None:
    seen_by_none = []
    for fold in range(5):
        job = jobs / f"hybrid/random/fold-{fold}-seed-0"
        trained = yaml.safe_load((job / "config.yaml").read_text())["data"]["sites"]
        (unseen,) = json.loads((job / "result.json").read_text())["result"]["sites"]
        assert sorted([*trained, unseen]) == sorted(FIVE)
        assert "evaluated" not in (job / "log.txt").read_text()
        seen_by_none.append(unseen)
    content = json.loads((jobs.parent / "unseen.json").read_text())
    (row,) = [row for row in content["rows"] if row["metric"] == "nse"]
    assert row["setting"] == "5 basins never seen, random folds, validation"
    assert (row["model"], row["seeds"], row["sites"]) == ("hybrid", [0], sorted(FIVE))
    # By hand for one basin: the run that does not know it, on the basin's own record.
    job = jobs / f"hybrid/random/fold-{seen_by_none.index(FIVE[3])}-seed-0"
    data = yaml.safe_load((job / "config.yaml").read_text())["data"]["path"]
    (tmp_path / "one.yaml").write_text(f"sites: ['{FIVE[3]}']\n")
    years = predict(job, Source(data, columns=tmp_path / "one.yaml")).sel(
        time=slice("1980-10-01", "1989-09-30")
    )
    expected = nse(years["simulated"].to_numpy()[0], years["observed"].to_numpy()[0])
    np.testing.assert_allclose(row["values"][sorted(FIVE).index(FIVE[3])], expected, rtol=1e-5)


def test_neither_folds_nor_fine_tuning_see_the_test_years(
    jobs: Path, words: list[str], camels: Path, camels_without_test: Path, tmp_path: Path
) -> None:
    """Their flow missing: the same weights to the bit."""
    elsewhere = {str(camels): str(camels_without_test), words[-1]: str(tmp_path)}
    blind = [elsewhere.get(word, word) for word in words]
    assert main(["experiment", "hydrology-unseen", "--operations", "random", *blind]) == 0
    for one in (words, blind):
        assert main(["experiment", "hydrology-fine-tuning", *one]) == 0
    for kind, job in (("unseen", "hybrid/random/fold-{}-seed-0"), ("fine-tuning", "hybrid/years-9/{}-0")):
        for name in range(5) if kind == "unseen" else FIVE:
            place = f"hydrology-{kind}/quick-stated/jobs/{job.format(name)}/checkpoints/last.safetensors"
            one, two = (checkpoint.load(root / place)[0] for root in (jobs.parents[2], tmp_path))
            assert all(torch.equal(one[key], value) for key, value in two.items())


def test_fine_tuning_begins_with_the_run_that_has_not_seen_the_basin(
    jobs: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["experiment", "hydrology-fine-tuning", *words]) == 0
    capsys.readouterr()
    tuned = Path(words[-1]) / "hydrology-fine-tuning" / "quick-stated"
    for basin in FIVE:
        config = yaml.safe_load((tuned / f"jobs/hybrid/years-3/{basin}-0/config.yaml").read_text())
        start = Path(config["training"]["start"])
        assert json.loads((start / "result.json").read_text())["result"]["sites"] == [basin]
        assert config["periods"]["train"] == ["2005-10-01", "2008-09-30"]
        assert config["periods"]["validation"] is None
        assert config["data"]["sites"] == [basin]
    rows = json.loads((tuned / "fine-tuning.json").read_text())["rows"]
    nse_rows = {row["setting"]: row for row in rows if row["metric"] == "nse"}
    assert list(nse_rows) == [
        f"5 basins, {when}, validation" for when in ("before", "1 year", "3 years", "9 years")
    ]
    unseen = json.loads((jobs.parent / "unseen.json").read_text())["rows"]
    (whole,) = [row for row in unseen if row["metric"] == "nse"]
    before = nse_rows["5 basins, before, validation"]
    by_site = dict(zip(whole["sites"], whole["values"], strict=True))
    np.testing.assert_allclose(before["values"], [by_site[site] for site in before["sites"]], rtol=1e-5)
    assert nse_rows["5 basins, 9 years, validation"]["values"] != before["values"]


def test_hbv_of_the_same_basins_and_period_stands_beside(jobs: Path, tmp_path: Path) -> None:
    results = tmp_path / "results" / "hydrology"
    results.mkdir(parents=True)
    unseen = json.loads((jobs.parent / "unseen.json").read_text())
    (results / "unseen.json").write_text(json.dumps(unseen))
    assert "hbv" not in block(tmp_path).lower()
    (score,) = [row for row in unseen["rows"] if row["metric"] == "nse"]
    other = {"model": "hbv-gradient", "setting": "5 basins, validation", "value": 0.123, "n": 1}
    elsewhere = {"model": "hbv-evolution", "setting": "5 basins", "value": 0.456, "n": 1}
    (results / "process.json").write_text(json.dumps({**unseen, "rows": [score | other, score | elsewhere]}))
    text = block(tmp_path)
    assert "5 basins, validation, calibrated at each" in text
    assert "0.123" in text
    assert "0.456" not in text


def test_what_is_missing_is_named(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = [*words[:-1], str(tmp_path)]
    assert main(["experiment", "hydrology-fine-tuning", *elsewhere]) == 2
    assert "Run hydrology-unseen with the same options" in capsys.readouterr().err
    assert main(["experiment", "hydrology-unseen", "--operations", "north", *elsewhere]) == 2
    assert "has no folds 'north'. Choose from random, region." in capsys.readouterr().err
    assert main(["experiment", "hydrology-unseen", "--profile", "paper", *elsewhere[:2]]) == 2
    assert "and --basins, those to divide" in capsys.readouterr().err
