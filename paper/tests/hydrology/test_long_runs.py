"""Every long run is one that its experiment takes; those that keep members leave the test years alone."""

from pathlib import Path

import pytest

from mclstm_paper.options import Options
from mclstm_paper.record_queue.long_runs import LONG_RUNS, LongRun, Places, options_of
from mclstm_paper.runner import planned

BASINS = ("01022500", "11141280", "12189500", "07291000", "05057200")


@pytest.mark.parametrize("run", LONG_RUNS, ids=[run.name for run in LONG_RUNS])
def test_its_experiment_takes_it(run: LongRun, camels: Path, tmp_path: Path) -> None:
    options = options_of(run, Places(camels, BASINS, camels, camels))
    assert isinstance(options, Options)
    assert options.profile == "paper"
    assert run.weights == options.no_test
    assert not run.weights or options.models == (run.name,)
    assert sum(other.name == run.name for other in LONG_RUNS) == 1
    if run.name != "fine-tuning":  # begins with the random folds
        assert planned(run.experiment, options, tmp_path, None).jobs
