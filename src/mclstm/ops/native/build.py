"""Builds a kernel as a library, once per instruction set, and loads the best one this processor can run.

setup.py runs this when the package is built; `python -m mclstm.ops.native.build` runs it by hand. It needs
only Python's standard library. A machine without a compiler still gets a working package: the reason goes to
the file FAILURE, and backend `torch` computes. MCLSTM_KERNEL in the environment chooses another library than
the best one, or none.
"""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import NamedTuple, NoReturn

__all__ = ["SOURCE", "VARIABLE", "Status", "build", "chosen", "library", "search", "status"]

HEADERS = Path(__file__).parent  # the paper's kernels include them too
SOURCE = HEADERS / "kernel.cpp"
FOLDER = SOURCE.parent  # of the built libraries
FAILURE = "build_failure.txt"
FLAGS = ("-std=c++17", "-O3", "-fno-math-errno", "-fPIC", "-shared", "-pthread", "-Wall", "-Wextra")
# Best first. No -ffast-math: with GCC < 13 it would flush denormals in the whole process on loading.
TARGETS = {"avx512": "-march=x86-64-v4", "avx2": "-march=x86-64-v3"}
CALL_BYTES = 8 * (18 + 13 * 5 + 14)  # `struct Call`: sizes and options, views, arrays, eight bytes each
VARIABLE = "MCLSTM_KERNEL"  # in the environment: one of TARGETS, or none
CHOICES = (*TARGETS, "none")
REBUILD = "run `python -m mclstm.ops.native.build` (needs g++)"
ELSEWHERE = "not for this processor"


def file_name(source: Path, target: str) -> str:
    """The library of a source and an instruction set.

    >>> file_name(SOURCE, "avx2")
    'kernel_avx2.so'
    """
    return f"{source.stem}_{target}.so"


def digest(source: Path) -> str:
    """A fingerprint of a source and its headers, by which a library built from another source is noticed."""
    headers = sorted({*HEADERS.glob("*.h"), *source.parent.glob("*.h")})
    content = b"".join(path.read_bytes() for path in (source, *headers))
    return hashlib.sha256(content + " ".join(FLAGS).encode()).hexdigest()[:16]


def command(source: Path, library: Path, flags: tuple[str, ...]) -> list[str]:
    """The compiler's command line; CXX in the environment names another compiler than g++."""
    compiler = os.environ.get("CXX", "g++").split()
    about = (f"-I{HEADERS}", f'-DMCLSTM_SOURCE="{digest(source)}"')
    return [*compiler, *FLAGS, *flags, *about, str(source), "-o", str(library)]


def build(source: Path, folder: Path) -> str | None:
    """Build every library of a source into `folder`; a failure is returned and written to FAILURE."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FAILURE).unlink(missing_ok=True)
    if platform.machine() in ("x86_64", "AMD64"):
        libraries = [folder / file_name(source, name) for name in TARGETS]
        with ThreadPoolExecutor() as pool:  # the compilers are processes of their own
            tried = list(pool.map(_compile, [source] * len(TARGETS), libraries, TARGETS.values()))
    else:
        tried = [f"The kernel is built for x86-64 only, this machine is {platform.machine()}."]
    failures = "\n".join(dict.fromkeys(message for message in tried if message is not None))
    if failures:
        (folder / FAILURE).write_text(failures)
    return failures or None


def _compile(source: Path, library: Path, flag: str) -> str | None:
    beside = source.parent / library.name
    if beside != library and beside.exists() and digest(source).encode() in beside.read_bytes():
        shutil.copyfile(beside, library)  # a checkout that was installed in place has it already
        return None
    # To another name first, so that a library in use is never half written.
    unfinished = library.with_suffix(f".{os.getpid()}")
    line = command(source, unfinished, (flag,))
    try:
        done = subprocess.run(line, capture_output=True, text=True, check=False)
    except OSError as error:
        return f"The compiler {line[0]!r} could not be started: {error}."
    if done.returncode != 0:
        unfinished.unlink(missing_ok=True)
        return f"{line[0]} failed with exit code {done.returncode}:\n{done.stderr[-2000:]}"
    unfinished.replace(library)
    return None


class Status(NamedTuple):
    """Whether the native backend can run, with which library, and if not, why and what to do.

    skipped: why a better library is not used, if the processor is not the reason.
    """

    available: bool
    library: str | None
    reason: str | None
    skipped: str | None = None


def status() -> Status:
    """What `mclstm doctor` says about the native backend.

    >>> native = status()
    >>> native.available == (native.reason is None)
    True
    """
    return search(SOURCE, FOLDER)[1]


@cache
def library() -> ctypes.CDLL | None:
    """The loaded kernel, or None; a kernel that MCLSTM_KERNEL names and that cannot run is refused."""
    loaded, state = search(SOURCE, FOLDER)
    if loaded is None and chosen() in TARGETS:
        _refuse(str(state.reason))
    if loaded is not None:
        for function in (loaded.mclstm_forward, loaded.mclstm_backward):
            function.argtypes = (ctypes.c_void_p,)
        assert loaded.mclstm_call_bytes() == CALL_BYTES, "call.py and call.h describe another `struct Call`"
    return loaded


def chosen() -> str | None:
    """The kernel that MCLSTM_KERNEL names; None, where it is not set, is the best one that runs here."""
    name = os.environ.get(VARIABLE) or None
    if name is not None and name not in CHOICES:
        _refuse(
            f"{VARIABLE} is {name!r} in the environment; set it to {', '.join(CHOICES[:-1])} or "
            f"{CHOICES[-1]}, or unset it for the best kernel that runs here."
        )
    return name


def _refuse(message: str) -> NoReturn:
    from mclstm.errors import ConfigError  # here, because setup.py runs this file without the package

    raise ConfigError(message)


@cache
def search(source: Path, folder: Path) -> tuple[ctypes.CDLL | None, Status]:
    """The library of a source in a folder that `chosen` names, else the best that this processor can run.

    The first search decides for the whole process.
    """
    name = chosen()
    return _best(source, folder) if name is None else _named(source, folder, name)


def _named(source: Path, folder: Path, name: str) -> tuple[ctypes.CDLL | None, Status]:
    """This library or none: a comparison must not run silently with another one."""
    if name == "none":
        return None, Status(False, None, f"switched off by {VARIABLE}=none; unset it for the kernel.")
    path = folder / file_name(source, name)
    loaded, reason = _open(path, digest(source))
    if loaded is not None:
        return loaded, Status(True, path.name, None)
    unset = f"unset {VARIABLE} for the best kernel that runs here"
    remedy = f"{unset}." if reason == ELSEWHERE else f"{REBUILD}, or {unset}. {_failure(folder)}".strip()
    return None, Status(False, None, f"{VARIABLE}={name} chooses {path.name}: {reason}; {remedy}")


def _failure(folder: Path) -> str:
    """What the compiler said, if the last build failed."""
    failure = folder / FAILURE
    return failure.read_text() if failure.exists() else ""


def _best(source: Path, folder: Path) -> tuple[ctypes.CDLL | None, Status]:
    message = _failure(folder)
    reasons: dict[str, str] = {}
    for target in TARGETS:
        name = file_name(source, target)
        loaded, reason = _open(folder / name, digest(source))
        if loaded is not None:
            avoidable = [f"{better}: {why}" for better, why in reasons.items() if why != ELSEWHERE]
            skipped = f"{'; '.join(avoidable)}; {REBUILD}. {message}".strip() if avoidable else None
            return loaded, Status(True, name, None, skipped)
        reasons[name] = reason
    whole = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    return None, Status(False, None, f"{whole}; {REBUILD}, or use backend='torch'. {message}".strip())


def _open(path: Path, expected: str) -> tuple[ctypes.CDLL | None, str]:
    if not path.exists():
        return None, "not built"
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:
        return None, f"cannot be loaded ({error})"
    loaded.mclstm_source.restype = ctypes.c_char_p
    if loaded.mclstm_source() != expected.encode():
        return None, "built from another source"
    return (loaded, "") if loaded.mclstm_runs_here() else (None, ELSEWHERE)


if __name__ == "__main__":
    sys.exit(build(SOURCE, SOURCE.parent))
