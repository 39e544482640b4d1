"""The limits of the machine: which there are, what they count, and what happens without the library."""

import numpy as np
import pytest

from mclstm.ops.native.build import Status
from mclstm_paper.bench import limits as bench_limits
from mclstm_paper.bench.limits import PRODUCTS, Work, fastest, limits
from mclstm_paper.bench.ratios import FMA_LOOP


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_multiplies_and_its_operations_are_counted(name: str) -> None:
    work = PRODUCTS[name](5)
    assert np.asarray(work.call()).tolist() == [[5.0] * 5] * 5
    assert work.operations == 2 * 5 * 5 * 5


def test_the_fastest_executes_most_operations_per_second() -> None:
    def spend() -> None:
        sum(range(2_000))

    few, many = Work(spend, 1), Work(spend, 1_000_000)
    assert fastest([few, many], tries=1) is many is fastest([many, few], tries=1)


def test_one_lucky_call_does_not_make_a_size_the_fastest(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {"lucky": [0.1, 9.0, 9.0], "steady": [1.0, 1.0, 1.0]}
    monkeypatch.setattr(bench_limits.timeit, "repeat", lambda call, number, repeat: seconds[call()])
    lucky, steady = Work(lambda: "lucky", 1), Work(lambda: "steady", 1)
    assert fastest([lucky, steady]) is steady


def test_the_loop_runs_on_all_threads_and_every_library_has_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_limits, "library", object)
    monkeypatch.setattr(bench_limits, "multiply_adds", lambda iterations, threads: iterations * threads)
    monkeypatch.setattr(bench_limits, "fma_loop", lambda *numbers: numbers)
    missing: dict[str, str] = {}
    works = limits((4,), iterations=10, threads=3, missing=missing)
    assert list(works) == [FMA_LOOP, *PRODUCTS]
    assert (works[FMA_LOOP].call(), works[FMA_LOOP].operations) == ((10, 3), 60)
    assert missing == {}


def test_without_the_library_the_products_are_left_and_the_reason_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bench_limits, "library", lambda: None)
    monkeypatch.setattr(bench_limits, "status", lambda: Status(False, None, "no compiler"))
    missing: dict[str, str] = {}
    assert list(limits((4,), iterations=10, threads=1, missing=missing)) == list(PRODUCTS)
    assert missing == {FMA_LOOP: "no compiler"}
