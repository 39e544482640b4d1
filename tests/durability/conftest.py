"""What an undisturbed run ends with, computed once."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.small_run import brook, brook_config

from mclstm.experiments.kills import digests
from mclstm.experiments.victim import begin, warm_up


class Whole(NamedTuple):
    """A config and the digests of the results it must lead to."""

    raw: dict[str, Any]
    results: dict[str, str]


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    folder = tmp_path_factory.mktemp("whole")
    raw = brook_config(brook(folder / "brook.csv"))
    warm_up()
    process = begin(raw, folder / "runs")
    process.join()
    assert process.exitcode == 0
    return Whole(raw, digests(folder / "runs"))


def ends_identical(raw: dict[str, Any], root: Path, results: dict[str, str]) -> bool:
    """Go on with the run below `root`, evaluate it, and compare every byte."""
    process = begin(raw, root)
    process.join()
    return process.exitcode == 0 and digests(root) == results
