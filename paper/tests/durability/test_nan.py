"""Training that goes to NaN stops, says where, and keeps what is needed to see it again."""

import contextlib
from pathlib import Path
from typing import Any

import pytest
import torch

from mclstm import pipeline
from mclstm.cli.main import main
from mclstm.data.windows import Batch
from mclstm.errors import CheckpointError, TrainingError
from mclstm.run import load_run
from mclstm.training import checkpoint, journal
from mclstm.training.recorder import Recorder, repeat_failure
from mclstm.training.state import Progress
from mclstm.training.weight_average import Average
from mclstm_paper.durability.run_process import run_below
from support.small_run import brook, brook_config, trained

CELLS = {"name": "mclstm", "hidden_size": 3}
# the model, the weight that is poisoned, by what, and where the first bad number then lies
POISONS: dict[str, tuple[dict[str, Any], str, float, str]] = {
    "a gate": (CELLS, "weights.layer.gates.b_o", float("nan"), "site brook at 2001-"),
    "the loss": (
        {"name": "lstm", "hidden_size": 3}, "weights.linear.weight", 1e30, "the loss, which is infinite"),
    "a part in front": (
        CELLS | {"aux_memory": 2}, "weights.memory.lstm.bias_ih_l0", float("nan"), "what reaches the layer"),
}  # fmt: skip


def poisoned(run: Path, name: str, value: float) -> None:
    """Change one weight of the last checkpoint, and let the run go on for ten more updates."""
    path = run / "checkpoints/last.safetensors"
    tensors, about = checkpoint.load(path)
    tensors[name].view(-1)[0] = value
    about["progress"]["finished"] = False
    checkpoint.save(path, tensors, about)
    config = run / "config.yaml"
    config.write_text(config.read_text().replace("updates: 4\n", "updates: 14\n"))


@pytest.mark.parametrize("warmup_gradient", [True, False])
@pytest.mark.parametrize("name", POISONS)
def test_a_poisoned_weight(
    name: str, warmup_gradient: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, weight, value, place = POISONS[name]
    run = trained(tmp_path, model, updates=4, warmup_gradient=warmup_gradient)
    poisoned(run, weight, value)
    last = run / "checkpoints/last.safetensors"
    before = last.read_bytes()
    assert main(["resume", str(run), "--quiet"]) == 2
    said = capsys.readouterr().err
    assert f"Update 5 is not finite: the first bad number is in {place}" in said
    assert str(run / "nan.safetensors") in said
    assert len(said.strip().splitlines()) <= 5
    assert "Traceback" not in said
    assert last.read_bytes() == before
    assert journal.read(run / "metrics.jsonl")[-1]["update"] == 4
    check_repeats(run, said)


def check_repeats(run: Path, said: str) -> None:
    """The kept file alone, with a fresh model of the same config, fails in the same place."""
    loaded = load_run(run)
    step = repeat_failure(run / "nan.safetensors", loaded.model, loaded.model_hash)
    assert not step.finite
    tensors, about = checkpoint.load(run / "nan.safetensors")
    batch = Batch(*(tensors[f"batch.{name}"] for name in Batch._fields))
    assert step.first_bad(batch, pipeline.place_in(loaded.series)) in said
    assert about["update"] == 5


def test_an_absurd_rate_never_leaves_a_checkpoint_that_is_not_finite(tmp_path: Path) -> None:
    """Whether it fails or not: nothing is kept after an update that was not finite."""
    with contextlib.suppress(TrainingError):
        trained(tmp_path, updates=12, learning_rate=10.0, clip=None)
    run = run_below(tmp_path / "runs")
    assert run is not None
    tensors, _ = checkpoint.load(run / "checkpoints/last.safetensors")
    assert all(bool(torch.isfinite(value).all()) for value in tensors.values())


def test_other_files_are_not_repeated(tmp_path: Path) -> None:
    run = trained(tmp_path, updates=1)
    loaded = load_run(run)
    with pytest.raises(CheckpointError, match="holds no failed update"):
        repeat_failure(run / "checkpoints/last.safetensors", loaded.model, loaded.model_hash)


def test_a_score_that_is_undefined_is_never_the_best(tmp_path: Path) -> None:
    """A validation period without observations once must not forbid a best for ever."""
    model = torch.nn.Linear(1, 1)
    keep = Recorder(tmp_path, Average(model, 0.0), torch.optim.Adam(model.parameters()), "")
    (tmp_path / "checkpoints").mkdir()
    progress = keep.validated(Progress(), 0, float("nan"), peaks_from=0)
    assert (progress.best, progress.stale) == (None, 1)
    assert not keep.best.exists()
    progress = keep.validated(progress, 1, 0.5, peaks_from=0)
    assert (progress.best, progress.stale) == (0.5, 0)
    assert keep.best.exists()


def test_evaluation_uses_the_threads_of_the_run(tmp_path: Path) -> None:
    """Sums depend on the number of threads: a run evaluated later has the bits of one evaluated at once."""
    data = brook(tmp_path / "brook.csv")
    config = pipeline.Config.model_validate(brook_config(data, updates=1, threads=1))
    pipeline.train(config, tmp_path / "runs", quiet=True)
    torch.set_num_threads(2)
    run = run_below(tmp_path / "runs")
    assert run is not None
    pipeline.evaluate(run, figures=False)
    assert torch.get_num_threads() == 1
