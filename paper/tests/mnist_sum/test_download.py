"""MNIST from a server: a real one on this machine, with good, foreign, damaged and missing files."""

import functools
import gzip
import hashlib
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mclstm.errors import DataError
from mclstm_paper.mnist_sum import download
from mclstm_paper.mnist_sum.download import download_mnist

CONTENT = {"images": b"\0\0\x08\x01\0\0\0\x01\x07", "labels": b"\0\0\x08\x01\0\0\0\x01\x05"}


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, str]]:
    """A folder and the address it is served at; FILES names two small files."""
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in CONTENT.items()}
    monkeypatch.setattr(download, "FILES", sums)
    folder = tmp_path / "served"
    folder.mkdir()
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def put(folder: Path, **contents: bytes) -> None:
    for name, content in contents.items():
        (folder / f"{name}.gz").write_bytes(gzip.compress(content))


def test_every_file_is_fetched_once(served: tuple[Path, str], tmp_path: Path) -> None:
    folder, address = served
    put(folder, **CONTENT)
    home = tmp_path / "data" / "mnist"
    assert [path.name for path in download_mnist(home, [address])] == ["images.gz", "labels.gz"]
    assert gzip.decompress((home / "labels.gz").read_bytes()) == CONTENT["labels"]
    assert download_mnist(home, ["http://127.0.0.1:1"]) == []  # nothing lacks, nobody is asked


def test_the_next_mirror_is_asked(served: tuple[Path, str], tmp_path: Path) -> None:
    folder, address = served
    put(folder, **CONTENT)
    assert len(download_mnist(tmp_path / "mnist", [f"{address}/nowhere", address])) == 2


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        (gzip.compress(b"another", mtime=0), "another file of that name"),
        (b"no gzip", "gzip"),
        (None, "(?i)not found"),
    ],
)
def test_nothing_is_kept_that_is_not_mnist(
    served: tuple[Path, str], tmp_path: Path, labels: bytes | None, reason: str
) -> None:
    folder, address = served
    put(folder, images=CONTENT["images"])
    if labels is not None:
        (folder / "labels.gz").write_bytes(labels)
    with pytest.raises(DataError, match=reason):
        download_mnist(tmp_path / "mnist", [address])
    assert [path.name for path in (tmp_path / "mnist").iterdir()] == ["images.gz"]


def test_a_file_without_end_is_refused(
    served: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, address = served
    put(folder, **CONTENT)
    monkeypatch.setattr(download, "LARGEST", 10)
    with pytest.raises(DataError, match="larger than 10 bytes"):
        download_mnist(tmp_path / "mnist", [address])
