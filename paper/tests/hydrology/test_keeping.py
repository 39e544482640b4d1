"""Members that no recipe has scored yet survive their machine: kept small, and runs again to the bit."""

import json
import shutil
from pathlib import Path

import pytest

from mclstm_paper.hydrology import keeping, unpacked
from mclstm_paper.hydrology.keeping import keep, kept_seeds
from mclstm_paper.hydrology.recipe import digest
from mclstm_paper.record_queue.long_runs import LongRun, Places
from mclstm_paper.record_queue.session import session
from mclstm_paper.record_queue.standing import Folders, standing

BASINS = ("01022500", "11141280")
HYBRIDS = LongRun(
    "hybrid", "hydrology",
    {"profile": "quick", "models": ("hybrid",), "seeds": 2, "updates": 2, "cells": 3, "no_test": True},
    1.0, ("camels", "basins"), weights=True,
)  # fmt: skip
JOBS = Path("hydrology", "quick-stated", "jobs")


@pytest.fixture(scope="module")
def home(camels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session that trained two hybrids and kept them."""
    root = tmp_path_factory.mktemp("session")
    left, _ = session([HYBRIDS], Places(camels, BASINS), folders(root), workers=1, minutes=5)
    assert left[0].left == []
    return root


def folders(root: Path) -> Folders:
    return Folders(root / "out", root / "results", root / "weights" / "members")


def test_kept_members_are_not_trained_again_elsewhere(home: Path, camels: Path, tmp_path: Path) -> None:
    kept = home / "weights" / "members"
    assert kept_seeds(kept, "hybrid") == {0, 1}
    elsewhere = folders(tmp_path)._replace(weights=kept)
    assert standing(HYBRIDS, Places(camels, BASINS), elsewhere).left == []
    more = HYBRIDS._replace(options=HYBRIDS.options | {"seeds": 3})
    assert [job.name for job in standing(more, Places(camels, BASINS), elsewhere).left] == ["hybrid-2"]
    assert "test" not in json.loads((kept / "hybrid" / "model.json").read_text())
    assert not (home / "results").exists()  # a recipe scores them


def test_they_are_runs_again_and_the_experiment_counts_them(home: Path, camels: Path, tmp_path: Path) -> None:
    (tmp_path / "two.txt").write_text("\n".join(BASINS) + "\n")
    words = [
        "--data",
        str(camels),
        "--basins",
        str(tmp_path / "two.txt"),
        "--out",
        str(tmp_path / "out" / JOBS),
    ]
    unpacked.main([str(home / "weights" / "members"), *words])
    again = tmp_path / "out" / JOBS / "hybrid-1"
    assert digest(again) == digest(home / "out" / JOBS / "hybrid-1")
    (cost,) = json.loads((again / "cost.json").read_text())
    assert cost["cpu_seconds"] > 0
    before = (again / "checkpoints" / "last.safetensors").read_bytes()
    anew = folders(tmp_path)
    (left,), _ = session([HYBRIDS], Places(camels, BASINS), anew, workers=1, minutes=5)
    assert left.left == []
    assert "evaluated validation:" in (again / "log.txt").read_text()
    assert (again / "checkpoints" / "last.safetensors").read_bytes() == before  # not trained on


def test_members_that_came_later_are_added(home: Path, tmp_path: Path) -> None:
    run = home / "out" / JOBS / "hybrid-1"
    out = tmp_path / "weights" / "members"
    keep([home / "out" / JOBS / "hybrid-0"], out)
    first = (out / "hybrid" / "member-0.safetensors").stat().st_mtime_ns
    assert keep([run], out) == [out / "hybrid"]
    assert kept_seeds(out, "hybrid") == {0, 1}
    assert (out / "hybrid" / "member-0.safetensors").stat().st_mtime_ns == first
    assert keep([run], out) == []
    shutil.copytree(run, tmp_path / "begun", ignore=shutil.ignore_patterns("*.safetensors"))
    assert keep([tmp_path / "begun"], tmp_path / "other") == []  # not finished


def test_what_does_not_fit_a_repository_is_refused(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "LARGEST", 20_000)
    with pytest.raises(SystemExit):
        keeping.main([str(home / "out" / JOBS / "hybrid-0"), "--out", str(tmp_path / "weights" / "members")])
    assert "would take 0.1 MB of at most 0.02" in " ".join(capsys.readouterr().err.split())
    assert kept_seeds(tmp_path / "weights" / "members", "hybrid") == set()
