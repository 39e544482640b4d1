"""Every group of rows at tiny sizes in this process; no test asserts a time."""

import math

import pytest
import torch
from torch import Tensor

from mclstm_paper.bench.limits import PRODUCTS
from mclstm_paper.bench.passes import PAPER, TABLE_CPU
from mclstm_paper.bench.ratios import FMA_LOOP
from mclstm_paper.bench.scales import SCALES, TASKS
from mclstm_paper.bench.seed_updates import batch, eager, ours
from mclstm_paper.bench.targets import SMALL
from mclstm_paper.bench.timed_rounds import Measurement
from mclstm_paper.bench.worker import GROUPS, measure, measurements

TINY = SCALES["tiny"]
LIMITS = [FMA_LOOP, *PRODUCTS]
KEYS = {"model", "setting", "metric", "n", "value", "low", "high", "paper", "values"}


def rows_of(group: str, part: str = "all") -> list[dict]:
    outcome = measure(Measurement(group, part, 1, "tiny", 2))
    assert outcome.missing == {}
    for row in outcome.rows:
        assert set(row) >= KEYS | {"group", "part", "threads", "sizes", "unit"}
        assert row["n"] == len(row["values"])
        if row["n"]:
            assert row["low"] <= row["value"] <= row["high"]
            assert all(math.isfinite(value) for value in row["values"])
    return outcome.rows


def test_the_paper_configuration_has_every_candidate_twice_and_the_limits() -> None:
    rows = rows_of("paper")
    rates, passes = rows[: len(LIMITS)], rows[len(LIMITS) :]
    assert [row["model"] for row in rates] == LIMITS
    assert {(row["metric"], row["unit"]) for row in rates} == {("gflops", "GFLOP/s")}
    assert [row["model"] for row in passes] == [name for name in PAPER for _ in range(2)]
    assert {row["metric"] for row in passes} == {"forward", "forward+backward"}
    for row in passes:
        assert row["sizes"] == TINY.paper._asdict()
        assert ("operations" in row) != row["model"].startswith("lstm")


def test_the_paper_table_has_its_numbers_and_no_gpu() -> None:
    rows = rows_of("table")
    cpu = {row["model"]: row["paper"] for row in rows if row["metric"] == "forward" and row["paper"]}
    assert cpu == TABLE_CPU
    gpu = [row for row in rows if row["metric"] == "forward on a GPU"]
    assert [row["paper"] for row in gpu] == [236.0, 121.0]
    assert all(row["value"] is None and row["values"] == [] and row["n"] == 0 for row in gpu)


def test_single_sequences() -> None:
    rows = rows_of("single")[len(LIMITS) :]
    assert {row["setting"] for row in rows} == {"K = 2", "K = 3"}
    assert all(row["sizes"]["B"] == 1 for row in rows)


@pytest.mark.parametrize("axis", ["B", "T", "K", "A", "M"])
def test_growth(axis: str) -> None:
    rows = [row for row in rows_of("growth", axis) if row["model"] == "mclstm-native"]
    assert [row["sizes"][axis] for row in rows if row["metric"] == "forward"] == [1, 2, 4]


def test_growth_with_members() -> None:
    assert [row["members"] for row in rows_of("growth", "E")] == [1, 2]


def test_memory_counts_what_must_be_kept() -> None:
    (row,) = rows_of("memory", "mclstm-native, T = 10")
    B, T, M, A, _, K = TINY.paper._replace(T=10)
    assert row["stored"] == pytest.approx(4e-6 * B * (T * K + (T + 1) * K + T * (M + A)))
    assert row["unit"] == "MB"


def test_small_models_are_timed_per_seed() -> None:
    rows = rows_of("small", "addition, K = 10")
    assert [row["members"] for row in rows] == [1, 1, 1, *TINY.members]
    assert {row["unit"] for row in rows} == {"ms per seed"}


def test_the_tasks_are_those_the_targets_name() -> None:
    assert set(TASKS) >= set(SMALL)
    assert 100 in SCALES["paper"].members


def test_updates_train_every_member() -> None:
    task = TINY.tasks["recurrent arithmetic, K = 3"]
    x, a, y = batch(task.sizes, 3)
    assert (x.shape, a.shape, y.shape) == ((3, 4, 3, 2), (4, 3, 1), (3, 3, 1))
    torch.testing.assert_close(y[1, 2, 0], x[1, :, 2].sum())
    for step in (ours(task, 3), ours(task, None), eager(task, fused=False)):
        before = snapshot(step)
        step()
        after = snapshot(step)
        assert all(not torch.equal(b, a) for b, a in zip(before, after, strict=True))


def snapshot(step) -> list[Tensor]:
    """Copies of the parameters that an update changes, from its optimiser."""
    cells = dict(zip(step.__code__.co_freevars, step.__closure__, strict=True))
    groups = cells["optimiser"].cell_contents.param_groups
    return [value.detach().clone() for group in groups for value in group["params"]]


def test_every_part_and_thread_count_is_one_measurement() -> None:
    everything = measurements(list(GROUPS), [1, 2], "paper", None)
    assert len(everything) == len(set(everything))
    assert {one.threads for one in everything if one.group in ("paper", "table")} == {1, 2}
    assert {one.threads for one in everything if one.group not in ("paper", "table")} == {1}
    memory = [one.part for one in everything if one.group == "memory"]
    assert memory[:2] == ["mclstm-native, T = 365", "mclstm-torch, T = 365"]
    assert {one.repeats for one in measurements(["paper"], [1], "paper", 3)} == {3}
