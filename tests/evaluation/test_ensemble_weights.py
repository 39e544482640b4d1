"""Convex weights of members: against scipy's constrained minimiser, and their limits."""

import numpy as np
import pytest
import xarray as xr
from scipy.optimize import minimize

from mclstm.errors import DataError
from mclstm.evaluation.ensemble import ensemble_mean, model_scores
from mclstm.evaluation.ensemble_weights import convex_weights, site_weights_of_members
from support.flows import flows


@pytest.mark.parametrize("seed", range(5))
def test_weights_are_the_constrained_minimum(seed: int) -> None:
    draw = np.random.default_rng(seed)
    observed = draw.gamma(1.0, 2.0, 200)
    simulated = np.abs(observed + draw.normal(0, [[0.5], [1.0], [2.0]], (3, 200)) + draw.normal(0, 0.3, 200))
    ours = convex_weights(simulated, observed, shrinkage=0.0)

    def squared(w: np.ndarray) -> float:
        return float(np.square(observed - w @ simulated).sum())

    limits = {"type": "eq", "fun": lambda w: w.sum() - 1}
    theirs = minimize(squared, np.full(3, 1 / 3), bounds=[(0, 1)] * 3, constraints=limits, tol=1e-12)
    np.testing.assert_allclose(ours, theirs.x, atol=1e-4)
    assert squared(ours) <= theirs.fun * (1 + 1e-6)


def test_weights_are_convex_and_shrink_to_equal_ones() -> None:
    draw = np.random.default_rng(0)
    observed = draw.random(50)
    simulated = np.stack([observed, draw.random(50), draw.random(50), 3 * observed])
    for shrinkage in (0.0, 0.3, 1.0):
        weights = convex_weights(simulated, observed, shrinkage)
        assert (weights >= shrinkage / 4 - 1e-15).all()
        assert weights.sum() == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_allclose(convex_weights(simulated, observed, 1.0), 0.25)


def test_only_what_was_observed_and_simulated_counts() -> None:
    draw = np.random.default_rng(1)
    observed, noise = draw.random(60), draw.random((2, 60))
    simulated = np.stack([observed, observed]) + noise
    gaps = observed.copy()
    gaps[10:20] = np.nan
    holed = simulated.copy()
    holed[0, 30:35] = np.nan
    present = np.r_[0:10, 20:30, 35:60]
    np.testing.assert_allclose(
        convex_weights(holed, gaps, 0.0), convex_weights(simulated[:, present], observed[present], 0.0)
    )
    assert convex_weights(simulated, np.full(60, np.nan)).tolist() == [0.5, 0.5]
    np.testing.assert_allclose(convex_weights(np.zeros((2, 60)), observed), 0.5)


def test_every_site_has_its_own_weights() -> None:
    draw = np.random.default_rng(2)
    observed = draw.random((2, 40))
    wrong = draw.random((2, 40))
    # Member 0 is right at site A, member 1 at site B.
    first, second = observed.copy(), wrong.copy()
    first[1], second[1] = wrong[1], observed[1]
    members = [
        xr.Dataset({"simulated": (("site", "time"), s), "observed": (("site", "time"), observed)})
        for s in (first, second)
    ]
    np.testing.assert_allclose(site_weights_of_members(members, 0.0), [[1, 0], [0, 1]], atol=1e-6)
    with pytest.raises(DataError, match="at least two members"):
        site_weights_of_members(members[:1])


def test_a_weighted_mean_keeps_the_ledger_and_stands_beside_the_plain_one() -> None:
    draw = np.random.default_rng(3)
    members = []
    for _ in range(3):
        rain, share = draw.random((2, 5)), draw.random((2, 5))
        stored = ((1 - share) * rain).cumsum(1)
        values = {"simulated": share * rain, "entered": rain, "outflow": (share * rain)[..., None]}
        parts = {name: (("site", "time", "outlet")[: v.ndim], v) for name, v in values.items()}
        ledger = {
            "storage": (("site", "time", "cell"), stored[..., None]),
            "observed": (("site", "time"), rain),
        }
        members.append(xr.Dataset(parts | ledger))
    weights = np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]])
    mean = ensemble_mean(members, weights)
    by_hand = sum(member["simulated"].to_numpy() * weights[:, [at]] for at, member in enumerate(members))
    np.testing.assert_allclose(mean["simulated"], by_hand, rtol=1e-15)
    gone = mean["outflow"].sum(["time", "outlet"]) + mean["storage"].isel(time=-1, cell=0)
    np.testing.assert_allclose(mean["entered"].sum("time"), gone, rtol=1e-14)
    assert mean.attrs["simulated"] == "weighted mean of 3 members"
    np.testing.assert_allclose(
        ensemble_mean(members, np.full((2, 3), 1 / 3))["simulated"],
        ensemble_mean(members)["simulated"],
        rtol=1e-14,
    )
    names = [
        one.name
        for one in model_scores("mclstm", [flows(("01", "02"), seed=s) for s in (1, 2, 3)], True, weights)
    ]
    assert names == ["mclstm", "mclstm-ensemble", "mclstm-weighted-ensemble"]
