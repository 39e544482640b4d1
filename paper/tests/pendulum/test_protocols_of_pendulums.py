"""The switches of the pendulum and of the Hamiltonian comparison: what each does, and no more."""

import numpy as np
import pytest

from mclstm_paper.hnn.experiment import EXPERIMENT as HNN
from mclstm_paper.hnn.mass_training import series_recipe
from mclstm_paper.options import Options, Plan
from mclstm_paper.pendulum import training
from mclstm_paper.pendulum.experiment import EXPERIMENT as PENDULUM
from mclstm_paper.pendulum.settings import LSTM, MASS_MODELS, recipe
from mclstm_paper.pendulum.task import some_series
from mclstm_paper.protocols import PROTOCOLS, Switch


def test_the_papers_own_models_differ_by_three_settings() -> None:
    stated, published = (recipe("mclstm", protocol) for protocol in PROTOCOLS)
    assert (stated.weight_decay, published.weight_decay) == (0.0, 1e-5)
    assert (stated.separate_scales, published.separate_scales) == (False, True)
    assert (stated.sight.sees, published.sight.sees) == ("share", "cells")
    same = {"weight_decay": 0.0, "separate_scales": False, "sight": stated.sight}
    assert published._replace(**same) == stated


def test_variants_are_the_same_under_both_protocols() -> None:
    for model in ("mclstm-invariant", "mclstm-clock"):
        assert recipe(model, "stated") == recipe(model, "published")


def test_the_outlet_is_given_away(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {}

    def forecasts(sets, plan, aux, goal, monitor, *, numbers, closed):
        seen["closed"] = closed
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "forecasts", forecasts)
    for protocol, expected in (("stated", [False, False]), ("published", [True, False])):
        plan = recipe("mclstm-clock", protocol)
        with pytest.raises(KeyboardInterrupt):
            training.learn_sets(
                tmp_path, None, 1, "mclstm-clock", plan, protocol, some_series([0, 1]), [0, 1]
            )
        assert seen["closed"] == expected


def test_the_leak_is_the_published_ones() -> None:
    assert series_recipe("mclstm", "published") == recipe("mclstm", "published")._replace(aux="motion")
    for model in MASS_MODELS:
        assert series_recipe(model, "stated") == recipe(model, "stated")
        assert series_recipe(model, "stated").aux != "motion"


@pytest.mark.parametrize("task", [PENDULUM, HNN], ids=["pendulum", "hnn"])
def test_without_switches_the_protocols_are_one(task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Switch, "on", lambda switch, protocol: False)
    stated, published = (
        [
            (job.name, job.goal, job.parameters | {"protocol": None})
            for job in task.jobs(Plan(Options(profile="paper", protocol=protocol)))
        ]
        for protocol in PROTOCOLS
    )
    assert stated == published
    for model in (*MASS_MODELS, LSTM):
        assert recipe(model, "stated") == recipe(model, "published")


def test_rates_fall_to_their_share() -> None:
    rates = np.array(recipe("mclstm-invariant", "stated").rates(3_000))
    assert (rates[:1_500] == rates[0]).all()
    assert (np.diff(rates[1_500:]) < 0).all()
    assert np.isclose(rates[-1] / rates[0], 0.02, rtol=0.01)
