"""Files of a run are replaced whole: old or new, readable by the group, without leftovers."""

import os
from pathlib import Path

import pytest

from mclstm.errors import StorageError
from mclstm.training.atomic import new_folder, write_bytes_atomic, write_text_atomic


def test_text_is_written_as_given(tmp_path: Path) -> None:
    write_text_atomic(tmp_path / "config.yaml", "größe: 1\r\n")
    assert (tmp_path / "config.yaml").read_bytes() == "größe: 1\r\n".encode()


def test_the_permissions_are_those_of_any_new_file(tmp_path: Path) -> None:
    """Temporary files often are private to their owner; the results of a shared run must not be."""
    (tmp_path / "plain").write_bytes(b"")
    write_bytes_atomic(tmp_path / "atomic", b"")
    assert (tmp_path / "atomic").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_leftovers_of_killed_writers_go(tmp_path: Path) -> None:
    for name in (".last.1234abcd.tmp", ".lastly.1234abcd.tmp", ".last.keep", "last.tmp"):
        (tmp_path / name).write_bytes(b"half")
    write_bytes_atomic(tmp_path / "last", b"whole")
    names = {entry.name for entry in tmp_path.iterdir()}
    assert names == {"last", ".lastly.1234abcd.tmp", ".last.keep", "last.tmp"}


def test_a_reader_keeps_the_file_it_opened(tmp_path: Path) -> None:
    path = tmp_path / "last"
    write_bytes_atomic(path, b"old")
    with path.open("rb") as file:
        write_bytes_atomic(path, b"new")
        assert file.read() == b"old"
    assert path.read_bytes() == b"new"


def test_a_second_writer_makes_the_first_fail_loudly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, sync = tmp_path / "last", os.fsync

    def interfere(descriptor: int) -> None:
        monkeypatch.setattr("os.fsync", sync)
        write_bytes_atomic(path, b"second")
        sync(descriptor)

    monkeypatch.setattr("os.fsync", interfere)
    with pytest.raises(StorageError, match="Cannot write"):
        write_bytes_atomic(path, b"first")
    assert path.read_bytes() == b"second"
    assert [entry.name for entry in tmp_path.iterdir()] == ["last"]


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "last").mkdir()
    with pytest.raises(StorageError, match=r"Is a directory|Directory not empty"):
        write_bytes_atomic(tmp_path / "last", b"")
    assert [entry.name for entry in tmp_path.iterdir()] == ["last"]


def test_a_folder_is_replaced_only_when_the_new_one_is_whole(tmp_path: Path) -> None:
    place = tmp_path / "predictions.zarr"
    for text in ("first", "second"):
        with new_folder(place, replace=True) as folder:
            (folder / "values").write_text(text)
            assert not place.exists() or (place / "values").read_text() == "first"
    with pytest.raises(ZeroDivisionError), new_folder(place, replace=True) as folder:
        (folder / "values").write_text(str(1 // 0))
    assert (place / "values").read_text() == "second"
    assert [entry.name for entry in tmp_path.iterdir()] == [place.name]


def test_a_folder_comes_back_where_the_new_one_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, rename = tmp_path / "predictions.zarr", Path.replace

    def only_aside(self: Path, target: Path) -> Path:
        if target == place and self.suffix == ".tmp":
            raise OSError("the disk is gone")
        return rename(self, target)

    with new_folder(place) as folder:
        (folder / "values").write_text("first")
    monkeypatch.setattr(Path, "replace", only_aside)
    with pytest.raises(StorageError, match="the disk is gone"), new_folder(place, replace=True) as folder:
        (folder / "values").write_text("second")
    assert (place / "values").read_text() == "first"
    assert [entry.name for entry in tmp_path.iterdir()] == [place.name]


def test_a_writer_puts_back_what_a_killed_one_set_aside(tmp_path: Path) -> None:
    place, aside = tmp_path / "predictions.zarr", tmp_path / ".predictions.zarr.1234abcd.old"
    aside.mkdir()
    (aside / "values").write_text("first")
    during = []

    def fail(folder: Path) -> None:
        during.append((place / "values").read_text())
        raise StorageError(f"no data for {folder}")

    with pytest.raises(StorageError, match="no data"), new_folder(place, replace=True) as folder:
        fail(folder)
    assert during == ["first"]
    assert (place / "values").read_text() == "first"
    assert [entry.name for entry in tmp_path.iterdir()] == [place.name]
