"""The paper's printed numbers: complete, and those that published scores by basin give."""

import numpy as np
import pandas as pd
import pytest

from mclstm.evaluation.comparison import ModelScores, summary
from mclstm.evaluation.published_scores import MODEL_NAMES, PROCESS, process_models
from mclstm_paper.hydrology.printed import (
    ENSEMBLES,
    is_papers_setting,
    printed_quartiles,
    printed_value,
)
from support.shared_data import shared


def test_every_number_of_the_papers_table_has_its_place() -> None:
    assert len(ENSEMBLES) == 12
    assert all(len(numbers) == 12 for numbers in ENSEMBLES.values())
    for name, numbers in ENSEMBLES.items():
        for at, metric in enumerate(("nse", "beta-nse", "flv", "fhv")):
            median, low, high = numbers[3 * at : 3 * at + 3]
            assert low < median < high, (name, metric)
            assert printed_value(name, metric) == median


def test_the_published_scores_give_the_papers_medians_and_quartiles() -> None:
    """NSE and beta-NSE of five process models over the 447 basins: thirty numbers of the paper's table."""
    basins = shared("basins_447.txt").read_text().split()
    assert is_papers_setting(basins, "1989-10-01", "1999-09-30")
    assert not is_papers_setting(basins[1:], "1989-10-01", "1999-09-30")
    file = shared("benchmarks") / PROCESS
    table = pd.read_csv(file, dtype={"gauge_id": str})
    table = table[table["gauge_id"].isin(basins)]
    # mu / sd of the observations from the most biased model of a basin: beta^2 = 2 alpha r - alpha^2 - NSE.
    alpha = table["Gamma"] * table["Beta"]
    square = (2 * alpha * table["rPearson"] - alpha**2 - table["NSE"]).clip(lower=0)
    table["ratio"] = np.sqrt(square) / (table["Beta"] - 1).abs()
    worst = table.loc[(table["Beta"] - 1).abs().groupby(table["gauge_id"]).idxmax()].set_index("gauge_id")
    stats = pd.DataFrame({"mean": worst["ratio"], "deviation": 1.0})
    for name, frame in process_models(file, stats).items():
        if name in MODEL_NAMES:
            assert len(frame) == 447
            for metric in ("nse", "beta-nse"):
                found = summary(ModelScores(MODEL_NAMES[name], (frame,)), metric)
                assert found is not None
                median, low, high = printed_quartiles(MODEL_NAMES[name], metric)
                assert (found.value, found.low, found.high) == pytest.approx((median, low, high), abs=6e-4), (
                    name
                )
