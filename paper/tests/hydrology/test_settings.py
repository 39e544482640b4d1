"""Protocols, schemes and profiles become configs: exactly these."""

import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from mclstm.cli.main import main
from mclstm.config import Config, HybridConfig, check_config
from mclstm.config.training import PeakConfig
from mclstm.errors import ConfigError
from mclstm.series_from_config import read_series
from mclstm_paper.hydrology.basins import FIVE, THIRTY
from mclstm_paper.hydrology.models import ATTRIBUTES, EXTRA, config_of
from mclstm_paper.hydrology.trials import flat
from mclstm_paper.options import Options, Plan
from mclstm_paper.registry import experiment

# The config that member 0 of the record was trained with by hand, but for name, threads and path.
STATED = """
name: hydrology-mclstm
data: {path: /camels, reader: camels_us, mass: [prcp], aux: [srad, tmax, tmin, vp], target: [discharge]}
periods:
  train: [1999-10-01, 2008-09-30]
  validation: [1980-10-01, 1989-09-30]
  test: [1989-10-01, 1999-09-30]
model:
  name: mclstm
  hidden_size: 64
  redistribution: dynamic
  redistribution_norm: relu
  input_norm: sigmoid
  gates_see: [aux, state, mass]
  stay: null
  output_bias: -3.0
training:
  scheme: sequence
  length: 545
  warmup: 365
  warmup_gradient: false
  batch_size: 256
  updates: 1500
  learning_rate: 0.01
  schedule: {1000: 0.005, 1250: 0.001}
  schedule_by: update
  clip: 1.0
  loss: nse
  validate_every: 12
  checkpoint_every: 20
  seed: 0
"""


def made(model: str = "mclstm", member: int = 0, **options: Any) -> Config:
    chosen = Options(**{"profile": "paper", "data": Path("/camels"), **options})
    return check_config(config_of(model, chosen, member))


def test_the_stated_protocol_is_the_papers_design_trained_by_sequences() -> None:
    raw = yaml.safe_load(STATED)
    raw["data"]["static"] = list(ATTRIBUTES)
    assert made() == check_config(raw)
    assert len(set(ATTRIBUTES)) == 27


def test_the_lstm_differs_in_nothing_but_the_model() -> None:
    lstm, mclstm = made("lstm", member=3), made(member=3)
    assert (lstm.model.hidden_size, lstm.model.forget_bias) == (128, 3.0)
    assert lstm.data == mclstm.data
    assert lstm.training == mclstm.training
    assert lstm.training.seed == 3


def test_the_published_protocol_switches_what_the_published_code_did() -> None:
    stated, published = made(scheme="last"), made(protocol="published")
    assert published.training.scheme == "last"
    assert stated.training.schedule == {20: 0.005, 25: 0.001}
    assert published.training.schedule == {19: 0.005, 24: 0.001}
    changed = {"state_norm": "batch", "output_bias": 3.0}
    assert published.model == stated.model.model_copy(update=changed)
    assert set(stated.data.static) - set(published.data.static) == {"p_seasonality"}
    assert published.training.model_copy(update={"schedule": {}}) == stated.training.model_copy(
        update={"schedule": {}}
    )
    assert made(protocol="published", scheme="sequence").training.schedule == {950: 0.005, 1200: 0.001}


def test_the_papers_scheme_uses_the_weights_of_the_last_of_thirty_epochs() -> None:
    training = made(scheme="last").training
    assert (training.length, training.epochs, training.updates) == (365, 30, None)
    assert training.validate_every == training.epochs
    assert made(scheme="last").evaluation.restart == 1
    assert made().evaluation.restart is None


STEADY = {"training.average": 0.998, "training.schedule": {}}
SMALL = {
    "model.hidden_size": 32,
    "training.batch_size": 64,
    "training.average": 0.999,
    "training.learning_rate": 0.005,
    "training.schedule": {},
}
CHANGED: dict[str, dict[str, Any]] = {
    "mclstm-small-batches": {"training.updates": 6000, **SMALL},
    "mclstm-antecedent": {"training.updates": 4000, "data.antecedent": [7, 30, 90], **SMALL},
    "mclstm-full-gradient": {"training.warmup_gradient": True},
    "lstm-full-gradient": {"training.warmup_gradient": True},
    "lstm-dropout": {"model.dropout": 0.4},
    "mclstm-pet": {"data.pet": {"tmax": "tmax", "tmin": "tmin", "latitude": "gauge_lat"}},
    "mclstm-tuned": {"model.hidden_size": 32, "training.updates": 2000, **STEADY},
    "lstm-tuned": STEADY,
}


@pytest.mark.parametrize("name", CHANGED)
def test_extra_models_change_what_they_say_and_nothing_else(name: str) -> None:
    usual, other = flat(made(EXTRA[name].kind)), flat(made(name))
    assert {key: value for key, value in other.items() if value != usual[key]} == CHANGED[name]


LIKE_HYBRID: dict[str, dict[str, Any]] = {
    "hybrid-temperature": {"data.aux": ["tmax", "tmin"]},
    "lstm-steered": {"model.name": "lstm", "model.hidden_size": 128, "model.dropout": 0.4},
    "lstm-balance": {
        "model.name": "lstm", "model.hidden_size": 128, "model.dropout": 0.4, "model.balance_penalty": 10.0,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", LIKE_HYBRID)
def test_rivals_are_trained_exactly_as_the_hybrid(name: str) -> None:
    ours, other = flat(made("hybrid")), flat(made(name))
    changed = {key: value for key, value in other.items() if key in ours and value != ours[key]}
    added = {key: value for key, value in other.items() if key not in ours and value and "forget" not in key}
    assert changed | added == LIKE_HYBRID[name]


def test_the_hybrid_has_the_data_of_the_others_and_a_training_of_its_own() -> None:
    assert set(EXTRA) == {*CHANGED, *LIKE_HYBRID, "hybrid"}
    ours, usual = made("hybrid"), made("mclstm")
    assert (ours.data, ours.periods, ours.evaluation) == (usual.data, usual.periods, usual.evaluation)
    assert ours.model == HybridConfig(name="hybrid")
    training = ours.training
    assert (training.batch_size, training.updates, training.average) == (64, 5000, 0.995)
    assert training.schedule[4900] == 0.001
    assert sorted(training.schedule.values(), reverse=True) == list(training.schedule.values())
    assert training.peak == PeakConfig(quantile=0.97, weight=0.5, updates=1000)


def test_potential_evapotranspiration_finds_the_latitude_of_the_archive(camels: Path) -> None:
    series = read_series(made("mclstm-pet", data=camels, basins=("11141280",)), require_target=True)
    assert 1.0 < float(series["pet"].mean()) < 6.0  # mm/day in California


def test_five_of_the_thirty_are_drawn() -> None:
    assert tuple(random.Random(0).sample(THIRTY, 5)) == FIVE
    assert len(set(THIRTY)) == 30


def test_members_grow_together_and_other_schemes_have_folders_of_their_own() -> None:
    jobs = experiment("hydrology").jobs
    options = Options(data=Path("/camels"), seeds=2, first_seed=4)
    assert [job.name for job in jobs(Plan(options))] == ["mclstm-4", "lstm-4", "mclstm-5", "lstm-5"]
    only = options._replace(scheme="last", models=("lstm", "mclstm-full-gradient"))
    assert [job.name for job in jobs(Plan(only))[:2]] == ["last/lstm-4", "last/mclstm-full-gradient-4"]


def test_mistakes_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", "hydrology"]) == 2
    assert "need --data" in capsys.readouterr().err
    words = ["experiment", "hydrology-variants", "--data", str(tmp_path)]
    assert main([*words, "--protocol", "published"]) == 2
    assert "no published code to follow" in capsys.readouterr().err
    assert main([*words, "--basins", str(tmp_path / "none.txt")]) == 2
    assert "one basin per line" in capsys.readouterr().err
    (tmp_path / "empty.txt").write_text("\n")
    assert main([*words, "--basins", str(tmp_path / "empty.txt")]) == 2
    assert "names no basin" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="has no model 'gru'"):
        experiment("hydrology").jobs(Plan(Options(data=tmp_path, models=("gru",))))


def test_of_several_forcings_the_papers_are_read(tmp_path: Path) -> None:
    for product in ("maurer_extended", "daymet"):
        (tmp_path / "basin_mean_forcing" / product).mkdir(parents=True)
        readers = made("mclstm", data=tmp_path).data.reader
        assert readers == ("camels_us" if product == "maurer_extended" else "camels_us/maurer_extended")
