"""The journal survives a crash at every byte and ends as if there had been none."""

import math
from pathlib import Path

import pytest

from mclstm.errors import CheckpointError, StorageError
from mclstm.training.journal import append, length, read, truncate

RECORDS = [{"update": n, "loss": 1 / (n + 1), "site": "Größe\n"} for n in range(4)]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.jsonl"
    for record in RECORDS:
        append(path, record)
    return path


def test_round_trip(journal: Path) -> None:
    assert read(journal) == RECORDS
    assert length(journal) == journal.stat().st_size


def test_no_file_is_an_empty_journal(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    truncate(path, 0)
    assert read(path) == []
    assert length(path) == 0
    assert not path.exists()


def test_torn_at_every_byte(journal: Path) -> None:
    whole = journal.read_bytes()
    for cut in range(len(whole) + 1):
        journal.write_bytes(whole[:cut])
        complete = whole[:cut].count(b"\n")
        assert read(journal) == RECORDS[:complete]
        for record in RECORDS[complete:]:
            append(journal, record)
        assert journal.read_bytes() == whole


def test_resuming_ends_identical(journal: Path, tmp_path: Path) -> None:
    """Killed a record and a half after the checkpoint, cut back, continued: the same bytes."""
    again = tmp_path / "again.jsonl"
    for record in RECORDS[:2]:
        remembered = append(again, record)
    append(again, RECORDS[2])
    again.write_bytes(again.read_bytes() + b'{"update": 3, "lo')
    truncate(again, remembered)
    for record in RECORDS[2:]:
        append(again, record)
    assert again.read_bytes() == journal.read_bytes()


@pytest.mark.parametrize("size", [3, 10**6])
def test_a_changed_journal_is_refused(journal: Path, size: int) -> None:
    with pytest.raises(CheckpointError, match=r"metrics\.jsonl has .* start a new run"):
        truncate(journal, size)


@pytest.mark.parametrize("line", [b"garbage", b"[1, 2]", b"\xff\xfe", b"[" * 99999, b""])
def test_a_damaged_line_is_named(journal: Path, line: bytes) -> None:
    lines = journal.read_bytes().split(b"\n")
    lines[2] = line
    journal.write_bytes(b"\n".join(lines))
    with pytest.raises(CheckpointError, match="line 3: not a JSON object"):
        read(journal)


def test_undefined_numbers_become_null(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    append(path, {"nse": math.nan, "sites": [math.inf, {"kge": -math.inf}], "mae": 0.5})
    assert read(path) == [{"nse": None, "sites": [None, {"kge": None}], "mae": 0.5}]


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"Cannot write .*metrics\.jsonl: No such file"):
        append(tmp_path / "missing" / "metrics.jsonl", {})


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(StorageError, match="Not a directory"):
        append(tmp_path / "run" / "metrics.jsonl", {})
