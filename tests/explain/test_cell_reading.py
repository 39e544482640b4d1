"""What is said of a cell follows from numbers of years that did not choose it."""

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

from mclstm.data.scaling import moments
from mclstm.data.windows import tensors
from mclstm.explain.cell_reading import cell_sentence, read_cells, season, steering
from mclstm.models.mass_model import MassModel, build_mass
from mclstm.models.output import Sizes

DAYS = 4 * 365
TIME = pd.date_range("2001-01-01", periods=DAYS)


def weather() -> xr.Dataset:
    source = np.random.default_rng(0)
    series = xr.Dataset(coords={"site": ("site", ["A"]), "time": ("time", TIME)}, attrs={"step": "D"})
    warm = 10 * np.sin(2 * np.pi * TIME.day_of_year.to_numpy() / 365.25) + source.normal(size=DAYS)
    columns = {"rain": source.gamma(0.5, 4.0, DAYS), "warm": warm, "noise": source.normal(size=DAYS)}
    roles = {"rain": "mass", "warm": "aux", "noise": "aux", "flow": "target"}
    for name, values in (columns | {"flow": np.ones(DAYS)}).items():
        role = roles[name]
        series[name] = (("site", "time"), values[np.newaxis], {"role": role, "units": "1"})
    return series


def steered_by_warmth() -> MassModel:
    """Two cells that exchange nothing: one keeps a twentieth each day, the other waits for warmth."""
    model = build_mass(Sizes(1, 2, 0, ["flow"]), None, hidden_size=2, trash_cell=False,
                       redistribution="identity", gates_see=("aux",))  # fmt: skip
    with torch.no_grad():
        for name in ("W_i", "b_i", "W_o"):
            getattr(model.layer.gates, name).zero_()
        model.layer.gates.b_o.copy_(torch.tensor([3.0, -4.0]))
        model.layer.gates.W_o[1, 0] = 2.0
    return model


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    series = weather()
    data = tensors(series, moments(series), torch.float32)
    stored = steered_by_warmth()(data.x.transpose(0, 1), data.a.transpose(0, 1), data.static).c
    assert stored is not None
    snow = stored[1:, 0, 1].detach().double().numpy().copy()
    snow[::3] = np.nan
    return read_cells(steered_by_warmth(), data, series, "A", {"snow": pd.Series(snow, index=TIME)[::-1]})


def test_cells_come_by_their_turnover(table: pd.DataFrame) -> None:
    assert table["cell"].tolist() == [0, 1]
    # Of a share o that leaves each day n = (1 - o) / o days are left, the day of entry not counted.
    leaves = 1 / (1 + np.exp(-3.0))
    assert table["turnover (days)"][0] == pytest.approx((1 - leaves) / leaves, rel=1e-4)
    assert table["turnover (days)"][1] > 10
    assert table["share of storage"].sum() == pytest.approx(1.0)


def test_a_seasonal_cell_is_told_with_what_opens_it(table: pd.DataFrame) -> None:
    slow = table.iloc[1]
    assert slow["opens with"] == "warm"
    assert slow["r of opening"] > 0.95
    assert slow["fullest in"] in ("December", "January")  # it is coldest in October
    sentence = cell_sentence(slow)
    assert f"fullest in {slow['fullest in']}" in sentence
    assert "empties faster with high warm" in sentence
    assert "fullest" not in cell_sentence(table.iloc[0])


def test_storages_stand_beside_yardsticks(table: pd.DataFrame) -> None:
    slow = table.iloc[1]
    assert slow["r with snow"] == pytest.approx(1.0)
    assert slow["r of the date with snow"] < 0.99
    assert slow["r of the total with snow"] < 1.0
    told = "and follows snow (r = 1.00; the date alone "
    assert [told in cell_sentence(row) for _, row in table.iterrows()] == [False, True]
    # A cell that the date, or all cells together, match says nothing of that storage.
    for yardstick in ("r of the date with snow", "r of the total with snow"):
        assert told not in cell_sentence(slow.where(slow.index != yardstick, 1.0))


def test_noise_supports_no_word() -> None:
    source = np.random.default_rng(1)
    noise = {name: source.normal(size=DAYS) for name in "abcdefgh"}
    about = {"cell": 0, "losses": "", "share of storage": 0.5, "turnover (days)": 3.0}
    about |= steering(source.random(DAYS), noise) | season(source.random(DAYS), TIME)
    assert (
        cell_sentence(pd.Series(about)) == "Cell 0 holds 50 % of the stored mass for 3 d before it moves on."
    )
    empty = cell_sentence(pd.Series(about | {"losses": "evaporation", "share of storage": 0.0}))
    assert empty == "Cell 0 (evaporation) is nearly always empty."


def test_a_short_record_has_no_season() -> None:
    assert season(np.ones(100), TIME[:100])["fullest in"] == ""
