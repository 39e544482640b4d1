"""The simulation of many nodes: exact without deaths, never shorter with them, and fed by measured costs."""

import math
from pathlib import Path

import numpy as np
import pytest

from mclstm_paper.bench.scale_out import CORES, MEMBERS, NODES, makespan, on_paper, plans

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(("jobs", "workers"), [(7, 3), (6, 3), (2, 5), (1, 1)])
def test_without_deaths_equal_jobs_come_in_waves(jobs: int, workers: int) -> None:
    seconds = makespan([5.0] * jobs, workers, math.inf, np.random.default_rng(0))
    assert seconds == on_paper([5.0] * jobs, workers) == 5.0 * math.ceil(jobs / workers)


def test_deaths_cost_time_and_jobs_end_all_the_same() -> None:
    jobs = [3600.0] * 20
    calm = makespan(jobs, 10, math.inf, np.random.default_rng(0))
    times = [makespan(jobs, 10, 1800.0, np.random.default_rng(draw)) for draw in range(20)]
    assert all(time > calm for time in times)
    assert np.median(times) < 2 * calm  # a checkpoint keeps what was done


def test_plans_are_made_of_recorded_costs() -> None:
    by_plan = plans(ROOT)
    assert [len(jobs) for jobs in by_plan.values()][:2] == [MEMBERS, MEMBERS]
    for jobs in by_plan.values():
        assert min(jobs) > 0
        assert on_paper(jobs, NODES[-1] * CORES) <= on_paper(jobs, NODES[0] * CORES)
