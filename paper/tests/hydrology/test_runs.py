"""One member as a job: stopped and gone on with, blind to the test years, allowed to fail where it may."""

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from mclstm.errors import Interrupted, TrainingError
from mclstm.jobs.monitor import JobMonitor
from mclstm_paper.hydrology.ablation import config_of as ablation_config
from mclstm_paper.hydrology.models import config_of
from mclstm_paper.hydrology.training import learn
from mclstm_paper.options import Options

# Real basins may give more than they get, and attributes of the held-out ones lie outside those of training.
pytestmark = pytest.mark.filterwarnings("ignore::mclstm.errors.DataWarning")

BASIN = "11141280"


def options(camels: Path, **more: Any) -> Options:
    return Options(data=camels, basins=(BASIN,), cells=3, updates=5, **more)


def monitor(folder: Path, updates: int | None = None) -> JobMonitor:
    """A monitor that reports SIGTERM after so many updates."""
    folder.mkdir(parents=True, exist_ok=True)
    asked = iter(range(updates or 0))
    silent = updates is None
    return JobMonitor(folder, lambda: None if silent or next(asked, None) is not None else signal.SIGTERM)


def weights(folder: Path) -> list[bytes]:
    return [(folder / f"checkpoints/{name}.safetensors").read_bytes() for name in ("last", "best")]


def test_a_member_that_was_stopped_ends_with_the_same_bits(camels: Path, tmp_path: Path) -> None:
    config = config_of("mclstm", options(camels), member=7)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    result = learn(whole, monitor(whole), 1, config)
    for updates in (1, 2):
        with pytest.raises(Interrupted):
            learn(parts, monitor(parts, updates), 1, config)
        assert not (parts / "evaluation").exists()
    assert learn(parts, monitor(parts), 1, config) == result
    assert weights(parts) == weights(whole)
    assert (parts / "log.txt").read_text().count("evaluated test") == 1
    assert result["sites"] == [BASIN]
    assert result["conserving"]
    assert max(result["mass_errors"]) < 1e-5


def test_training_and_selection_never_see_the_test_years(camels: Path, tmp_path: Path) -> None:
    """Other discharge in the test years changes no bit of the weights, in the validation years it may."""
    changed = tmp_path / "camels"
    for part in ("basin_mean_forcing", "usgs_streamflow", "camels_attributes_v2.0"):
        shutil.copytree(camels / part, changed / part, ignore=_others)
    (file,) = (changed / "usgs_streamflow").rglob(f"{BASIN}*")
    lines = [line.split() for line in file.read_text().splitlines()]
    for words in lines:
        if ("1989", "10") <= (words[1], words[2]) < ("1999", "10"):
            words[4] = "123.00"
    file.write_text("\n".join(" ".join(words) for words in lines) + "\n")
    results = {}
    for name, data in {"as it was": camels, "changed": changed}.items():
        folder = tmp_path / name
        results[name] = learn(folder, monitor(folder), 1, config_of("mclstm", options(data), member=0))
    assert weights(tmp_path / "as it was") == weights(tmp_path / "changed")
    assert results["changed"]["validation"] == results["as it was"]["validation"]
    assert results["changed"]["scores"] != results["as it was"]["scores"]


def _others(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name.endswith(("_leap.txt", "_qc.txt")) and not name.startswith(BASIN)]


def test_a_training_that_goes_to_nan_is_a_result_where_it_may_be(camels: Path, tmp_path: Path) -> None:
    config = ablation_config("mclstm-minus-redistribution", BASIN, options(camels), seed=0)
    config["model"]["stay"] = 0.99  # times the number of cells on the diagonal: amounts grow threefold a day
    with pytest.raises(TrainingError, match="is not finite"):
        learn(tmp_path / "raised", monitor(tmp_path / "raised"), 1, config)
    result = learn(tmp_path / "kept", monitor(tmp_path / "kept"), 1, config, may_fail=True)
    assert set(result) == {"failed"}
    assert "is not finite" in result["failed"]
    assert "given up" in (tmp_path / "kept/log.txt").read_text()
    assert not (tmp_path / "kept/evaluation").exists()


@pytest.mark.parametrize("model", ["mclstm", "lstm"])
def test_the_published_protocol_and_the_papers_scheme_run(camels: Path, tmp_path: Path, model: str) -> None:
    chosen = options(camels, protocol="published")._replace(updates=2)
    config = config_of(model, chosen, member=0)
    config["training"]["batch_size"] = 4
    config["periods"] = {"train": ["1999-10-01", "2008-09-30"], "test": ["1989-10-01", "1989-10-31"]}
    result = learn(tmp_path, monitor(tmp_path), 1, config)
    assert config["training"]["scheme"] == "last"
    assert len(config["data"]["static"]) == 26
    assert json.dumps(result["scores"]["nse"]) != "[null]"
