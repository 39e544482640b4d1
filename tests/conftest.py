"""Fixtures of all tests of the library."""

import pytest

from support.kernels import each_kernel, repeats

__all__ = ["each_kernel"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    again = [item for item in items if repeats(item)]
    config.hook.pytest_deselected(items=again)
    items[:] = [item for item in items if not repeats(item)]
