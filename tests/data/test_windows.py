"""Windows, moments and seasons, against slices written out by hand."""

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

from mclstm.data.features import with_season
from mclstm.data.manifest import digest, manifest, require_same
from mclstm.data.read import from_frames
from mclstm.data.scaling import Moment, moments, moments_from_json
from mclstm.data.site_tables import Roles
from mclstm.data.windows import Tensors, Windows, gather, span, tensors, windows
from mclstm.errors import CheckpointError, DataError
from mclstm.training.learner import batch_of

DAYS = 60


def series(gap: bool = True) -> xr.Dataset:
    """Two sites; B begins ten days later; some flows are missing."""
    frames = {}
    for number, (site, late) in enumerate((("A", 0), ("B", 10))):
        days = pd.date_range("2001-01-01", periods=DAYS)[late:]
        steps = np.arange(late, DAYS, dtype=float)
        flow = steps + 1000 * number
        if gap:
            flow[5:8] = np.nan
        frames[site] = pd.DataFrame({"rain": steps % 7, "t": steps - 30, "flow": flow}, index=days)
    return from_frames(frames, Roles(("rain",), ("t",), (), ("flow",)))


def test_mass_is_as_it_was_and_auxiliaries_are_standardised() -> None:
    table = series()
    found = moments(table.isel(time=slice(0, 30)))
    data = tensors(table, found, torch.float64)
    assert torch.equal(data.x[0, :, 0], torch.arange(DAYS, dtype=torch.float64) % 7)
    known = np.concatenate([np.arange(30) - 30.0, np.arange(10, 30) - 30.0])
    assert found["t"] == Moment(pytest.approx(known.mean()), pytest.approx(known.std()))
    np.testing.assert_allclose(data.a[0, :, 0], (np.arange(DAYS) - 30 - known.mean()) / known.std())
    assert (data.x[1, :10] == 0).all()
    assert not data.covered[1, :10].any()
    assert data.covered[0].all()


def visits(data: Tensors, where: Windows, shift: int) -> np.ndarray:
    """How often each step of each site counts when all windows are moved by one shift, (site, time)."""
    batch = gather(data, where, np.arange(len(where.site)), np.full(len(data.x), shift))
    counts = np.zeros(data.y.shape[:2], dtype=int)
    for column, (site, start) in enumerate(zip(batch.site, batch.start, strict=True)):
        assert data.covered[site, start : start + where.length].all()
        first = int(start) + where.length - where.scored
        counts[site, first : first + where.scored] += torch.isfinite(batch.y[:, column, 0]).numpy()
    return counts


@pytest.mark.parametrize("scheme", ["last", "sequence"])
@pytest.mark.parametrize("stride", [None, 1, 2])
def test_an_epoch_scores_every_step_of_the_period_equally_often(scheme: str, stride: int | None) -> None:
    table = series(gap=False)
    data = tensors(table, moments(table), torch.float64)
    length, warmup, period = 12, 8, (15, 50)
    if scheme == "last" and stride == 2:
        stride = 1  # every second day can only be scored in every second epoch
    where = windows(data, period, scheme, length, warmup, stride)
    scored = 1 if scheme == "last" else 4
    assert where.scored == scored
    for shift in range(where.every):
        counts = visits(data, where, shift)
        # Site B begins ten days later, and its first windows need the days before what they score.
        for site, low in ((0, period[0]), (1, max(period[0], 10 + length - scored))):
            assert (counts[site, low : period[1]] == scored // where.every).all()
            assert counts[site].sum() == (period[1] - low) * scored // where.every


@pytest.mark.parametrize(("days", "length", "warmup"), [(730, 545, 365), (900, 730, 365), (1095, 545, 365)])
def test_data_that_begins_with_the_training_period_is_used_to_its_end(
    days: int, length: int, warmup: int
) -> None:
    time = pd.date_range("2001-01-01", periods=days)
    frame = pd.DataFrame({"rain": 1.0, "flow": 1.0}, index=time)
    late = frame.iloc[days - length :]  # just one window long
    table = from_frames({"A": frame, "B": late}, Roles(("rain",), (), (), ("flow",)))
    data = tensors(table, moments(table), torch.float64)
    where = windows(data, (0, days), "sequence", length, warmup)
    for shift in (0, 1, where.every // 2, where.every - 1):
        counts = visits(data, where, shift)
        for site, low in ((0, warmup), (1, days - length + warmup)):
            assert not counts[site, :low].any()
            assert (counts[site, low:] == 1).all()


def test_windows_of_an_epoch_move_apart_and_over_epochs_begin_everywhere() -> None:
    """Were they to share one shift, all sites would be scored on the same days of a year."""
    days = pd.date_range("2001-01-01", periods=200)
    frame = pd.DataFrame({"rain": 1.0, "flow": 1.0}, index=days)
    table = from_frames({f"{n:02}": frame for n in range(40)}, Roles(("rain",), (), (), ("flow",)))
    data = tensors(table, moments(table), torch.float64)
    where = windows(data, (0, 200), "sequence", 30, 20)
    assert where.every == 10
    model = torch.nn.Identity()  # one model, no members
    starts = [
        batch_of(model, data, where, seed=0, epoch=epoch, part=slice(None)).start.numpy()
        for epoch in range(20)
    ]
    # Windows at either end of the record may not move beyond it.
    inner = [some[(some >= 10) & (some < 160)] % where.every for some in starts]
    assert len(set(inner[0])) > 5
    counts = np.bincount(np.concatenate(inner), minlength=10) / sum(map(len, inner))
    # 40 sites draw a shift in each of 20 epochs: 800 draws, deviation 0.011.
    np.testing.assert_allclose(counts, 0.1, atol=0.045)


def test_gather_is_the_slice() -> None:
    table = series(gap=False)
    data = tensors(table, moments(table), torch.float64)
    where = windows(data, (15, 50), "sequence", 12, 8, 2)
    chosen = np.array([2, len(where.site) - 3, 5])
    batch = gather(data, where, chosen, np.array([1, 0]))
    for column, index in enumerate(chosen):
        site = where.site[index]
        start = where.start[index] + (1 if site == 0 else 0)
        assert int(batch.start[column]) == start
        assert torch.equal(batch.x[:, column], data.x[site, start : start + 12])
        assert torch.equal(batch.a[:, column], data.a[site, start : start + 12])
        assert torch.equal(batch.y[:, column], data.y[site, start + 8 : start + 12])
    assert batch.x.shape == (12, 3, 1)
    assert batch.y.shape == (4, 3, 1)


def test_windows_without_any_observation_are_left_out() -> None:
    table = series()
    table["flow"][:] = np.nan
    table["flow"][0, 40] = 1.0
    data = tensors(table, moments(table), torch.float64)
    where = windows(data, (0, DAYS), "last", 5, 0)
    assert where.site.tolist() == [0]
    assert where.start.tolist() == [36]
    table["flow"][0, 40] = np.nan
    with pytest.raises(DataError, match="no window of 5 steps"):
        windows(tensors(table, {"t": Moment(0.0, 1.0)}, torch.float64), (0, DAYS), "last", 5, 0)


def test_a_period_outside_the_data_is_named() -> None:
    table = series()
    assert span(table, ("2001-01-03", "2001-01-05"), "train") == (2, 5)
    with pytest.raises(DataError, match=r"test period 1999-01-01 to 1999-12-31 holds no step; .* 2001-01-01"):
        span(table, ("1999-01-01", "1999-12-31"), "test")


def test_season_is_a_circle_of_one_year() -> None:
    table = with_season(series())
    sine, cosine = table["season_sine"].to_numpy(), table["season_cosine"].to_numpy()
    np.testing.assert_allclose(sine**2 + cosine**2, 1.0)
    assert sine[0, 0] == pytest.approx(np.sin(2 * np.pi / 365.25))
    with pytest.raises(DataError, match="already has a column"):
        with_season(table)


def test_moments_are_restored_or_refused() -> None:
    assert moments_from_json({"t": [1.0, 2.0]}, "x.json") == {"t": Moment(1.0, 2.0)}
    for bad in ({"t": 1.0}, {"t": [1.0]}, {"t": ["a", 1]}, {"t": [1.0, 0.0]}, {"t": [float("nan"), 1.0]}):
        with pytest.raises(CheckpointError, match=r"x\.json"):
            moments_from_json(bad, "x.json")


def test_a_training_period_without_values_is_refused() -> None:
    table = series()
    table["flow"][:] = np.nan
    with pytest.raises(DataError, match="flow has no value in the training period"):
        moments(table)


def test_the_manifest_notices_a_changed_value() -> None:
    table = series()
    stored = manifest(table, "river.csv")
    require_same(digest(series()), stored, "river.csv")
    assert stored["variables"]["flow"]["missing"] == 6 + 10
    table["rain"][0, 3] += 1.0
    with pytest.raises(DataError, match="changed since this run began"):
        require_same(digest(table), stored, "river.csv")
