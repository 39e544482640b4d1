"""Hostile, damaged and foreign safetensors files: one short message each, no crash, no large allocation."""

import json
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save as save_foreign

from mclstm.errors import CheckpointError
from mclstm.training.checkpoint import load, save

REMEDIES = ("Copy the file again", "Give a file from", "Check the path", "Use the ")


def raw(header: bytes, data: bytes = b"", length: int | None = None) -> bytes:
    return struct.pack("<Q", len(header) if length is None else length) + header + data


def made_of(header: Any, data: bytes = b"") -> bytes:
    return raw(json.dumps(header).encode(), data)


def tensor(first: int, last: int, shape: Any = None, dtype: Any = "U8") -> dict[str, Any]:
    return {
        "dtype": dtype,
        "shape": [last - first] if shape is None else shape,
        "data_offsets": [first, last],
    }


def labelled(label: Any) -> bytes:
    return made_of({"__metadata__": {"mclstm": label if isinstance(label, str) else json.dumps(label)}})


HOSTILE = {
    "overlapping tensors": made_of({"a": tensor(0, 8), "b": tensor(4, 12)}, bytes(12)),
    "two tensors in one place": made_of({"a": tensor(0, 8), "b": tensor(0, 8)}, bytes(8)),
    "a hole between tensors": made_of({"a": tensor(0, 4), "b": tensor(8, 12)}, bytes(12)),
    "negative offsets": made_of({"a": tensor(-8, 0)}, bytes(8)),
    "offsets backwards": made_of({"a": tensor(8, 0, [8])}, bytes(8)),
    "offsets beyond the end": made_of({"a": tensor(0, 2**40)}, bytes(8)),
    "offsets that overflow": made_of({"a": tensor(2**64 - 8, 2**64, [8])}, bytes(8)),
    "data after the last tensor": made_of({"a": tensor(0, 8)}, bytes(80)),
    "a header of 2**63 bytes": raw(b"{}", length=2**63),
    "a header of 100 MB": raw(b"{}", length=100_000_000),
    "a header longer than the file": raw(b"{}", length=3),
    "a huge shape": made_of({"a": tensor(0, 8, [2**62, 2**62])}, bytes(8)),
    "a shape that overflows to fit": made_of({"a": tensor(0, 8, [2**32, 2**32, 8])}, bytes(8)),
    "a shape of too many dimensions": made_of({"a": tensor(0, 1, [1] * 100_000)}, bytes(1)),
    "a negative shape": made_of({"a": tensor(0, 8, [-2, -4])}, bytes(8)),
    "a duplicate name": raw(
        b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},'
        b'"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
        bytes(1),
    ),
    "a million brackets": raw(b"[" * 1_000_000),
    "a number of 5000 digits": raw(b'{"a":' + b"9" * 5000 + b"}"),
    "a name with a terminal escape": made_of({"\x1b[31m\n\n\n\n\n\n": 1}),
}

DAMAGED = {
    "empty": b"",
    "seven bytes": bytes(7),
    "eight zeros": bytes(8),
    "a header that is no JSON": raw(b"not json at all"),
    "a header that is a list": made_of([1, 2, 3]),
    "a header that is null": made_of(None),
    "a header that is no text": raw(b'{"\xff\xfe": 1}'),
    "half a header": raw(b'{"a":{"dtype":"U8","sh'),
    "an unknown type": made_of({"a": tensor(0, 8, dtype="F99")}, bytes(8)),
    "a type that is a number": made_of({"a": tensor(0, 8, dtype=7)}, bytes(8)),
    "a type that is a list": made_of({"a": tensor(0, 8, dtype=["U8"])}, bytes(8)),
    "a shape of fractions": made_of({"a": tensor(0, 8, [8.0])}, bytes(8)),
    "a shape of booleans": made_of({"a": tensor(0, 1, [True])}, bytes(1)),
    "a shape that is text": made_of({"a": tensor(0, 8, "8")}, bytes(8)),
    "a shape that does not fit": made_of({"a": tensor(0, 8, [3], "F32")}, bytes(8)),
    "three offsets": made_of({"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1, 2]}}, bytes(1)),
    "no shape": made_of({"a": {"dtype": "U8", "data_offsets": [0, 1]}}, bytes(1)),
    "an entry that is text": made_of({"a": "tensor"}),
    "metadata that is a list": made_of({"__metadata__": ["mclstm"]}),
    "metadata with numbers": made_of({"__metadata__": {"mclstm": 1}}),
    "a label that is no JSON": labelled("{"),
    "a label that is a list": labelled([1]),
    "a label without metadata": labelled({"format": 1}),
    "metadata inside the label that is a list": labelled({"format": 1, "metadata": "[]", "sha256": ""}),
    "a wrong digest": labelled({"format": 1, "metadata": "{}", "sha256": "0" * 64}),
    "a digest that is a number": labelled({"format": 1, "metadata": "{}", "sha256": 0}),
}

FOREIGN = {
    "weights of another program": save_foreign({"w": np.ones(3)}, {"format": "pt"}),
    "a newer format": labelled({"format": 2, "metadata": "{}", "sha256": ""}),
    "a format that is text": labelled({"format": "\n" * 50}),
    "a zip archive, as torch.save writes": b"PK\x03\x04" + bytes(200),
    "a pickle": b"\x80\x04\x95" + bytes(200),
    "an HDF5 file": b"\x89HDF\r\n\x1a\n" + bytes(200),
    "a CSV file": b"date,rain,flow\n2000-01-01,1.0,0.5\n",
}


def refuse(path: Path) -> str:
    with pytest.raises(CheckpointError) as caught:
        load(path)
    message = str(caught.value)
    assert str(path) in message
    assert message.count("\n") < 5
    assert len(message) < 600
    assert "\x1b" not in message
    assert any(remedy in message for remedy in REMEDIES), message
    return message


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name: str, tmp_path: Path) -> None:
    (tmp_path / "x.safetensors").write_bytes(HOSTILE[name])
    assert "not a whole safetensors file" in refuse(tmp_path / "x.safetensors")


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged(name: str, tmp_path: Path) -> None:
    (tmp_path / "x.safetensors").write_bytes(DAMAGED[name])
    refuse(tmp_path / "x.safetensors")


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign(name: str, tmp_path: Path) -> None:
    (tmp_path / "x.safetensors").write_bytes(FOREIGN[name])
    refuse(tmp_path / "x.safetensors")


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert "No such file" in refuse(tmp_path / "missing")
    assert "a folder" in refuse(tmp_path)
    assert "pipe" in refuse(tmp_path / "pipe")
    refuse(tmp_path / "loop")


def test_a_digest_does_not_hide_swapped_tensors(tmp_path: Path) -> None:
    """Equal types and shapes under exchanged names: only the digest can tell."""
    path = tmp_path / "x.safetensors"
    save(path, {"a": torch.zeros(4), "b": torch.ones(4)}, {})
    path.write_bytes(path.read_bytes().replace(b'"a":{', b'"c":{').replace(b'"b":{', b'"a":{'))
    path.write_bytes(path.read_bytes().replace(b'"c":{', b'"b":{'))
    assert "does not match its digest" in refuse(path)
