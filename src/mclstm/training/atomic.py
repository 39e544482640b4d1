"""Writing a file so that at every instant, power cuts included, it is the old one or the new one.

The temporary file lies in the same folder, because a rename across file systems is a copy; it is on the disk
before it takes the name, and the name is on the disk before the call returns. No error is swallowed.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mclstm.errors import StorageError

__all__ = ["fsync_folder", "make_folder", "new_folder", "write_bytes_atomic", "write_text_atomic"]


def write_bytes_atomic(path: str | Path, content: bytes) -> None:
    """Replace the file at `path` by `content`, or leave it exactly as it was and raise StorageError.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_bytes_atomic(Path(folder, "state"), b"new")
    ...     [p.name for p in Path(folder).iterdir()]
    ['state']
    """
    path = Path(path)
    try:
        remove_leftovers(path)
        replace_file(path, content)
        fsync_folder(path.parent)
    except OSError as error:
        raise StorageError(
            f"Cannot write {path}: {error.strerror or error}. What was saved before is untouched. "
            "Make room or choose a folder you may write to, then run the command again."
        ) from error


def write_text_atomic(path: str | Path, text: str) -> None:
    """Replace the file at `path` by `text` in UTF-8 with newlines as given; see `write_bytes_atomic`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_text_atomic(Path(folder, "config.yaml"), "name: fulda")
    ...     Path(folder, "config.yaml").read_text()
    'name: fulda'
    """
    write_bytes_atomic(path, text.encode())


def make_folder(path: Path) -> None:
    """A folder and all above it, or a StorageError; one that is there stays as it is."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"Cannot make the folder {path}: {error.strerror or error}. "
            "Choose another place, one you may write to."
        ) from error


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to fill that becomes `path` all at once when the block ends well, and vanishes if it does not.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as home:
    ...     with new_folder(Path(home, "model")) as folder:
    ...         write_text_atomic(folder / "README.md", "# Model")
    ...     [file.name for file in Path(home).rglob("*")]
    ['model', 'README.md']
    """
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise StorageError(f"{path} is there already. Remove it, or choose another place with --out.")
    path = path.absolute()  # "." has no name of its own
    make_folder(path.parent)
    for entry in list(os.scandir(path.parent)):  # what a killed writer of this folder left
        if entry.name.startswith(f".{path.name}.") and entry.name.endswith(".tmp"):
            shutil.rmtree(entry.path, ignore_errors=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    make_folder(temporary)
    try:
        yield temporary
        try:
            temporary.replace(path)
            fsync_folder(path.parent)
        except OSError as error:
            raise StorageError(
                f"Cannot make the folder {path}: {error.strerror or error}. Choose another place with --out."
            ) from error
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def fsync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    if os.name == "nt":
        return  # Windows cannot open a folder and makes renames durable by itself
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_leftovers(path: Path) -> None:
    """Remove what killed writers of this file left; one that still lives then fails loudly at its rename."""
    for entry in list(os.scandir(path.parent)):
        if entry.name.startswith(f".{path.name}.") and entry.name.endswith(".tmp"):
            Path(entry.path).unlink(missing_ok=True)


def replace_file(path: Path, content: bytes) -> None:
    # A name of its own, so that two writers can never fill one file together.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
