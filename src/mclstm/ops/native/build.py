"""Builds a kernel, once for each instruction set; needs no package but Python's own.

setup.py runs this when the package is built, `python -m mclstm.ops.native.build` runs it by hand. A machine
without a compiler still gets a working package: what went wrong is written to FAILURE, `torch` takes over.
"""

import hashlib
import os
import platform
import subprocess
import sys
from pathlib import Path

HEADERS = Path(__file__).parent  # other libraries are built from them too
SOURCE = HEADERS / "kernel.cpp"
FAILURE = "build_failure.txt"
FLAGS = ("-std=c++17", "-O3", "-fPIC", "-shared", "-pthread", "-Wall", "-Wextra")
# Best first. No -ffast-math: with GCC < 13 it would flush denormals in the whole process on loading.
TARGETS = {"avx512": "-march=x86-64-v4", "avx2": "-march=x86-64-v3"}


def file_name(source: Path, target: str) -> str:
    """The library of a source and an instruction set.

    >>> file_name(SOURCE, "avx2")
    'kernel_avx2.so'
    """
    return f"{source.stem}_{target}.so"


def digest(source: Path) -> str:
    """A fingerprint of a source and its headers, so that a library built from another one is noticed."""
    headers = sorted({*HEADERS.glob("*.h"), *source.parent.glob("*.h")})
    return hashlib.sha256(b"".join(path.read_bytes() for path in (source, *headers))).hexdigest()[:16]


def command(source: Path, library: Path, flags: tuple[str, ...]) -> list[str]:
    """The compiler's command line; CXX in the environment names another compiler than g++."""
    compiler = os.environ.get("CXX", "g++").split()
    about = (f"-I{HEADERS}", f'-DMCLSTM_SOURCE="{digest(source)}"')
    return [*compiler, *FLAGS, *flags, *about, str(source), "-o", str(library)]


def build(source: Path, folder: Path) -> str | None:
    """Build every library of a source into `folder`; returns, and writes down, what went wrong, or None."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FAILURE).unlink(missing_ok=True)
    if platform.machine() in ("x86_64", "AMD64"):
        tried = [_compile(source, folder / file_name(source, name), flag) for name, flag in TARGETS.items()]
    else:
        tried = [f"The kernel is built for x86-64 only, this machine is {platform.machine()}."]
    failures = "\n".join(dict.fromkeys(message for message in tried if message is not None))
    if failures:
        (folder / FAILURE).write_text(failures)
    return failures or None


def _compile(source: Path, library: Path, flag: str) -> str | None:
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


if __name__ == "__main__":
    sys.exit(build(SOURCE, SOURCE.parent))
