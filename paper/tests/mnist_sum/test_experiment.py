"""The whole experiment on a few digits, made up or real: command, jobs, resume, tables, refusals."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from mclstm.cli.main import main
from mclstm.errors import DataError
from mclstm.jobs.execution import run_jobs
from mclstm.jobs.job import Job
from mclstm_paper.mnist_sum import experiment
from mclstm_paper.mnist_sum import training as learning
from mclstm_paper.mnist_sum.digits import FILES, Digits, find_mnist
from mclstm_paper.mnist_sum.models import RECIPES, build
from mclstm_paper.mnist_sum.task import chunks, digit_sums, scored_steps
from mclstm_paper.mnist_sum.training import SUMS, scores
from mclstm_paper.seeds.networks import sources
from mnist_sum.tiny import TINY, made_up

needs_mnist = pytest.mark.skipif(find_mnist() is None, reason="MNIST is not in $MCLSTM_DATA/mnist")


@pytest.fixture
def digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks for MNIST gets made-up digits, few of them."""
    monkeypatch.setitem(experiment.SCALES, "quick", TINY)
    for module in (experiment, learning):
        monkeypatch.setattr(module, "every_digit", lambda folder: made_up())


@pytest.mark.parametrize(
    ("protocol", "real"),
    [("stated", False), ("published", False), pytest.param("stated", True, marks=needs_mnist)],
)
def test_the_command_makes_every_row(protocol, real, tmp_path, monkeypatch, capsys, request):
    monkeypatch.setitem(experiment.SCALES, "quick", TINY)
    if not real:
        request.getfixturevalue("digits")
    words = ["experiment", "mnist-sum", "--protocol", protocol, "--out", str(tmp_path), "--quiet"]
    assert main([*words, "--epochs", "1"]) == 0
    assert "seeds × updates" in capsys.readouterr().out
    folder = tmp_path / "mnist-sum" / f"quick-{protocol}"
    content = json.loads((folder / f"{protocol}.json").read_text())
    models = {name for name, recipe in RECIPES.items() if protocol in recipe.protocols}
    assert {row["model"] for row in content["rows"]} == models | {"constant", "exact"}
    rows = {(row["model"], row["setting"], row["metric"]): row for row in content["rows"]}
    assert {row["setting"] for row in content["rows"]} == {"length 1", "length 10", "length 100"}
    ours = "mclstm" if protocol == "published" else "mclstm-softplus"
    assert rows[ours, "length 10", "success"]["n"] == 2
    assert rows[ours, "length 10", "mse"]["trained"] == 2
    assert rows["reference", "length 10", "threshold"]["n"] == 10
    assert rows[ours, "length 10", "success"]["seeds"] == [0, 1]
    for length in (1, 10, 100):
        assert rows["exact", f"length {length}", "mse"]["value"] == 0.0
        assert rows["exact", f"length {length}", "success"]["value"] == 1.0
    # A digit's variance about the mean is about eight, and the published error is the mean over the steps.
    assert 4 < rows["constant", "length 1", "mse"]["value"] < 12
    assert content["claims"][0]["test"].startswith("binomial test")
    assert (folder / f"{protocol}-success.png").stat().st_size > 5_000
    seeds = {job.parent.name for job in (folder / "jobs" / "reference").glob("*/result.json")}
    assert seeds == {f"seed-{seed}" for seed in range(2_000, 2_010)}
    # Another model later, and fewer seeds: the references are kept, the threshold is the same.
    assert main([*words, "--epochs", "1", "--seeds", "1", "--models", "nau"]) == 0
    again = json.loads((folder / f"{protocol}.json").read_text())["rows"]
    later = {(row["model"], row["setting"], row["metric"]): row for row in again}
    assert later[ours, "length 10", "success"] == rows[ours, "length 10", "success"]
    assert later["nau", "length 10", "success"]["n"] == 1
    limits = [table["reference", "length 10", "threshold"]["value"] for table in (rows, later)]
    assert limits[0] == limits[1]


@pytest.mark.usefixtures("digits")
def test_seeds_of_another_machine_are_not_trained_again(tmp_path, monkeypatch):
    monkeypatch.setattr(experiment, "REFERENCES", 3)
    words = ["experiment", "mnist-sum", "--models", "nau", "--epochs", "1", "--quiet"]

    def rows(folder: Path, *more: str) -> dict[tuple[str, str, str], object]:
        results = ["--results", str(folder / "results"), "--out", str(folder / "out")]
        assert main([*words, *results, *more]) == 0
        rows = json.loads((folder / "results/mnist-sum/stated.json").read_text())["rows"]
        return {(row["model"], row["setting"], row["metric"]): row for row in rows}

    expected = rows(tmp_path / "one", "--seeds", "2")
    rows(tmp_path / "other", "--seeds", "1")
    shutil.rmtree(tmp_path / "other/out")
    assert rows(tmp_path / "other", "--seeds", "2", "--add") == expected
    trained = {path.parent.name for path in (tmp_path / "other/out").rglob("result.json")}
    assert trained == {"seed-1"}


@pytest.mark.usefixtures("digits")
def test_every_finished_job_is_kept_at_once(tmp_path, monkeypatch):
    """A command that is stopped, or a machine that is lost, leaves what it had."""
    monkeypatch.setattr(experiment, "REFERENCES", 3)

    def stopping(*words, **parameters):
        if parameters["seeds"] == [1]:
            raise DataError("This job fails. It was meant to.")
        return SUMS.function(*words, **parameters)

    monkeypatch.setattr(experiment, "SUMS", SUMS._replace(function=stopping))
    words = ["experiment", "mnist-sum", "--models", "nau", "--epochs", "1", "--seeds", "2", "--quiet"]
    assert main([*words, "--out", str(tmp_path)]) == 2
    rows = json.loads((tmp_path / "mnist-sum/quick-stated/stated.json").read_text())["rows"]
    (rate,) = [r for r in rows if (r["model"], r["setting"], r["metric"]) == ("nau", "length 10", "success")]
    assert rate["seeds"] == [0]


def test_digits_are_read_where_the_user_says(tmp_path, monkeypatch, capsys):
    """And a finished job does not care where that was."""
    read = []
    monkeypatch.setitem(experiment.SCALES, "quick", TINY)
    monkeypatch.setattr(experiment, "REFERENCES", 3)
    for module in (experiment, learning):
        monkeypatch.setattr(module, "every_digit", lambda folder: read.append(folder) or made_up())
    words = ["experiment", "mnist-sum", "--models", "nau", "--epochs", "1", "--seeds", "1", "--quiet"]
    words += ["--out", str(tmp_path / "out"), "--data"]
    assert main([*words, str(tmp_path / "no-such-folder")]) == 2
    assert "no-such-folder lacks some of MNIST's four files" in capsys.readouterr().err
    assert not read
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        for file in FILES:
            (tmp_path / name / f"{file}.gz").touch()
        assert main([*words, str(tmp_path / name)]) == 0
        assert set(read) == {tmp_path / name}
        assert (len(read) > 4) == (name == "one")  # all jobs; and later only for those that learn nothing
        read.clear()


@pytest.mark.usefixtures("digits")
def test_references_have_no_rate_to_choose(tmp_path):
    words = ["experiment", "mnist-sum", "--out", str(tmp_path), "--quiet", "--models", "nau"]
    assert main([*words, "--grid", "--epochs", "1", "--seeds", "1"]) == 0
    folder = tmp_path / "mnist-sum/quick-stated"
    record = json.loads((folder / "stated-rates.json").read_text())
    assert list(record["choice"]) == ["nau"]
    assert not list((folder / "grid").rglob("reference"))


@pytest.mark.usefixtures("digits")
def test_what_was_stopped_ends_as_what_was_not(tmp_path: Path):
    parameters = {
        "model": "nau", "protocol": "stated", "seeds": [0], "images": TINY.images, "batch_size": 4,
        "learning_rate": None, "updates": 4,
    }  # fmt: skip
    run_jobs([Job("one", SUMS, parameters, 2)], tmp_path / "twice", quiet=True)
    twice = run_jobs([Job("one", SUMS, parameters, 4)], tmp_path / "twice", quiet=True)
    once = run_jobs([Job("one", SUMS, parameters, 4)], tmp_path / "once", quiet=True)
    assert twice == once
    files = [tmp_path / name / "one" / "checkpoint.safetensors" for name in ("once", "twice")]
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("protocol", ["stated", "published"])
@pytest.mark.parametrize("model", ["mclstm", "nau", "lstm", "reference"])
def test_reading_every_image_once_gives_the_scores_of_whole_sequences(model, protocol):
    digits = Digits(torch.randint(256, (40, 28, 28), dtype=torch.uint8), torch.arange(40).remainder(10))
    network = build(model, protocol, sources([0, 1]))
    errors = scores(network, digits, "test", (1, 10, 40, 41), protocol)
    assert list(errors) == [1, 10, 40]
    for length, error in errors.items():
        images, a, y = digit_sums(digits, chunks("test", 40, length))
        with torch.no_grad():
            sums, _ = network(images, a)
        expected = (sums - y).double()[:, scored_steps(length, protocol)].square().mean(dim=(1, 2, 3))
        torch.testing.assert_close(error, expected, rtol=1e-4, atol=1e-6)


def test_what_cannot_be_asked_for_is_said(tmp_path, capsys):
    words = ["experiment", "mnist-sum", "--protocol", "published", "--out", str(tmp_path)]
    assert main([*words, "--models", "mclstm-tuned"]) == 2
    assert "mclstm-tuned has no published protocol" in capsys.readouterr().err
    assert main([*words, "--models", "gru"]) == 2
    assert "has no model 'gru'" in capsys.readouterr().err
    assert main(["experiment", "static-arithmetic", "--epochs", "2", "--out", str(tmp_path)]) == 2
    assert "has no use for --epochs" in capsys.readouterr().err
