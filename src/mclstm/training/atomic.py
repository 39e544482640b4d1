"""Files that are replaced whole: at every instant, power cuts included, a file is the old one or the new one.

A temporary file in the same folder is written and flushed to the disk, then renamed; the rename is flushed
before the call returns. The folder is the same because a rename across file systems is a copy.

A folder takes two renames. A process that is killed between them leaves the old folder beside its place; the
next writer puts it back.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mclstm.errors import StorageError

__all__ = [
    "make_folder", "new_folder", "require_new", "storage_errors", "write_bytes_atomic", "write_text_atomic",
]  # fmt: skip

UNFINISHED, ASIDE = ".tmp", ".old"  # ends of the names of what is being written, and of what it replaces
UNTOUCHED = "What was saved before is untouched. Make room or choose a folder you may write to"


@contextmanager
def storage_errors(task: str, remedy: str) -> Iterator[None]:
    """Turn an OSError within the context into a StorageError: "Cannot <task>: <reason>. <remedy>"."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"Cannot {task}: {error.strerror or error}. {remedy}") from error


def write_bytes_atomic(path: str | Path, content: bytes) -> None:
    """Replace the file at `path` by `content`, or leave it exactly as it was and raise StorageError.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_bytes_atomic(Path(folder, "state"), b"new")
    ...     [p.name for p in Path(folder).iterdir()]
    ['state']
    """
    path = Path(path)
    with storage_errors(f"write {path}", f"{UNTOUCHED}, then run the command again."):
        for entry in leftovers(path):
            entry.unlink(missing_ok=True)
        replace_file(path, content)
        fsync_folder(path.parent)


def write_text_atomic(path: str | Path, text: str) -> None:
    """Replace the file at `path` by `text` in UTF-8, newlines unchanged; see `write_bytes_atomic`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_text_atomic(Path(folder, "config.yaml"), "name: fulda")
    ...     Path(folder, "config.yaml").read_text()
    'name: fulda'
    """
    write_bytes_atomic(path, text.encode())


def make_folder(path: Path) -> None:
    """Make a folder and all above it, or raise StorageError; an existing folder stays as it is."""
    with storage_errors(f"make the folder {path}", "Choose another place, one you may write to."):
        path.mkdir(parents=True, exist_ok=True)


def require_new(path: Path) -> None:
    """Refuse a path at which there is something; an empty folder may be replaced."""
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise StorageError(f"{path} is there already. Remove it, or choose another place with --out.")


@contextmanager
def new_folder(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield a temporary folder to fill. It is renamed to `path` at the end, or removed if the block fails.

    replace: a folder may be at `path`. It stays until the new one is whole, and comes back if that fails.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as home:
    ...     with new_folder(Path(home, "model")) as folder:
    ...         write_text_atomic(folder / "README.md", "# Model")
    ...     [file.name for file in Path(home).rglob("*")]
    ['model', 'README.md']
    """
    if not replace:
        require_new(path)
    path = path.absolute()  # "." has no name of its own
    make_folder(path.parent)
    put_back(path)
    for entry in leftovers(path):
        shutil.rmtree(entry, ignore_errors=True)
    temporary = temporary_name(path)
    make_folder(temporary)
    try:
        yield temporary
        with storage_errors(f"make the folder {path}", "Choose another place with --out."):
            if replace and path.exists():
                path.replace(temporary_name(path, ASIDE))  # a full folder cannot be replaced in one step
            temporary.replace(path)
            fsync_folder(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        put_back(path)


def put_back(path: Path) -> None:
    """Give a folder that was set aside its place again, or remove it where a new one has the place."""
    for entry in leftovers(path, ASIDE):
        if path.exists():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.replace(path)


def fsync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    if os.name == "nt":
        return  # Windows cannot open a folder and makes renames durable by itself
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def temporary_name(path: Path, end: str = UNFINISHED) -> Path:
    """A name in the same folder; it is random, so that two writers never fill one file together."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}{end}")


def leftovers(path: Path, end: str = UNFINISHED) -> list[Path]:
    """What killed writers of this path left; a writer that still lives fails loudly at its rename."""
    start = f".{path.name}."
    entries = list(os.scandir(path.parent))
    return [Path(e.path) for e in entries if e.name.startswith(start) and e.name.endswith(end)]


def replace_file(path: Path, content: bytes) -> None:
    temporary = temporary_name(path)
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
