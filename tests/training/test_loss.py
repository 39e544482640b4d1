"""Losses against their definitions, with gaps."""

import numpy as np
import torch

from mclstm.training.loop import planned_updates, rate_at
from mclstm.training.loss import Importance, importance_of, site_weights, weighted_error


def test_nse_weights_are_one_over_the_deviation_plus_a_tenth_squared() -> None:
    y = torch.rand(3, 50, 2, dtype=torch.float64)
    y[0, 3:9, 1] = float("nan")
    expected = (np.nanstd(y.numpy(), axis=1) + 0.1) ** -2
    np.testing.assert_allclose(site_weights(y, "nse").numpy(), expected)
    assert (site_weights(y, "mse") == 1).all()


def test_error_counts_only_what_was_observed() -> None:
    y, observed = torch.rand(6, 4, 1, requires_grad=True), torch.rand(6, 4, 1)
    observed[2:4, 1] = float("nan")
    weight = torch.rand(4, 1)
    known = torch.isfinite(observed)
    expected = ((y - observed) ** 2 * weight)[known].sum() / known.sum()
    found = weighted_error(y, observed, Importance(weight))
    torch.testing.assert_close(found, expected)
    found.backward()
    assert (y.grad[2:4, 1] == 0).all()
    assert weighted_error(y, torch.full_like(observed, float("nan")), Importance(weight)) == 0


def test_basin_averaged_nse_loss_is_one_minus_nse_over_sites() -> None:
    """With the floor left out, the mean weighted error of all sites is the mean of 1 - NSE."""
    observed, simulated = (
        torch.rand(3, 400, 1, dtype=torch.float64),
        torch.rand(3, 400, 1, dtype=torch.float64),
    )
    weight = observed.std(1, correction=0) ** -2
    loss = weighted_error(simulated.transpose(0, 1), observed.transpose(0, 1), Importance(weight))
    gap = ((simulated - observed) ** 2).sum(1) / ((observed - observed.mean(1, keepdim=True)) ** 2).sum(1)
    torch.testing.assert_close(loss, gap.mean())


def test_a_peak_that_is_simulated_too_low_counts_more() -> None:
    record = torch.rand(2, 300, 1, dtype=torch.float64)
    record[0, 5:30] = float("nan")
    importance = importance_of(record, "nse", quantile=0.9, extra=0.5)
    high = np.nanquantile(record.numpy(), 0.9, axis=1)
    np.testing.assert_allclose(importance.high, high)
    site = torch.tensor([1, 0, 1])
    observed, y = record[site, 100:150].transpose(0, 1), torch.rand(50, 3, 1, dtype=torch.float64)
    missed = (observed > torch.from_numpy(high)[site]) & (y < observed)
    assert missed.any()
    squares = (y - observed) ** 2 * site_weights(record, "nse")[site]
    expected = (squares * torch.where(missed, 1.5, 1.0)).mean()
    torch.testing.assert_close(weighted_error(y, observed, importance.of(site)), expected)
    plain = weighted_error(y, observed, importance.of(site, peaks=False))
    torch.testing.assert_close(plain, squares.mean())


def test_the_error_of_members_is_the_sum_of_their_own() -> None:
    y, observed = torch.rand(3, 6, 4, 2), torch.rand(3, 6, 4, 2)
    observed[1, 2:4, 1] = float("nan")
    weight, high = torch.rand(3, 4, 2), torch.full((3, 4, 2), 0.5)
    each = [weighted_error(y[e], observed[e], Importance(weight[e], high[e], 0.5)) for e in range(3)]
    together = weighted_error(y, observed, Importance(weight, high, 0.5))
    torch.testing.assert_close(together, torch.stack(each).sum())


def test_a_schedule_holds_from_its_step_on() -> None:
    rates = [rate_at(0.01, {20: 0.005, 25: 0.001}, step) for step in (0, 19, 20, 24, 25, 99)]
    assert rates == [0.01, 0.01, 0.005, 0.005, 0.001, 0.001]


def test_a_run_ends_with_whatever_comes_first() -> None:
    assert planned_updates(10, 4, epochs=3, updates=None) == 9
    assert planned_updates(10, 4, epochs=3, updates=5) == 5
    assert planned_updates(10, 4, epochs=None, updates=500) == 500
