"""Operations by formula, against the specification, a count by hand, and what torch multiplies."""

import itertools

import pytest

from mclstm_paper.bench.passes import operations, product_operations
from mclstm_paper.bench.scales import HYDROLOGY, SCALES, Sizes, doubled
from mclstm_paper.theory.operations import mclstm_step


@pytest.mark.parametrize(("F", "forward", "both"), [(95, 75.0, 275.5), (69, 54.5, 213.9)])
def test_the_table_of_the_specification(F: int, forward: float, both: float) -> None:
    """Its configuration H: B=256, T=365, M=1, K=64; 64 of the F features are the state."""
    counts = operations(Sizes(256, 365, 1, F - 65, 0, 64), ("aux", "state", "mass"))
    assert round(counts.forward / 1e9, 1) == forward
    assert round(counts.both / 1e9, 1) == both


def test_hoisted_features_are_those_of_a_step() -> None:
    sizes, sees = SCALES["paper"].paper, tuple(HYDROLOGY["gates_see"])
    assert operations(sizes, sees).forward == product_operations(256, 365, 1, 64, F=3 + 64 + 1)
    assert operations(sizes._replace(S=0), sees) == operations(sizes, sees)


def test_a_count_by_hand() -> None:
    B, T, M, K, F = 2, 3, 2, 2, 4
    rows = M + K + 1
    count = 0
    for _ in itertools.product(range(B), range(T), range(rows), range(K), range(F)):
        count += 2  # a product and a sum
    assert product_operations(B, T, M, K, F) == count


def test_what_torch_is_really_asked_to_multiply() -> None:
    for M, A, K in ((1, 3, 4), (2, 1, 5)):
        counted = operations(Sizes(1, 1, M, A, 0, K), ("aux", "state")).forward
        assert counted == 2 * mclstm_step(K, M, A, "dynamic").products


def test_without_the_state_nothing_flows_back_to_it() -> None:
    counts = operations(Sizes(2, 3, 1, 4, 0, 5), ("aux",))
    assert counts.both == 3 * counts.forward


def test_sweeps_over_batch_and_steps_span_a_factor_of_64() -> None:
    for axis in ("B", "T"):
        values = SCALES["paper"].sweeps[axis].values
        assert values == doubled(values[0], 64 * values[0])
