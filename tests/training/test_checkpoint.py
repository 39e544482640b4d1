"""Checkpoints come back exactly or not at all: killed, truncated, flipped, without room, of another model."""

import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from mclstm.errors import CheckpointError, StorageError
from mclstm.training.checkpoint import load, model_hash, save

WEIGHTS = {"weights.gate": torch.randn(4, 3), "weights.bias": torch.zeros(3, dtype=torch.float64)}
STATE = WEIGHTS | {
    "optimiser.moment": torch.rand(4, 3).to(torch.bfloat16),
    "random.torch": torch.get_rng_state(),
    "position": torch.tensor(12),
    "nothing": torch.empty(0, 5),
    "mask": torch.tensor([True, False]),
}
METADATA = {"update": 12, "best": float("inf"), "rate": 0.1, "model_hash": model_hash({"name": "mclstm"})}
SAVE_LOOP = Path(__file__).with_name("save_loop.py")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    save(tmp_path / "last.safetensors", STATE, METADATA)
    return tmp_path / "last.safetensors"


def test_round_trip(path: Path) -> None:
    tensors, metadata = load(path)
    assert metadata == METADATA
    assert tensors.keys() == STATE.keys()
    assert all(torch.equal(tensors[n], STATE[n]) and tensors[n].dtype == STATE[n].dtype for n in STATE)
    tensors["position"] += 1  # a loaded state is the caller's to change


def test_tied_and_transposed_tensors(tmp_path: Path) -> None:
    weight = torch.randn(3, 4)
    save(tmp_path / "x", {"a": weight, "b": weight, "c": weight.t(), "d": weight[1:]}, {})
    tensors, _ = load(tmp_path / "x")
    assert torch.equal(tensors["b"], weight)
    assert torch.equal(tensors["c"], weight.t())
    assert torch.equal(tensors["d"], weight[1:])


def test_saving_is_deterministic(path: Path, tmp_path: Path) -> None:
    save(tmp_path / "again", dict(reversed(STATE.items())), dict(reversed(METADATA.items())))
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_expected_groups(path: Path) -> None:
    load(path, expected=WEIGHTS)
    load(path, expected=STATE)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights.gate": torch.zeros(3, 4)}, r"'weights.gate' as torch.float32 \(4, 3\) instead of"),
        ({"weights.bias": torch.zeros(3)}, r"torch.float64 \(3,\) instead of torch.float32 \(3,\)"),
        ({"weights.new": torch.zeros(3)}, "has no 'weights.new'"),
        ({"weights.gate": None}, "has 'weights.gate' as well"),
        ({"weights.new": torch.zeros(3), "weights.gate": None}, r"\(1 more differences\)"),
    ],
)
def test_another_shape_of_model_is_refused(
    path: Path, change: dict[str, torch.Tensor | None], message: str
) -> None:
    expected = {name: tensor for name, tensor in (WEIGHTS | change).items() if tensor is not None}
    with pytest.raises(CheckpointError, match=message):
        load(path, expected=expected)


def test_another_model_is_refused(path: Path) -> None:
    load(path, model=METADATA["model_hash"])
    with pytest.raises(CheckpointError, match="state of another model"):
        load(path, model=model_hash({"name": "lstm"}))


def test_model_hash_sees_every_change() -> None:
    hashes = {model_hash(d) for d in ({}, {"a": 1}, {"a": 1.5}, {"a": "1"}, {"a": [1]}, {"b": 1})}
    assert len(hashes) == 6


def test_truncated_anywhere(path: Path) -> None:
    whole = path.read_bytes()
    cuts = random.Random(0).sample(range(len(whole)), 100)
    for cut in [0, 7, 8, len(whole) - 1, *cuts]:
        path.write_bytes(whole[:cut])
        with pytest.raises(CheckpointError, match="not a whole safetensors file"):
            load(path)


def test_every_flipped_bit_is_noticed(path: Path) -> None:
    """Header and data alike: whatever loads is exactly what was saved."""
    whole = path.read_bytes()
    header = int.from_bytes(whole[:8], "little") + 8
    places = [*range(8), *random.Random(1).sample(range(8, header), 250)]
    places += random.Random(2).sample(range(header, len(whole)), 100)
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=r"last\.safetensors"):
            load(path)


def run_save_loop(*arguments: object) -> str:
    command = [sys.executable, str(SAVE_LOOP), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_killed_at_thirty_random_instants(tmp_path: Path) -> None:
    loaded, last_round, names = run_save_loop("kill", tmp_path, 30, 5).strip().split(" ", 2)
    assert int(loaded) == 30
    assert int(last_round) > 15  # the savers did get to save
    assert names == "['last.safetensors']"  # the next save removes what the killed ones left


def test_no_room_left(tmp_path: Path) -> None:
    error, state, journal_error, journal_whole = run_save_loop("full", tmp_path).strip().split("\n")
    assert error.startswith(
        f"Cannot write {tmp_path}/last.safetensors: File too large. What was saved before"
    )
    assert state == "1 ['last.safetensors']"
    assert journal_error.startswith(
        f"Cannot write {tmp_path}/metrics.jsonl: File too large. The records before"
    )
    assert journal_whole == "True"


@pytest.mark.parametrize("missing", [True, False])
def test_a_folder_that_cannot_be_written(tmp_path: Path, missing: bool) -> None:
    """Root may write anywhere, so the folder is missing or a file here; the error takes the same way."""
    if not missing:
        (tmp_path / "run").write_text("kept")
    with pytest.raises(StorageError, match=r"Cannot write .*Make room or choose a folder"):
        save(tmp_path / "run" / "last.safetensors", STATE, METADATA)
    assert missing or (tmp_path / "run").read_text() == "kept"


def test_interrupted_before_the_rename(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(path, {}, {})
    assert load(path)[1] == METADATA
    assert [entry.name for entry in path.parent.iterdir()] == ["last.safetensors"]


def test_a_failed_sync_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(StorageError, match="Input/output error"):
        save(path, {}, {})
    assert load(path)[1] == METADATA


def test_a_type_that_cannot_be_stored(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"cannot store 'z' of type torch\.complex64"):
        save(tmp_path / "x", {"z": torch.zeros(2, dtype=torch.complex64)}, {})
