"""The kernels that this machine can run, and a way to switch between them within one process."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import _lru_cache_wrapper
from pathlib import Path

import pytest

from mclstm.ops.native import build


def runnable(source: Path, folder: Path) -> list[str]:
    """The kernels of a source that run here, best first; the chosen one alone where MCLSTM_KERNEL is set."""
    name = os.environ.get(build.VARIABLE)
    names, expected = [name] if name else list(build.TARGETS), build.digest(source)
    paths = {name: folder / build.file_name(source, name) for name in names}
    return [name for name, path in paths.items() if build._open(path, expected)[0] is not None]


RUNNABLE = runnable(build.SOURCE, build.FOLDER)


def untested(backends: Sequence[str], kernel: str | None) -> list[str]:
    """All backends with the first kernel; with another the native one alone, the rest is the same code."""
    return [name for name in backends if name == "native" or kernel in (None, *RUNNABLE[:1])]


def repeats(item: pytest.Item) -> bool:
    """Whether a test of a backend without a kernel stands here a second time, because a kernel follows."""
    parameters = (
        item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    )
    backend, kernel = parameters.get("backend"), parameters.get("each_kernel")
    return backend in ("reference", "torch") and not untested([backend], kernel)


@contextmanager
def running(kernel: str | None, *caches: _lru_cache_wrapper) -> Iterator[None]:
    """Within the context this kernel computes; None changes nothing.

    caches: further functions, beside those of build.py, that remember a loaded kernel.
    """
    if kernel is None:
        yield
        return
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(build.VARIABLE, kernel)
            _forget(*caches)
            yield
    finally:
        _forget(*caches)


def _forget(*caches: _lru_cache_wrapper) -> None:
    for cache in (build.search, build.library, *caches):
        cache.cache_clear()


@pytest.fixture(scope="module", params=RUNNABLE or [None])
def each_kernel(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """Runs the tests of a module once with each kernel; where none runs here, once and without."""
    with running(request.param):
        yield request.param
