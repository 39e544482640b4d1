"""`fit` with patterns, sequences, harmonics, scored times, a residence time and members."""

import numpy as np
import pytest
import torch

import mclstm
from mclstm.errors import ConfigError
from mclstm.fitted import Fitted
from mclstm.models.members import Members
from support.small_city import BEGIN, END, city

DAYS = {"begin": BEGIN, "end": END}


def fitted(**options: object) -> Fitted:
    settings = {"hidden_size": 4, "head": "mcfc", "updates": 2, "sequences": DAYS, "loss": "mse"}
    return mclstm.fit(city(6), mass="in_*", target="out_*", **settings | options)  # type: ignore[arg-type]


def test_days_begin_empty_and_harmonics_and_patterns_reach_the_model() -> None:
    model = fitted(time_of_day=2, weekend=True)
    assert model.roles.mass == ("in_west", "in_north")
    result = model.simulate(city(2))
    assert np.isnan(result["simulated_out_east"].to_numpy()[0, :4]).all()
    assert result["sequence"].to_numpy()[0, [3, 4, 28]].tolist() == [-1, 0, 1]
    first = result.isel(site=0, time=4)
    total = float(first["storage"].sum() + first["outflow"].sum())
    assert total == pytest.approx(float(first["inflow"]), rel=1e-6)  # nothing was there before
    assert model.model.layer.gates.aux_size == 5


def test_members_are_those_of_their_seeds() -> None:
    both = fitted(members=2, seed=5)
    assert isinstance(both.model, Members)
    alone = fitted(seed=6)
    theirs = both.model.alone()[1].state_dict()
    eps = float(torch.finfo(torch.float32).eps)
    for name, value in alone.model.state_dict().items():
        torch.testing.assert_close(theirs[name], value, rtol=100 * eps, atol=100 * eps)
    simulated = both.simulate(city(1))
    np.testing.assert_allclose(
        simulated["by_member_out_east"].sel(member=6),
        alone.simulate(city(1))["simulated_out_east"],
        rtol=1e-4,
    )


def test_scored_times_and_residence() -> None:
    model = fitted(scored=["06:00-08:00"], impute="mean", residence="3h", updates=1, learning_rate=1e-9)
    assert model.model.layer.gates.b_o.detach().numpy() == pytest.approx(-np.log(3.0), rel=1e-6)
    known = city(6).between_time("06:00", "08:00")["out_east"]
    assert model.moments["out_east"].mean == pytest.approx(known.mean())


def test_a_hybrid_is_that_of_a_config() -> None:
    gates = fitted(model="hybrid", updates=1, members=None).model.layer.gates
    assert (gates.form.redistribution_norm, gates.form.input_norm) == ("relu", "sigmoid")
    assert (gates.form.gates_see, gates.stay) == (("aux", "state", "mass"), None)
    with pytest.raises(ConfigError, match="members would draw their dropout from one stream"):
        fitted(model="hybrid", members=2)  # it has dropout by default
    assert isinstance(fitted(model="hybrid", members=2, dropout=0.0, updates=1).model, Members)


def test_what_is_refused() -> None:
    with pytest.raises(ConfigError, match="sequences replace length, warmup and stride"):
        fitted(warmup=3)
    with pytest.raises(ConfigError, match=r"fit, sequences.*no time of a day"):
        fitted(sequences={"begin": "dawn"})
    with pytest.raises(ConfigError, match="fit: has residence, which sets stay and output_bias, and stay"):
        fitted(residence="3h", stay=0.5)
    for wrong, message in (
        (
            {"model": "lstm", "residence": "3h"},
            "fit, residence: there is no such key. It is a key of mclstm and hybrid.",
        ),
        ({"hidden_siz": 3}, "fit, hidden_siz: there is no such argument. Did you mean 'hidden_size'"),
        ({"head": "mcfcc"}, "fit, head: needs 'sum', 'linear', 'mcfc' or 'scaled'; got 'mcfcc'"),
        ({"hidden_size": "many"}, "fit, hidden_size: needs"),
        ({"residence": "soon"}, "'soon' is no duration above zero"),
    ):
        with pytest.raises(ConfigError) as caught:
            fitted(**wrong)
        assert message in str(caught.value)
        assert len(str(caught.value).splitlines()) == len(wrong)  # of lstm also the head
    with pytest.raises(ConfigError, match="no sequences to skip"):
        fitted(sequences=None, missing_mass="skip", length=20, warmup=4, stride=None)
