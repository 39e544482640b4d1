"""A checkpoint is one safetensors file: tensors by name, and a JSON dictionary in its header.

Nothing in it is ever executed. A digest over the dictionary and every tensor tells damage from content, which
the format alone cannot; names, types and shapes are compared with what the model needs before data is read.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load as tensors_from_bytes
from safetensors.torch import save as bytes_from_tensors
from torch import Tensor

from mclstm.errors import CheckpointError
from mclstm.training.atomic import write_bytes_atomic
from mclstm.training.header import DTYPES, Header, read_header

__all__ = ["load", "model_hash", "save"]

FORMAT = 1
RESTORE = "Copy the file again, or use another checkpoint of the run."


class Label(NamedTuple):
    """What the header says besides the tensors; `text` is the metadata as it was written."""

    metadata: dict[str, Any]
    text: str
    sha256: str


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

    expected: tensors whose names, types and shapes the file must have. Names of another group (what stands
    before the first dot) may be there too: who expects `weights.*` need not know the optimiser.
    model: the hash of the model the state must belong to. The result is (tensors, metadata) as saved.
    """
    path = Path(path)
    try:
        # Opened once: a training that saves meanwhile replaces the name, not this file.
        with regular_file(path) as file:
            header = read_header(path, file)
            label = read_label(path, header)
            check_model(path, label.metadata, model)
            compare(path, header, expected or {})
            return read_tensors(path, file, label), label.metadata
    except OSError as error:
        raise CheckpointError(
            f"Cannot read {path}: {error.strerror or error}. Check the path and its permissions."
        ) from error


def model_hash(description: Mapping[str, Any]) -> str:
    """A fingerprint of what defines a model: SHA-256 of its description as JSON with sorted keys.

    >>> model_hash({"name": "mclstm", "size": 8}) == model_hash({"size": 8, "name": "mclstm"})
    True
    """
    return hashlib.sha256(json.dumps(description, sort_keys=True, allow_nan=False).encode()).hexdigest()


def regular_file(path: Path) -> BinaryIO:
    if path.exists() and not path.is_file():
        raise OSError(f"it is not a file but a {'folder' if path.is_dir() else 'device or pipe'}")
    return path.open("rb")


def read_label(path: Path, header: Header) -> Label:
    if "mclstm" not in header.metadata:
        raise CheckpointError(
            f"{path} is a safetensors file, but not a checkpoint of mclstm. "
            "Give a file from the checkpoints folder of a run."
        )
    label = json_object(path, header.metadata["mclstm"])
    if label.get("format") != FORMAT:
        raise CheckpointError(
            f"{path} has checkpoint format {str(label.get('format'))[:20]!r}, this version reads {FORMAT}. "
            "Use the version of mclstm that wrote it, or a newer one."
        )
    text = str(label.get("metadata"))
    return Label(json_object(path, text), text, str(label.get("sha256")))


def json_object(path: Path, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} is damaged: its metadata is not a JSON object. {RESTORE}")
    return value


def check_model(path: Path, metadata: Mapping[str, Any], model: str | None) -> None:
    if model is not None and metadata.get("model_hash") != model:
        raise CheckpointError(
            f"{path} holds the state of another model. "
            "Use the config the checkpoint was made with, or start a new run."
        )


def compare(path: Path, header: Header, expected: Mapping[str, Tensor]) -> None:
    groups = {name.split(".")[0] for name in expected}
    unknown = sorted(n for n in header.tensors if n.split(".")[0] in groups and n not in expected)
    missing = sorted(set(expected) - set(header.tensors))
    problems = [f"has no {name!r}" for name in missing] + [f"has {name!r} as well" for name in unknown]
    for name in expected.keys() & header.tensors.keys():
        found = header.tensors[name]
        wanted = (expected[name].dtype, tuple(expected[name].shape))
        if wanted != found:
            problems.append(f"has {name!r} as {found[0]} {found[1]} instead of {wanted[0]} {wanted[1]}")
    if problems:
        more = f" ({len(problems) - 1} more differences)" if len(problems) > 1 else ""
        raise CheckpointError(
            f"{path} does not fit the model: it {problems[0]}{more}. "
            "Use the config the checkpoint was made with, or start a new run."
        )


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
