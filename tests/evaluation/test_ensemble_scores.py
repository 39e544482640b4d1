"""CRPS and coverage of ensembles, beside their definitions and ensembles whose answer is known."""

import numpy as np
import pytest
import xarray as xr

from mclstm.evaluation.ensemble_scores import LEVELS, coverage, crps, ensemble_table
from mclstm.evaluation.metrics import mae


def drawn(members: int, steps: int, spread: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    source = np.random.default_rng(0)
    return spread * source.standard_normal((members, steps)), source.standard_normal(steps)


@pytest.mark.parametrize("members", [1, 2, 7])
def test_crps_is_its_integral(members: int) -> None:
    """The integral over all values of (share of members below it - whether the observation is below it)^2."""
    x, o = drawn(members, 30)
    values = np.linspace(-8, 8, 40_001)
    below = (x[..., np.newaxis] <= values).mean(0) - (o[:, np.newaxis] <= values)
    assert crps(x, o) == pytest.approx((below**2).sum(-1).mean() * (values[1] - values[0]), rel=1e-3)


def test_one_member_has_its_mae_and_gaps_do_not_count() -> None:
    x, o = drawn(1, 50)
    assert crps(x, o) == pytest.approx(mae(x[0], o), rel=1e-14)
    x, o = drawn(5, 50)
    gaps = o.copy()
    gaps[::3] = np.nan
    known = np.isfinite(gaps)
    assert crps(x, gaps) == crps(x[:, known], o[known])
    assert coverage(x, gaps, 90) == coverage(x[:, known], o[known], 90)
    assert np.isnan(crps(x, np.full(50, np.nan)))
    assert np.isnan(coverage(x, np.full(50, np.nan), 50))


@pytest.mark.parametrize("level", LEVELS)
def test_coverage_of_a_reliable_ensemble_is_its_level(level: int) -> None:
    x, o = drawn(400, 2000)
    assert coverage(x, o, level) == pytest.approx(level / 100, abs=0.03)
    assert coverage(0.3 * x, o, level) < level / 100 - 0.2
    assert crps(x, o) < min(crps(0.3 * x, o), crps(3 * x, o))  # the honest spread scores best


def test_the_table_has_a_row_for_every_site_and_target() -> None:
    x, o = drawn(4, 20)
    dims = ("member", "site", "time")
    flows = {
        name: (dims[3 - value.ndim :], value)
        for target in ("rain", "snow")
        for name, value in (
            (f"simulated_{target}", np.stack([x.mean(0)] * 2)),
            (f"observed_{target}", np.stack([o, o + 1])),
            (f"by_member_{target}", np.stack([x, x], axis=1)),
        )
    }
    table = ensemble_table(xr.Dataset(flows, {"site": ["A", "B"], "time": range(20)}))
    assert table[["site", "target"]].to_numpy().tolist() == [
        ["A", "rain"], ["B", "rain"], ["A", "snow"], ["B", "snow"],
    ]  # fmt: skip
    assert table["crps"].tolist() == pytest.approx([crps(x, o), crps(x, o + 1)] * 2)
    assert ensemble_table(xr.Dataset({"simulated": (("site", "time"), [[1.0]])}, {"site": ["A"]})).empty


@pytest.mark.parametrize(("members", "observed"), [((3,), (3,)), ((2, 3), (4,)), ((0, 3), (3,))])
def test_wrong_shapes_are_refused(members: tuple[int, ...], observed: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="Score one site"):
        crps(np.zeros(members), np.zeros(observed))
