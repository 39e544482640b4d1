"""MC-LSTMs of the pendulum, trained for a few updates: what always holds of them."""

from pathlib import Path

import numpy as np
import pytest
import torch

from mclstm.errors import Interrupted
from mclstm.jobs.monitor import JobMonitor
from mclstm_paper.pendulum.inputs import auxiliary, scaling
from mclstm_paper.pendulum.mass_training import Forecast, best_members, forecasts
from mclstm_paper.pendulum.settings import MASS_MODELS, recipe
from mclstm_paper.pendulum.task import Series, some_series
from mclstm_paper.protocols import Protocol

NUMBERS = [0, 5, 9, 119]  # without friction, with noise, with friction, the last
SETS = some_series(NUMBERS)
EPS = float(torch.finfo(torch.float32).eps)


def made(
    folder: Path, model: str, protocol: Protocol = "stated", closed: bool = False, updates: int = 3
) -> list[Forecast]:
    plan = recipe(model, protocol)._replace(restarts=2)
    monitor = JobMonitor(folder, lambda: None)
    aux = auxiliary(plan.aux, SETS)
    return forecasts(SETS, plan, aux, updates, monitor, numbers=NUMBERS, closed=[closed] * len(SETS))


@pytest.mark.parametrize("model", MASS_MODELS)
def test_the_total_never_rises_under_the_stated_protocol(tmp_path: Path, model: str) -> None:
    for one, source in zip(made(tmp_path, model), SETS, strict=True):
        total = one.energies.sum(axis=1)
        slope = recipe(model, "stated").offset[0]
        # Each step may be off by the rounding of its cells, and the offset's by as much again.
        bound = 8 * slope * EPS * source.observed[0].clip(min=0.0).sum()
        assert np.diff(total).max() <= bound


@pytest.mark.parametrize("model", ["mclstm-invariant", "mclstm-clock"])
def test_variants_predict_no_negative_energy_and_without_outlet_they_lose_none(
    tmp_path: Path, model: str
) -> None:
    for one in made(tmp_path, model, closed=True):
        total = one.energies.sum(axis=1)
        assert one.energies.min() >= 0.0
        # The promise of an autoregression is 4 eps (T + K) of the turnover.
        assert np.abs(total / total[0] - 1).max() <= 4 * EPS * (1_000 + 2)


def test_the_first_energies_are_those_observed(tmp_path: Path) -> None:
    for one, source in zip(made(tmp_path, "mclstm-clock"), SETS, strict=True):
        assert np.allclose(one.energies[0], source.observed[0].clip(min=0.0), rtol=4 * EPS)


def test_transfers_explain_the_energies_of_a_closed_system(tmp_path: Path) -> None:
    for one in made(tmp_path, "mclstm-invariant", closed=True):
        kinetic, potential = one.energies.T
        to_kinetic, to_potential = one.transfers.T
        after = kinetic[:-1] * (1 - to_potential) + potential[:-1] * to_kinetic
        assert np.allclose(after, kinetic[1:], atol=8 * EPS * kinetic.max())


def test_separate_scales_let_the_total_rise(tmp_path: Path) -> None:
    closed = made(tmp_path, "mclstm", "published", closed=True)[3].energies.sum(axis=1)
    assert np.diff(closed).max() > 1e-4
    stated = made(tmp_path, "mclstm", "stated", closed=True)[3].energies.sum(axis=1)
    assert np.diff(stated).max() < 1e-6


def test_sets_of_a_call_do_not_touch_each_other(tmp_path: Path) -> None:
    plan = recipe("mclstm-clock", "stated")
    monitor = JobMonitor(tmp_path, lambda: None)

    def alone(at: int) -> Forecast:
        sets: list[Series] = [SETS[at]]
        aux = auxiliary(plan.aux, sets)
        return forecasts(sets, plan, aux, 3, monitor, numbers=[NUMBERS[at]], closed=[False])[0]

    together = forecasts(
        SETS, plan, auxiliary(plan.aux, SETS), 3, monitor, numbers=NUMBERS, closed=[True, False, False, False]
    )
    for at in (1, 3):
        assert np.allclose(alone(at).energies, together[at].energies, rtol=1e-4, atol=1e-6)


def test_the_member_that_fits_the_training_part_best_predicts() -> None:
    values = torch.zeros(4, 10, 2)
    predicted = torch.ones(4, 10, 2)
    predicted[1, :5] = 0.5  # the best of set 0 where it counts
    predicted[0, 5:] = 0.0  # which is only right beyond the training part
    predicted[2] = torch.nan  # failed
    assert best_members(predicted, values, torch.tensor([5, 5, 5, 5]), restarts=2) == [1, 3]


def test_a_signal_stops_a_training(tmp_path: Path) -> None:
    plan = recipe("mclstm-clock", "stated")
    monitor = JobMonitor(tmp_path, lambda: 15)
    aux = auxiliary(plan.aux, SETS[:1])
    with pytest.raises(Interrupted):
        forecasts(SETS[:1], plan, aux, 3, monitor, numbers=[0], closed=[False])


def test_scaling_of_the_last_set_is_by_its_first_total() -> None:
    scale = scaling(SETS, separate=False)
    assert scale.factor[3, 0, 0] == SETS[3].observed[0].clip(min=0.0).sum()
