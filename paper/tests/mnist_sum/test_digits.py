"""Reading MNIST: the real files where they are, damaged and foreign ones anywhere."""

import gzip

import pytest
import torch

from mclstm.errors import DataError
from mclstm_paper.mnist_sum import digits as mnist
from mclstm_paper.mnist_sum.digits import FILES, SPLITS, find_mnist, normalised, read_idx, read_mnist

FOLDER = find_mnist()


@pytest.mark.skipif(FOLDER is None, reason="MNIST is not in $MCLSTM_DATA/mnist")
def test_real_files():
    digits = read_mnist(FOLDER)
    sizes = {split: part.images.shape[0] for split, part in digits.items()}
    assert sizes == {"train": 55_000, "validation": 5_000, "test": 10_000}
    assert digits["train"].labels[:5].tolist() == [5, 0, 4, 1, 9]
    assert digits["test"].labels[:5].tolist() == [7, 2, 1, 0, 4]
    images = torch.cat([digits["train"].images, digits["validation"].images]).double() / 255
    assert images.mean().item() == pytest.approx(0.13066, abs=1e-5)
    assert images.std().item() == pytest.approx(0.30811, abs=1e-5)
    small = normalised(digits["test"].images[:100])
    torch.testing.assert_close(small, (digits["test"].images[:100] / 255 - 0.1307) / 0.3081)


def idx(path, content):
    path.write_bytes(gzip.compress(content))
    return path


def test_splits_share_no_image(tmp_path, monkeypatch):
    """By the name of its file and its place there, every image is in one split at most, and all are used."""
    used = [(file, at) for file, part in SPLITS.values() for at in range(60_000)[part]]
    assert len(used) == len(set(used)) == 70_000
    # And the splits are what is read: files of numbered images in the place of MNIST's.
    sizes = {"train": 60, "t10k": 10}
    for file, count in sizes.items():
        numbers = bytes(range(count))
        idx(tmp_path / f"{file}-images-idx3-ubyte.gz", header(3, count, 1, 1) + numbers)
        idx(tmp_path / f"{file}-labels-idx1-ubyte.gz", header(1, count) + numbers)
    monkeypatch.setattr(mnist, "is_mnist", lambda content, digest: True)
    for name, (file, part) in SPLITS.items():
        smaller = slice(part.start // 1_000, part.stop // 1_000)
        monkeypatch.setitem(SPLITS, name, (file, smaller))
    pixels = {name: set(part.images.flatten().tolist()) for name, part in read_mnist(tmp_path).items()}
    assert pixels == {"train": set(range(55)), "validation": set(range(55, 60)), "test": set(range(10))}


def header(dims, *sizes):
    return bytes([0, 0, 8, dims]) + b"".join(size.to_bytes(4, "big") for size in sizes)


def test_idx_shapes(tmp_path):
    matrix = idx(tmp_path / "m.gz", b"\0\0\x08\x02" + b"\0\0\0\x02" + b"\0\0\0\x03" + bytes(range(6)))
    assert read_idx(matrix).tolist() == [[0, 1, 2], [3, 4, 5]]
    vector = idx(tmp_path / "v.gz", b"\0\0\x08\x01" + b"\0\0\0\x02" + b"\x07\x08")
    assert read_idx(vector).tolist() == [7, 8]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0\0\x08",
        b"\0\0\x08\x01\0\0\0\x02\x07",
        b"\0\0\x0d\x01\0\0\0\x01\x07",
        b"\0\0\x08\x09\0\0\0\x01",
    ],
)
def test_other_files_are_refused(tmp_path, content):
    with pytest.raises(DataError, match="not an IDX file"):
        read_idx(idx(tmp_path / "x.gz", content))


def test_damaged_files_are_refused(tmp_path):
    whole = gzip.compress(bytes(1000))
    for name, content in {
        "cut.gz": whole[:-12],
        "plain.gz": b"hello",
        "flipped.gz": whole[:12] + b"?" * 9,
    }.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match="cannot be read as a gzip file"):
            read_idx(tmp_path / name)
    with pytest.raises(DataError, match="SHA-256"):
        read_idx(idx(tmp_path / "other.gz", b"\0\0\x08\x01\0\0\0\x01\x07"), FILES["t10k-labels-idx1-ubyte"])


def test_a_file_that_unpacks_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(mnist, "LARGEST", 1000)
    read_idx(idx(tmp_path / "x.gz", header(1, 992) + bytes(992)))
    with pytest.raises(DataError, match="unpacks to more than 1000 bytes"):
        read_idx(idx(tmp_path / "x.gz", header(1, 993) + bytes(993)))


def test_absent_files_say_where_to_put_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MCLSTM_DATA", str(tmp_path))
    assert find_mnist() is None
    with pytest.raises(DataError, match="MCLSTM_DATA"):
        read_mnist()
    with pytest.raises(DataError, match="cannot be read"):
        read_mnist(tmp_path)


def test_environment_comes_first(tmp_path, monkeypatch):
    (tmp_path / "mnist").mkdir()
    for name in FILES:
        (tmp_path / "mnist" / f"{name}.gz").touch()
    monkeypatch.setenv("MCLSTM_DATA", str(tmp_path))
    assert find_mnist() == tmp_path / "mnist"
