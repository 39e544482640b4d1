"""Ages on the page add up, and what is behind a peak is all of it."""

import numpy as np
import pandas as pd
import pytest

from .conftest import SITES, Built, site_content


def test_shares_of_ages_sum_to_one_and_peaks_to_their_outflow(built: Built) -> None:
    content = site_content(built, 0)
    ages, (target,) = content["ages"]["mclstm"], content["targets"]
    np.testing.assert_allclose(np.sum(ages["shares"], axis=0), 1, atol=5e-3)
    assert 0 < ages["young"] <= 1
    assert ages["outlet"] == target["name"] == "flow"
    steps = [peak["at"] for peak in ages["peaks"]]
    assert min(np.diff(sorted(steps))) >= 15
    for peak in ages["peaks"]:
        parts = sum(peak["gave"]) + peak["earlier"] + peak["start"]
        assert parts == pytest.approx(peak["flow"], rel=2e-3)
        # What was traced is what was simulated.
        assert peak["flow"] == pytest.approx(target["simulated"]["mclstm"][peak["at"]], rel=2e-3)
        assert peak["most"][0][1] == max(amount for _, amount in peak["most"])
        assert pd.Timestamp(peak["times"][0], unit="s") == pd.Timestamp("2001-07-01") + pd.Timedelta(
            days=peak["at"]
        )


def test_only_the_first_sites_are_traced(built: Built) -> None:
    assert [bool(site_content(built, at)["ages"]) for at in range(len(SITES))] == [True, True, False]
