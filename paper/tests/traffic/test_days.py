"""Days and their protocol: what is read, what is observed, and what stands for the rest."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from mclstm.errors import DataError
from mclstm_paper.traffic.days import City, clock_inputs, read_city
from mclstm_paper.traffic.task import FlowTask, imputed, observed_steps

PUBLISHED = [71, 72, 73, 143, 144, 145, 215, 216, 217]


def test_a_city_conserves_its_vehicles(city: City) -> None:
    assert (city.name, city.train.x.shape, city.test.y.shape) == ("smallville", (288, 16, 4), (288, 4, 4))
    assert torch.equal(city.train.x.sum((0, 2)), city.train.y.sum((0, 2)))
    assert city.train.inlets == ("in_W", "in_E", "in_N", "in_S")
    assert city.test.x[..., 1:3].sum() == 0  # nobody enters in the east and in the north
    assert torch.equal(city.test.x[:-12, :, 0], city.test.y[12:, :, 1])  # in_W leaves as out_E


def test_the_observed_steps_are_the_published_ones(city: City) -> None:
    assert observed_steps(city.train) == PUBLISHED


def test_flights_begin_at_four_and_are_cut_by_date() -> None:
    city = read_city(None)
    assert (city.train.x.shape, city.test.y.shape) == ((144, 274, 3), (144, 91, 4))
    assert str(city.test.first[0]) == "2013-10-02 04:00:00"
    # 6, 12 and 18 o'clock are 2, 8 and 14 hours after the day begins.
    assert observed_steps(city.train) == [11, 12, 13, 47, 48, 49, 83, 84, 85]
    assert city.test.stock is not None
    change = (city.test.x.sum(-1) - city.test.y.sum(-1))[1:]
    assert torch.equal(city.test.stock[1:] - city.test.stock[:-1], change)


@pytest.mark.parametrize("reading", ["sparse-step", "sparse-overall"])
def test_hidden_inputs_are_means_and_observed_ones_stay(reading: str) -> None:
    x = torch.rand(288, 5, 4)
    known = imputed(x, PUBLISHED, reading)
    assert torch.equal(known[PUBLISHED], x[PUBLISHED])
    hidden = [step for step in range(288) if step not in PUBLISHED]
    mean = x.mean(1)[hidden] if reading == "sparse-step" else x.mean((0, 1)).expand(len(hidden), 4)
    assert torch.allclose(known[hidden], mean.unsqueeze(1).expand(-1, 5, -1))
    assert torch.equal(imputed(x, PUBLISHED, "dense"), x)


def test_the_split_is_the_seeds_own_and_leaves_no_day_out(city: City) -> None:
    task = FlowTask(city, "dense", "number")
    train, validation = task.split(3)
    assert sorted([*train, *validation]) == list(range(16))
    assert len(validation) == 2  # 15 % of 16
    assert any(task.split(3)[1].tolist() != task.split(seed)[1].tolist() for seed in range(4, 9))


def test_only_scored_steps_count(city: City) -> None:
    task = FlowTask(city, "sparse-step", "number")
    x, a, y = task.batch(np.array([[0, 1], [2, 3]]))
    assert (x.shape, a.shape, task.until) == ((2, 218, 2, 4), (2, 218, 2, 1), 218)
    wrong = y.clone()
    wrong[:, 100] += 9.0
    assert task.errors(wrong, y).tolist() == [0.0, 0.0]
    wrong[1, 72] += 9.0
    assert task.errors(wrong, y)[1] == pytest.approx(81 / 9)


def test_the_clock_and_the_harmonics(city: City) -> None:
    plain, waves, nothing = (clock_inputs(city.train, clock) for clock in ("number", "harmonics", "none"))
    assert nothing.shape == (288, 16, 0)
    assert (plain[0, 0, 0], plain[-1, 3, 0], waves.shape) == (0.0, 1.0, (288, 16, 29))
    # 2019-01-05 was a Saturday, 2019-01-07 a Monday.
    assert [float(waves[0, day, -1]) for day in (3, 4, 5, 6)] == [0, 1, 1, 0]
    assert torch.allclose(waves[:, 0, :24], waves[:, 1, :24], atol=1e-5)  # harmonics of the day
    assert torch.allclose(waves[:, 0, 24:], waves[:, 7, 24:], atol=1e-5)  # of the week
    assert not torch.allclose(waves[:, 0, 24:], waves[:, 1, 24:], atol=0.1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.drop(index=30), "has 23 of 24 steps"),
        (lambda table: table.iloc[: 24 * 5], "has 4 days to learn from"),
        (lambda table: table.assign(out_a=np.nan), "out_a is nan"),
        (lambda table: table.assign(in_a=-1.0), "in_a is -1"),
        (lambda table: table.rename(columns={"out_a": "leave"}), "no columns in_"),
        (lambda table: table.assign(site=["a", "b"] * 120), "the sites 'a', 'b'"),
    ],
)
def test_other_tables_are_refused(change, message: str, tmp_path: Path) -> None:
    times = pd.date_range("2001-01-01", periods=240, freq="h")
    table = pd.DataFrame({"time": times, "in_a": 1.0, "out_a": 1.0})
    change(table).to_csv(tmp_path / "shop.csv", index=False)
    with pytest.raises(DataError, match=message):
        read_city(str(tmp_path / "shop.csv"))
