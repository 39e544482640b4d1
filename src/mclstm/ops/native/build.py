"""Builds the kernel, once for each instruction set; needs no package but Python's own.

setup.py runs this when the package is built, `python -m mclstm.ops.native.build` runs it by hand. A machine
without a compiler still gets a working package: what went wrong is written to FAILURE, `torch` takes over.
"""

import hashlib
import os
import platform
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_name("kernel.cpp")
NAMES = (
    "call.h",
    "gated.h",
    "lanes.h",
    "learn.h",
    "learn_call.h",
    "learn_head.h",
    "learn_maps.h",
    "learn_steps.h",
    "philox.h",
    "pooled.h",
    "product.h",
    "recurrence.h",
    "recurrence_call.h",
    "settle.h",
    "shares.h",
    "small.h",
    "threads.h",
    "uniform.h",
    "units.h",
    "worker.h",
)
HEADERS = tuple(SOURCE.with_name(name) for name in NAMES)
FAILURE = "build_failure.txt"
FLAGS = ("-std=c++17", "-O3", "-fPIC", "-shared", "-pthread", "-Wall", "-Wextra")
# Best first. No -ffast-math: with GCC < 13 it would flush denormals in the whole process on loading.
TARGETS = {"kernel_avx512.so": "-march=x86-64-v4", "kernel_avx2.so": "-march=x86-64-v3"}


def digest() -> str:
    """What the source is, so that a library built from another one is noticed."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in (SOURCE, *HEADERS))).hexdigest()[:16]


def command(target: Path, flags: tuple[str, ...]) -> list[str]:
    """The compiler's command line; CXX in the environment names another compiler than g++."""
    compiler = os.environ.get("CXX", "g++").split()
    return [*compiler, *FLAGS, *flags, f'-DMCLSTM_SOURCE="{digest()}"', str(SOURCE), "-o", str(target)]


def build(directory: Path) -> str | None:
    """Build every library into `directory`; returns, and writes down, what went wrong, or None."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / FAILURE).unlink(missing_ok=True)
    if platform.machine() in ("x86_64", "AMD64"):
        tried = [_compile(directory / name, flag) for name, flag in TARGETS.items()]
    else:
        tried = [f"The kernel is built for x86-64 only, this machine is {platform.machine()}."]
    failures = "\n".join(dict.fromkeys(message for message in tried if message is not None))
    if failures:
        (directory / FAILURE).write_text(failures)
    return failures or None


def _compile(target: Path, flag: str) -> str | None:
    # To another name first, so that a library in use is never half written.
    unfinished = target.with_suffix(f".{os.getpid()}")
    line = command(unfinished, (flag,))
    try:
        done = subprocess.run(line, capture_output=True, text=True, check=False)
    except OSError as error:
        return f"The compiler {line[0]!r} could not be started: {error}."
    if done.returncode != 0:
        unfinished.unlink(missing_ok=True)
        return f"{line[0]} failed with exit code {done.returncode}:\n{done.stderr[-2000:]}"
    unfinished.replace(target)
    return None


if __name__ == "__main__":
    sys.exit(build(SOURCE.parent))
