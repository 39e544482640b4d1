"""Thresholds from reference networks: the formula, and how often the next network passes."""

import math

import numpy as np
import pytest

from mclstm_paper.mnist_sum.references import passing_chance, reference_threshold


def test_threshold_by_hand():
    errors = [2.0, 4.0, 6.0, 8.0]
    # Mean 5, sd √(20 / 3); t at 0.99 is 4.5407 with 3 and 6.9646 with 2 degrees of freedom.
    half = math.sqrt(20 / 3) / 2
    assert reference_threshold(errors) == pytest.approx(5 + 4.5407 * half, rel=1e-5)
    assert reference_threshold(errors, lost=2) == pytest.approx(5 + 6.9646 * half, rel=1e-5)


@pytest.mark.parametrize(("references", "lost"), [(3, 1), (10, 1), (10, 2)])
def test_chance_is_what_a_simulation_gives(references, lost):
    drawn = np.random.default_rng(0).normal(size=(4000, references + 1))
    passed = [one[0] < reference_threshold(one[1:], lost) for one in drawn]
    chance = passing_chance(references, lost)
    assert abs(np.mean(passed) - chance) < 4 * math.sqrt(chance * (1 - chance) / 4000)
