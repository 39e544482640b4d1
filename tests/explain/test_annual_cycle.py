"""Annual cycles: means and sums by hand, whole years only, days on which everything is known."""

import numpy as np
import pandas as pd
import pytest

from mclstm.explain.annual_cycle import annual_cycle, compare, whole_years, yearly_sum

MONTHS = range(1, 13)
# January 1 ... July 7, then down again.
PET = pd.Series([1.0, 2, 3, 4, 5, 6, 7, 6, 5, 4, 3, 2], index=MONTHS)


def daily(first: str, last: str, cycle: pd.Series) -> pd.Series:
    days = pd.date_range(first, last)
    return pd.Series(cycle.loc[days.month].to_numpy(), index=days)


@pytest.mark.parametrize(
    ("first", "last", "years"),
    [
        ("1989-10-01", "1999-09-30", 10),
        ("1989-10-01", "1999-09-29", 9),
        ("2000-03-01", "2001-02-28", 1),
        ("2001-01-01", "2001-12-30", 0),
    ],
)
def test_only_whole_years_count(first: str, last: str, years: int) -> None:
    days = pd.date_range(first, last)
    kept = days[whole_years(days)]
    assert len(kept) == (pd.Timestamp(first) + pd.DateOffset(years=years) - pd.Timestamp(first)).days
    assert whole_years(days[:0]) == slice(0, 0)


def test_the_means_are_those_of_the_months() -> None:
    series = daily("2001-01-01", "2003-06-30", PET)
    series.loc["2002-07-01":"2002-07-31"] = 9.0  # type: ignore[misc]
    series.loc["2003-01-01":] = 1e6  # type: ignore[misc] # half a year: must not count
    cycle = annual_cycle(pd.DataFrame({"pet": series}))["pet"]
    assert list(cycle.index) == [10, 11, 12, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert cycle[7] == pytest.approx((7.0 + 9.0) / 2)
    assert cycle.drop(7).to_dict() == PET.drop(7).to_dict()


def test_series_are_compared_on_the_days_that_all_know() -> None:
    rising = pd.Series(np.arange(365.0), index=pd.date_range("2001-01-01", periods=365))
    gaps = rising.mask(rising.index.day > 2)
    cycle = annual_cycle(pd.DataFrame({"one": rising, "two": gaps}))
    assert cycle.loc[1].tolist() == [0.5, 0.5]  # the first two days of January
    assert cycle["one"].equals(cycle["two"])
    nothing = annual_cycle(pd.DataFrame({"one": rising, "two": rising.mask(rising.index.month == 3)}))
    assert nothing.loc[3].isna().all()
    assert annual_cycle(pd.DataFrame({"one": rising.iloc[:-1]})).isna().all(axis=None)


def test_numbers_by_hand() -> None:
    # 31 (1+3+5+7+6+4+2) + 30 (4+6+5+3) + 28.25 x 2
    assert yearly_sum(PET) == 31 * 28 + 30 * 18 + 56.5
    late = pd.Series(np.roll(PET.to_numpy(), 1), index=MONTHS)  # a month behind
    found = compare(late, PET)
    # Sum of squares about the mean 4: 9+4+1+0+1+4+9+4+1+0+1+4 = 38; of the products with the neighbour 32.
    assert found.r == pytest.approx(32 / 38)
    assert (found.peak, found.reference_peak) == (8, 7)
    assert found.ratio == pytest.approx(yearly_sum(late) / yearly_sum(PET))
    assert compare(PET * 0.25 + 0, PET)[:2] == pytest.approx((1.0, 0.25))
    assert compare(10 - PET, PET).r == pytest.approx(-1.0)


def test_order_does_not_matter_and_nothing_divides_by_zero() -> None:
    assert compare(PET.iloc[::-1], PET) == compare(PET, PET)
    flat = pd.Series(2.0, index=MONTHS)
    assert np.isnan(compare(flat, PET).r)
    assert np.isnan(compare(PET, 0 * flat).ratio)
