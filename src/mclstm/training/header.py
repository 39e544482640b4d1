"""The header of a safetensors file, checked before any tensor is read or allocated.

The format: 8 bytes of length, a JSON header, the data. Everything the header says is distrusted: its length,
its syntax, double names, types, shapes, and offsets that leave holes, overlap or point outside the file.
"""

import json
import os
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import torch

from mclstm.errors import CheckpointError

__all__ = ["DTYPES", "Header", "read_header"]

LARGEST_HEADER = 8 << 20  # bytes; the header of a model with 10,000 tensors needs about one
MOST_DIMENSIONS = 64  # torch's own limit; also keeps the product of a hostile shape short
DTYPES = {
    "BOOL": torch.bool,
    "U8": torch.uint8,
    "I8": torch.int8,
    "I16": torch.int16,
    "I32": torch.int32,
    "I64": torch.int64,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F32": torch.float32,
    "F64": torch.float64,
}


class Header(NamedTuple):
    """What a file says it holds: (type, shape) by name, and the strings of its metadata."""

    tensors: dict[str, tuple[torch.dtype, tuple[int, ...]]]
    metadata: dict[str, str]


class Problem(Exception):
    """What is wrong, without the file's name, which only `read_header` knows."""


def read_header(path: Path, file: BinaryIO) -> Header:
    """Read and check the header of a safetensors file opened at its start, or raise CheckpointError."""
    try:
        size = os.fstat(file.fileno()).st_size
        fields = parse(header_bytes(file, size))
        metadata = checked_metadata(fields.pop("__metadata__", {}))
        tensors = {name: entry(name, field) for name, field in fields.items()}
        check_offsets([field["data_offsets"] for field in fields.values()], size - file.tell())
    except Problem as problem:
        raise CheckpointError(
            f"{path} is not a whole safetensors file: {problem}. "
            "Copy the file again, or use another checkpoint of the run."
        ) from problem
    return Header(tensors, metadata)


def header_bytes(file: BinaryIO, size: int) -> bytes:
    length = int.from_bytes(file.read(8), "little")
    if size < 10:
        raise Problem(f"it has {size} bytes, too few for a header")
    if length > LARGEST_HEADER:
        raise Problem(f"it announces a header of {length} bytes, the limit is {LARGEST_HEADER}")
    if length > size - 8:
        raise Problem(f"it announces a header of {length} bytes, but ends after {size - 8}")
    return file.read(length)


def parse(text: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(text.decode(), object_pairs_hook=without_doubles)
    except (ValueError, RecursionError) as error:
        raise Problem("its header is not JSON") from error
    if not isinstance(fields, dict):
        raise Problem("its header is not a JSON object")
    return fields


def without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise Problem("a name occurs twice in its header")
    return fields


def checked_metadata(metadata: Any) -> dict[str, str]:
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise Problem("its metadata is not a list of names and strings")
    return metadata


def entry(name: str, field: Any) -> tuple[torch.dtype, tuple[int, ...]]:
    short = repr(name[:60])
    if not isinstance(field, dict) or set(field) != {"dtype", "shape", "data_offsets"}:
        raise Problem(f"the entry of {short} needs dtype, shape and data_offsets")
    dtype = DTYPES.get(field["dtype"]) if isinstance(field["dtype"], str) else None
    if dtype is None:
        raise Problem(f"the type {str(field['dtype'])[:20]!r} of {short} is unknown")
    shape, offsets = field["shape"], field["data_offsets"]
    if not natural_numbers(shape) or len(shape) > MOST_DIMENSIONS:
        raise Problem(f"the shape of {short} is not a short list of natural numbers")
    if not natural_numbers(offsets) or len(offsets) != 2:
        raise Problem(f"the offsets of {short} are not two natural numbers")
    if prod(shape) * dtype.itemsize != offsets[1] - offsets[0]:
        raise Problem(f"the shape of {short} does not fit the bytes it claims")
    return dtype, tuple(shape)


def natural_numbers(values: Any) -> bool:
    # bool is an int in Python, but true is no size.
    return isinstance(values, list) and all(type(v) is int and 0 <= v < 2**63 for v in values)


def check_offsets(spans: list[list[int]], size: int) -> None:
    end = 0
    for first, last in sorted(spans):
        if first != end:
            raise Problem("its tensors overlap or leave holes")
        end = last
    if end != size:
        raise Problem(f"its tensors need {end} bytes, but {size} follow the header")
