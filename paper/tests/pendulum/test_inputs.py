"""Scaling, and what models see beside the state."""

import numpy as np
import pytest
import torch

from mclstm_paper.pendulum.inputs import auxiliary, scaling, sines
from mclstm_paper.pendulum.task import some_series

SETS = some_series([7, 19, 100])
OBSERVED = np.stack([one.observed for one in SETS])


@pytest.mark.parametrize("separate", [False, True])
def test_scaling_and_back(separate: bool) -> None:
    scale = scaling(SETS, separate)
    assert np.allclose(scale.energies(scale.values(OBSERVED)), OBSERVED, rtol=1e-12, atol=1e-15)


def test_separate_scales_fill_the_range_and_do_not_conserve_the_total() -> None:
    values = scaling(SETS, separate=True).values(OBSERVED)
    for one, part in zip(SETS, values, strict=True):
        seen = part[: one.setting.steps]
        assert np.allclose(seen.min(axis=0), 0.0)
        assert np.allclose(seen.max(axis=0), 1.0)
    (closed,) = some_series([60])
    total = scaling([closed], separate=True).values(closed.exact[None])[0].sum(axis=1)
    one_scale = scaling([closed], separate=False).values(closed.exact[None])[0].sum(axis=1)
    (noisy,) = some_series([67])  # friction: the largest kinetic energy is below the first potential one
    rises = np.diff(scaling([noisy], separate=True).values(noisy.exact[None])[0].sum(axis=1)).max()
    assert rises > 1e-3
    assert np.isclose(one_scale[0], 1.0)
    assert np.isclose(total[0], 1.0)


def test_one_scale_is_the_first_total_without_negative_energies() -> None:
    scale = scaling(SETS, separate=False)
    first = np.stack([one.observed[0].clip(min=0.0) for one in SETS])
    assert np.allclose(first[:, None] / scale.factor, first[:, None] / first.sum(axis=1)[:, None, None])
    assert not scale.shift.any()


def test_what_is_seen() -> None:
    assert auxiliary("nothing", SETS).shape == (3, 1_000, 0)
    seen = auxiliary("sines", SETS)
    assert seen.shape == (3, 1_000, 9)
    assert torch.equal(seen[0], seen[2])
    # The embedding's 50 is 0.1572 rad per step: nearly the energies of a pendulum of 1 m, 0.1566.
    assert np.allclose(sines()[1, 4], np.sin(50 * np.pi / 999))
    clock = auxiliary("clock", SETS)
    assert clock.shape == (3, 1_000, 2)
    assert torch.allclose(clock.square().sum(dim=-1), torch.ones(3, 1_000))
    # Twice the pendulum's frequency, as far as noise lets one see it.
    angle = float(torch.atan2(clock[2, 1, 1], clock[2, 1, 0]))
    setting = SETS[2].setting
    assert angle == pytest.approx(2 * 0.025 * np.sqrt(9.81 / setting.length), abs=1e-3)


def test_motion_is_scaled_by_its_largest_value() -> None:
    motion = [np.stack([np.linspace(-2.0, 1.0, 1_000), np.linspace(0.0, 4.0, 1_000)], axis=1)] * 3
    seen = auxiliary("motion", SETS, motion)
    assert seen[0, 0].tolist() == [-1.0, 0.0]
    assert seen[1, -1].tolist() == [0.5, 1.0]
