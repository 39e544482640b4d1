"""A checkpoint is one safetensors file: tensors by name, and a JSON dictionary in its header.

The format: 8 bytes of length, a JSON header, the data. Nothing in a file is ever executed, and nothing in its
header is trusted: length, syntax, names, types, shapes and offsets are checked, and compared with what the
model needs, before a tensor is read or allocated. A digest over the dictionary and every tensor detects
damage that the format alone cannot.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load as tensors_from_bytes
from safetensors.torch import save as bytes_from_tensors
from torch import Tensor

from mclstm.errors import CheckpointError
from mclstm.nn.learned_start import current_name, without_logarithm
from mclstm.training.atomic import write_bytes_atomic
from mclstm.training.journal import json_object

__all__ = ["load", "model_hash", "save"]

FORMAT = 1
RESTORE = "Copy the file again, or use another checkpoint of the run."
OTHER = "Use the config the checkpoint was made with, or start a new run."
LARGEST_HEADER = 8 << 20  # bytes; the header of a model with 10,000 tensors needs about one
MOST_DIMENSIONS = 64  # torch's own limit; also keeps the product of a hostile shape short
DTYPES = {
    "BOOL": torch.bool, "U8": torch.uint8,
    "I8": torch.int8, "I16": torch.int16, "I32": torch.int32, "I64": torch.int64,
    "BF16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32, "F64": torch.float64,
}  # fmt: skip
TypeAndShape = tuple[torch.dtype, tuple[int, ...]]


class Label(NamedTuple):
    """The part of the header that mclstm wrote; `text` is the metadata as it was written."""

    metadata: dict[str, Any]
    text: str
    sha256: str


class HeaderError(Exception):
    """What is wrong with a header, without the name of the file, which only `read_header` knows."""


def save(path: str | Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, Any]) -> None:
    """Write a checkpoint so that at every instant the file is the old one or the new one.

    tensors: weights, optimiser moments, random states, by names such as `weights.gate.bias`, any shape.
    metadata: anything JSON can hold; under the key `model_hash` the hash of the model, see `model_hash`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Path(folder, "last.safetensors"), {"weights.w": torch.ones(2)}, {"update": 7})
    ...     load(Path(folder, "last.safetensors"))
    ({'weights.w': tensor([1., 1.])}, {'update': 7})
    """
    # Copies: safetensors refuses tensors that share memory, and tied weights do.
    plain = {name: t.detach().to("cpu", copy=True).contiguous() for name, t in tensors.items()}
    for name, tensor in plain.items():
        if tensor.dtype not in DTYPES.values():
            raise CheckpointError(f"{path}: cannot store {name!r} of type {tensor.dtype}. Convert it first.")
    text = json.dumps(metadata, sort_keys=True)
    label = {"format": FORMAT, "metadata": text, "sha256": digest(text, plain)}
    # One entry only: safetensors writes several in random order, and equal states must make equal files.
    write_bytes_atomic(path, bytes_from_tensors(plain, metadata={"mclstm": json.dumps(label)}))


def load(
    path: str | Path, *, expected: Mapping[str, Tensor] | None = None, model: str | None = None
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read a checkpoint, or raise CheckpointError naming the file, what is wrong with it and what to do.

    expected: tensors whose names, types and shapes the file must have. Tensors of other groups (the part
    before the first dot) may be there too: a caller that expects `weights.*` need not know the optimiser.
    model: the hash of the model the state must belong to. The result is (tensors, metadata) as saved.
    """
    path = Path(path)
    try:
        if path.exists() and not path.is_file():
            raise OSError(f"it is not a file but a {'folder' if path.is_dir() else 'device or pipe'}")
        # Opened once: a training that saves meanwhile replaces the name, not this file.
        with path.open("rb") as file:
            stored, strings = read_header(path, file)
            label = read_label(path, strings)
            if model is not None and label.metadata.get("model_hash") != model:
                raise CheckpointError(f"{path} holds the state of another model. {OTHER}")
            compare(path, {current_name(name): kind for name, kind in stored.items()}, expected or {})
            return without_logarithm(read_tensors(path, file, label)), label.metadata
    except OSError as error:
        raise CheckpointError(
            f"Cannot read {path}: {error.strerror or error}. Check the path and its permissions."
        ) from error


def model_hash(description: Mapping[str, Any]) -> str:
    """The SHA-256 of a model's description as JSON with sorted keys.

    >>> model_hash({"name": "mclstm", "size": 8}) == model_hash({"size": 8, "name": "mclstm"})
    True
    """
    return hashlib.sha256(json.dumps(description, sort_keys=True, allow_nan=False).encode()).hexdigest()


def read_header(path: Path, file: BinaryIO) -> tuple[dict[str, TypeAndShape], dict[str, str]]:
    """Read and check a header: the type and shape of every tensor by name, and the metadata strings."""
    try:
        size = os.fstat(file.fileno()).st_size
        fields = header_fields(file, size)
        metadata = fields.pop("__metadata__", {})
        if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
            raise HeaderError("its metadata is not a list of names and strings")
        tensors = {name: type_and_shape(name, field) for name, field in fields.items()}
        check_offsets([field["data_offsets"] for field in fields.values()], size - file.tell())
    except HeaderError as problem:
        raise CheckpointError(f"{path} is not a whole safetensors file: {problem}. {RESTORE}") from problem
    return tensors, metadata


def header_fields(file: BinaryIO, size: int) -> dict[str, Any]:
    length = int.from_bytes(file.read(8), "little")
    if size < 10:
        raise HeaderError(f"it has {size} bytes, too few for a header")
    if length > LARGEST_HEADER:
        raise HeaderError(f"it announces a header of {length} bytes, the limit is {LARGEST_HEADER}")
    if length > size - 8:
        raise HeaderError(f"it announces a header of {length} bytes, but ends after {size - 8}")
    try:
        fields = json.loads(file.read(length).decode(), object_pairs_hook=without_doubles)
    except (ValueError, RecursionError) as error:
        raise HeaderError("its header is not JSON") from error
    if not isinstance(fields, dict):
        raise HeaderError("its header is not a JSON object")
    return fields


def without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise HeaderError("a name occurs twice in its header")
    return fields


def type_and_shape(name: str, field: Any) -> TypeAndShape:
    short = repr(name[:60])
    if not isinstance(field, dict) or set(field) != {"dtype", "shape", "data_offsets"}:
        raise HeaderError(f"the entry of {short} needs dtype, shape and data_offsets")
    dtype = DTYPES.get(field["dtype"]) if isinstance(field["dtype"], str) else None
    if dtype is None:
        raise HeaderError(f"the type {str(field['dtype'])[:20]!r} of {short} is unknown")
    shape, offsets = field["shape"], field["data_offsets"]
    if not natural_numbers(shape) or len(shape) > MOST_DIMENSIONS:
        raise HeaderError(f"the shape of {short} is not a short list of natural numbers")
    if not natural_numbers(offsets) or len(offsets) != 2:
        raise HeaderError(f"the offsets of {short} are not two natural numbers")
    if prod(shape) * dtype.itemsize != offsets[1] - offsets[0]:
        raise HeaderError(f"the shape of {short} does not fit the bytes it claims")
    return dtype, tuple(shape)


def natural_numbers(values: Any) -> bool:
    # bool is an int in Python, but true is no size.
    return isinstance(values, list) and all(type(v) is int and 0 <= v < 2**63 for v in values)


def check_offsets(spans: list[list[int]], size: int) -> None:
    end = 0
    for first, last in sorted(spans):
        if first != end:
            raise HeaderError("its tensors overlap or leave holes")
        end = last
    if end != size:
        raise HeaderError(f"its tensors need {end} bytes, but {size} follow the header")


def read_label(path: Path, strings: Mapping[str, str]) -> Label:
    if "mclstm" not in strings:
        raise CheckpointError(
            f"{path} is a safetensors file, but not a checkpoint of mclstm. "
            "Give a file from the checkpoints folder of a run."
        )
    label = require_object(path, strings["mclstm"])
    if label.get("format") != FORMAT:
        raise CheckpointError(
            f"{path} has checkpoint format {str(label.get('format'))[:20]!r}, this version reads {FORMAT}. "
            "Use the version of mclstm that wrote it, or a newer one."
        )
    text = str(label.get("metadata"))
    return Label(require_object(path, text), text, str(label.get("sha256")))


def require_object(path: Path, text: str) -> dict[str, Any]:
    value = json_object(text)
    if value is None:
        raise CheckpointError(f"{path} is damaged: its metadata is not a JSON object. {RESTORE}")
    return value


def compare(path: Path, stored: Mapping[str, TypeAndShape], expected: Mapping[str, Tensor]) -> None:
    groups = {name.split(".")[0] for name in expected}
    unknown = sorted(n for n in stored if n.split(".")[0] in groups and n not in expected)
    missing = sorted(set(expected) - set(stored))
    problems = [f"has no {name!r}" for name in missing] + [f"has {name!r} as well" for name in unknown]
    for name in expected.keys() & stored.keys():
        there, needed = stored[name], (expected[name].dtype, tuple(expected[name].shape))
        if there != needed:
            problems.append(f"has {name!r} as {there[0]} {there[1]} instead of {needed[0]} {needed[1]}")
    if problems:
        more = f" ({len(problems) - 1} more differences)" if len(problems) > 1 else ""
        raise CheckpointError(f"{path} does not fit the model: it {problems[0]}{more}. {OTHER}")


def read_tensors(path: Path, file: BinaryIO, label: Label) -> dict[str, Tensor]:
    file.seek(0)
    try:
        tensors = tensors_from_bytes(file.read())
    except SafetensorError as error:
        raise CheckpointError(f"{path} is damaged: {str(error)[:200]}. {RESTORE}") from error
    if digest(label.text, tensors) != label.sha256:
        raise CheckpointError(f"{path} is damaged: its content does not match its digest. {RESTORE}")
    return tensors


def digest(text: str, tensors: Mapping[str, Tensor]) -> str:
    total = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        total.update(json.dumps([name, str(tensor.dtype), list(tensor.shape)]).encode())
        total.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()
