"""Runs that came to their end, and runs that did not."""

import signal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mclstm import pipeline
from mclstm.config import check_config
from mclstm.errors import Interrupted
from mclstm.training.loop import fit
from mclstm_paper.durability.kill_runs import digests
from mclstm_paper.durability.run_process import run_below, start_run, start_server
from support.small_run import brook, brook_config


class Whole(NamedTuple):
    """A config and the digests of the results it must lead to."""

    raw: dict[str, Any]
    results: dict[str, str]


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    folder = tmp_path_factory.mktemp("whole")
    raw = brook_config(brook(folder / "brook.csv"))
    start_server()
    process = start_run(raw, folder / "runs")
    process.join()
    assert process.exitcode == 0
    return Whole(raw, digests(folder / "runs"))


def stopped_in(update: int, raw: dict[str, Any], root: Path) -> tuple[Path, str]:
    """A run that got SIGTERM in this process while it did an update, and what it said."""

    def signalled(*arguments: Any, show: Any, **options: Any) -> Any:
        def shown(done: int, loss: float, error: float | None) -> None:
            if done == update:
                signal.raise_signal(signal.SIGTERM)

        return fit(*arguments, show=shown, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "fit", signalled)
        with pytest.raises(Interrupted) as caught:
            pipeline.train(check_config(raw), root, quiet=True)
    run = run_below(root)
    assert run is not None
    return run, str(caught.value)


def ends_identical(raw: dict[str, Any], root: Path, results: dict[str, str]) -> bool:
    """Go on with the run below `root`, evaluate it, and compare every byte."""
    process = start_run(raw, root)
    process.join()
    return process.exitcode == 0 and digests(root) == results
