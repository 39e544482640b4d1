"""A warning where the scores of training and validation part."""

import warnings
from pathlib import Path

import pytest

from mclstm import overfitting, pipeline
from mclstm.config import check_config
from mclstm.errors import DataWarning
from mclstm.evaluation.metrics import nse
from mclstm.overfitting import warn_of_overfitting
from support.small_run import brook, brook_config


def test_scores_that_part_are_said_and_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty updates on windows of ten days learn these five months by heart."""
    raw = brook_config(brook(tmp_path / "brook.csv"), updates=40)
    run = pipeline.train(check_config(raw), tmp_path / "runs", quiet=True)
    results = {split: pipeline.evaluate(run, split, figures=False) for split in ("train", "validation")}
    flows = results["train"].predictions.isel(time=slice(4, None))  # after the warm-up
    training = nse(flows["simulated"].to_numpy()[0], flows["observed"].to_numpy()[0])
    validation = float(results["validation"].scores["nse"].iloc[0])
    assert training - validation > overfitting.PARTED
    with pytest.warns(
        DataWarning, match=f"has an NSE of {training:.2f}, validation one of {validation:.2f}: "
    ):
        warn_of_overfitting(run)
    monkeypatch.setattr(overfitting, "PARTED", training - validation + 0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_overfitting(run)


def test_without_a_validation_period_nothing_is_compared(tmp_path: Path) -> None:
    raw = brook_config(brook(tmp_path / "brook.csv"), updates=2)
    del raw["periods"]["validation"]
    run = pipeline.train(check_config(raw), tmp_path / "runs", quiet=True)
    warn_of_overfitting(run)
