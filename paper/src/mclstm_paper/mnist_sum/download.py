"""MNIST from the internet: four files, each checked before it is saved."""

import io
import urllib.request
import zlib
from collections.abc import Sequence
from pathlib import Path

from mclstm.errors import DataError
from mclstm.training.atomic import make_folder, write_bytes_atomic
from mclstm_paper.mnist_sum.digits import FILES, is_mnist, unpacked

__all__ = ["MIRRORS", "download_mnist"]

MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist",
    "https://storage.googleapis.com/cvdf-datasets/mnist",
)
TIMEOUT = 30.0  # seconds without an answer
LARGEST = 20_000_000  # bytes; the largest file has 9.9 MB


def download_mnist(folder: Path, mirrors: Sequence[str] = MIRRORS) -> list[Path]:
    """Fetch the files of MNIST that a folder lacks, and return their paths; existing files are not touched.

    The SHA-256 of every file's content is compared with FILES before the file is saved.
    """
    make_folder(folder)
    fetched = []
    for name, digest in FILES.items():
        path = folder / f"{name}.gz"
        if not path.exists():
            write_bytes_atomic(path, first_good(path.name, digest, mirrors))
            fetched.append(path)
    return fetched


def first_good(name: str, digest: str, mirrors: Sequence[str]) -> bytes:
    """A file from the first mirror that has the right one; the error names what each mirror did."""
    failures = []
    for mirror in mirrors:
        try:
            content = fetch(f"{mirror}/{name}")
            if is_mnist(unpacked(io.BytesIO(content)), digest):
                return content
            failures.append(f"{mirror} has another file of that name")
        except (OSError, EOFError, ValueError, zlib.error) as error:
            failures.append(f"{mirror}: {getattr(error, 'reason', None) or error}")
    raise DataError(
        f"MNIST's {name} could not be fetched ({'; '.join(failures)}). Try again later, or put the four "
        "files into a folder mnist and name the folder above it in the environment variable MCLSTM_DATA."
    )


def fetch(address: str) -> bytes:
    """The content of an address, refused where it is larger than MNIST can be."""
    with urllib.request.urlopen(address, timeout=TIMEOUT) as answer:
        content: bytes = answer.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError(f"the file is larger than {LARGEST} bytes")
    return content
