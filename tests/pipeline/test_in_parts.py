"""More sites than memory: what is read in parts is what is read together, bit for bit."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import yaml

from mclstm import pipeline
from mclstm.cli.main import main
from mclstm.config import check_config
from mclstm.data.parts import PART
from mclstm.data.scaling import moments
from mclstm.errors import ConfigError, DataError, StorageError
from mclstm.evaluation_files import Evaluation
from mclstm.pipeline import evaluate, resume, train
from mclstm.run import Run, load_run
from mclstm.series_from_config import read_parts, read_series
from mclstm.training.checkpoint import load
from support.many_brooks import LAYOUTS, SITES, brooks, config, written

Done = tuple[Run, Evaluation]


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ["MCLSTM_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("brooks"), "zarr")


@pytest.fixture(scope="module", params=["mclstm", "lstm", "members"])
def both(request: pytest.FixtureRequest, data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Done]:
    """The same training with all sites in memory and in parts, each evaluated."""
    done = []
    for in_memory in (True, False):
        raw = config(data, in_memory=in_memory, **({"members": 2} if request.param == "members" else {}))
        raw["model"]["name"] = "lstm" if request.param == "lstm" else "mclstm"
        run = train(check_config(raw), tmp_path_factory.mktemp("runs"), quiet=True)
        done.append((run, evaluate(run, figures=False)))
    return done


def test_training_in_parts_gives_the_same_moments_and_weights(both: list[Done]) -> None:
    (whole, _), (parted, _) = both
    assert len(parted.parts) == -(-SITES // PART) == 3
    assert whole.moments == parted.moments
    for name in ("last", "best"):
        first, second = (load(run.folder.checkpoints / f"{name}.safetensors")[0] for run in (whole, parted))
        assert first.keys() == second.keys()
        assert all(first[key].equal(second[key]) for key in first)


def test_evaluation_in_parts_gives_the_same_tables_and_predictions(both: list[Done]) -> None:
    (_, whole), (_, parted) = both
    for name in ("metrics.csv", "mass_balance.csv", "ensemble.csv"):
        files = [result.folder / name for result in (whole, parted)]
        texts = [file.read_text() if file.is_file() else None for file in files]
        assert texts[0] == texts[1], name
    stores = ["storage", "outflow"]  # kept as the float32 that they were computed in
    expected = whole.predictions.assign(
        {name: whole.predictions[name].astype(np.float32) for name in stores if name in whole.predictions}
    )
    xr.testing.assert_identical(expected, parted.predictions.load())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_reads_the_same_in_parts(layout: str, tmp_path: Path) -> None:
    sites = SITES if layout in ("zarr", "netcdf") else PART + 2  # a file for each takes time
    path = written(tmp_path, layout, sites)
    raw = config(path, in_memory=False)
    if layout == "folder":
        raw["data"]["attributes"] = str(path / "attributes" / "sites.csv")
    settings = check_config(raw)
    parts = read_parts(settings, require_target=True)
    together = read_series(settings, require_target=True)
    joined = xr.concat(list(parts), "site", data_vars="minimal", coords="minimal", compat="override",
                       join="exact", combine_attrs="override")  # fmt: skip
    for series in (joined, together):  # a source lists the first files of what was read
        for name in series:
            series[name].attrs.pop("source")
    xr.testing.assert_identical(joined, together)
    assert moments(parts) == moments(together)
    np.testing.assert_array_equal(together["flow"], brooks()["flow"][:sites])


def test_a_run_in_parts_is_resumed_and_refuses_changed_data(tmp_path: Path) -> None:
    path = written(tmp_path, "zarr")
    run = train(check_config(config(path, in_memory=False, updates=4)), tmp_path, quiet=True)
    again = resume(run.path, quiet=True)
    assert json.loads(run.folder.manifest.read_text())["sites"] == SITES
    with pytest.raises(ConfigError, match="all sites in memory"):
        _ = again.tensors
    table = brooks()
    table["rain"][129, 3] = 77.0
    table.to_zarr(path, mode="w", zarr_format=2, consolidated=False)
    with pytest.raises(DataError, match="changed since this run began"):
        load_run(run.path)


def test_checks_of_data_run_in_parts(tmp_path: Path) -> None:
    table = brooks()
    table["rain"][100, 50] = -3.0
    table.to_zarr(tmp_path / "brooks.zarr", zarr_format=2, consolidated=False)
    settings = check_config(config(tmp_path / "brooks.zarr", in_memory=False))
    with pytest.raises(DataError, match=r"site b100, column rain, from 2001-02-20: 1 values are negative"):
        read_parts(settings, require_target=True)


def test_check_reports_the_same_in_parts(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reports = []
    for in_memory in (True, False):
        file = tmp_path / f"{in_memory}.yaml"
        file.write_text(yaml.safe_dump(config(data, in_memory=in_memory)))
        assert main(["check", str(file), "--json"]) == 0
        reports.append(json.loads(capsys.readouterr().out))
    whole, parts = reports
    assert parts["sites"] == SITES
    for report in reports:
        del report["request"]["sites"]
    by_place = [sorted(map(str, report.pop("findings"))) for report in reports]
    assert by_place[0] == by_place[1]
    assert whole == parts


@pytest.mark.parametrize(
    ("section", "value"),
    [("evaluation", {"against": ["climatology"]}), ("sequences", {"each": "day"})],
)
def test_what_needs_all_sites_is_refused(section: str, value: dict[str, object], data: Path) -> None:
    raw = config(data, in_memory=False) | {section: value}
    if section == "sequences":
        raw["training"] = {"updates": 2}
    with pytest.raises(ConfigError, match="needs all sites in memory"):
        pipeline.train(check_config(raw), data.parent, quiet=True)


def test_a_layout_that_is_read_as_a_whole_is_refused(tmp_path: Path) -> None:
    (tmp_path / "brooks.csv").write_text("date,rain,temperature,flow\n2001-01-01,1,2,3\n")
    settings = check_config(config(tmp_path / "brooks.csv", in_memory=False))
    with pytest.raises(ConfigError, match="the layout csv is read as a whole"):
        read_parts(settings, require_target=True)


def test_data_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.zarr does not exist. Correct the path"):
        read_parts(check_config(config(tmp_path / "absent.zarr", in_memory=False)), require_target=True)


def test_a_full_disk_is_named(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MCLSTM_CACHE", str(tmp_path / "file"))
    with pytest.raises(StorageError, match=r"Cannot keep the data in parts in .*MCLSTM_CACHE"):
        read_parts(check_config(config(data, in_memory=False)), require_target=True)
