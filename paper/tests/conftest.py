"""Fixtures of all tests of the paper's package."""

from collections.abc import Iterator

import pytest

from mclstm_paper.kernels.library import SOURCE, library
from support.kernels import runnable, running


@pytest.fixture(scope="module", params=runnable(SOURCE, SOURCE.parent) or [None])
def each_kernel(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """Runs the tests of a module once with each of the paper's kernels that run here."""
    with running(request.param, library):
        yield request.param
