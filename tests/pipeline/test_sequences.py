"""Days that begin anew through the whole pipeline: what the model sees, what is written, what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from torch import Tensor, nn

from mclstm import pipeline
from mclstm.config import check_config, load_config
from mclstm.data.windows import tensors
from mclstm.deploy.predict import predict
from mclstm.errors import ConfigError, DataError
from mclstm.from_config import seen_in_training
from mclstm.models import MODELS
from mclstm.models.output import Output
from mclstm.run import Run
from mclstm.run_inputs import read_inputs
from mclstm.series_from_config import with_columns
from support.small_city import BEGIN, HOURS, city, city_config, city_run

Seen = list[
    tuple[bool, Tensor, Tensor, Tensor]
]  # training or not, mass (T, B, M), first aux (B, A), c0 (B, K)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Everything that a model is shown, call by call."""
    calls: Seen = []

    def note(model: nn.Module, inputs: tuple[Any, ...], output: Output) -> None:
        assert output.c is not None
        calls.append((model.training, inputs[0].clone(), inputs[1][0].clone(), output.c[0].detach().clone()))

    def build(*arguments: Any, **options: Any) -> nn.Module:
        model = original(*arguments, **options)
        model.register_forward_hook(note)
        return model

    original = MODELS["mclstm"]
    monkeypatch.setitem(MODELS, "mclstm", build)
    return calls


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return city_run(tmp_path_factory.mktemp("city"))


@pytest.mark.parametrize(("start", "amount"), [("zero", 0.0), (2.5, 2.5)])
def test_every_day_begins_at_its_hour_with_its_start(
    start: str | float, amount: float, seen: Seen, tmp_path: Path
) -> None:
    model = {"name": "mclstm", "hidden_size": 4, "head": "mcfc", "initial_state": start}
    finished = city_run(tmp_path, model=model)
    pipeline.evaluate(finished, figures=False)
    assert {training for training, *_ in seen} == {True, False}
    mass = torch.tensor(city().filter(like="in_").to_numpy(), dtype=torch.float32).view(12, 24, 2)
    hour = finished.data.a[0, 4]  # of the first day at 04:00; the same every day
    for _, x, a, c in seen:
        assert len(x) == HOURS
        torch.testing.assert_close(a, hour.expand_as(a), rtol=0, atol=1e-6)
        assert bool((c == amount).all())
        assert all(any(torch.equal(day[4:], one) for day in mass) for one in x.transpose(0, 1))


def test_a_learned_start_is_the_same_in_training_and_evaluation(seen: Seen, tmp_path: Path) -> None:
    model = {"name": "mclstm", "hidden_size": 4, "head": "mcfc", "initial_state": "learned"}
    finished = city_run(tmp_path, model=model, updates=2)
    seen.clear()
    pipeline.evaluate(finished, figures=False)
    learned = finished.model.layer.gates.first_state(1)
    assert all(torch.equal(c, learned.expand_as(c)) for *_, c in seen)
    assert not bool((learned == 1.0).all())


def test_the_resolved_columns_are_written_and_loaded_again(run: Run) -> None:
    written = load_config(run.folder.config)
    assert (written.data.mass, written.data.target) == (["in_west", "in_north"], ["out_east", "out_south"])
    assert written == run.config
    assert not {"length", "warmup", "stride"} & set(yaml.safe_load(run.folder.config.read_text())["training"])
    assert "6 sequences to train on, 0 left out" in run.folder.log.read_text()


def test_the_ledger_closes_in_every_sequence_and_the_rest_is_reported(run: Run) -> None:
    result = pipeline.evaluate(run, figures=False)
    days = pd.read_csv(result.folder / "sequence_balance.csv")
    assert len(days) == 4
    eps = float(np.finfo(np.float32).eps)
    assert (days["residual"].abs() <= 4 * eps * (HOURS + 4) * days["inflow"]).all()
    outflow = days.filter(like="outflow ").sum(axis=1)
    np.testing.assert_allclose(
        days["inflow"] + days["storage before"], outflow + days["storage left"], rtol=1e-5
    )
    assert (days["storage left"] > 0).all()
    (site,) = result.balance.to_dict("records")
    assert site["sequences"] == 4
    assert site["storage after"] == pytest.approx(days["storage left"].sum(), rel=1e-6)
    assert site["inflow"] == pytest.approx(days["inflow"].sum())
    assert site["relative error"] < 4 * eps * (HOURS + 4)
    table = city().loc["2024-01-09":].between_time(BEGIN, "23:00")
    observed = table.filter(like="out_").groupby(table.index.date).sum().sum(axis=1)
    np.testing.assert_allclose(days["observed"], observed)


def test_stores_are_never_negative_and_nothing_is_said_between_sequences(run: Run) -> None:
    predictions = pipeline.evaluate(run, figures=False).predictions
    between = predictions["sequence"].to_numpy()[0] < 0
    hours = predictions["time"].to_index().hour
    np.testing.assert_array_equal(between, hours < 4)
    for name in ("simulated_out_east", "storage", "outflow", "residual", "inflow"):
        values = predictions[name].to_numpy()[0]
        assert np.isnan(values[between]).all()
        assert name == "residual" or (values[~between] >= 0).all()


def test_a_day_is_predicted_as_it_was_evaluated_and_has_no_state(run: Run, tmp_path: Path) -> None:
    expected = pipeline.evaluate(run, figures=False).predictions
    day = city().loc["2024-01-10"].filter(like="in_")
    day.to_csv(tmp_path / "day.csv")
    alone = predict(run.path, str(tmp_path / "day.csv"))
    one = expected.sel(time=alone["time"])
    np.testing.assert_allclose(alone["simulated_out_east"], one["simulated_out_east"], rtol=1e-6)
    with pytest.raises(ConfigError, match="begins every sequence anew and has no state"):
        predict(run.path, str(tmp_path / "day.csv"), state_out=tmp_path / "state")


def test_days_with_missing_counts_are_skipped_if_the_config_says_so(tmp_path: Path) -> None:
    table = city()
    table.loc["2024-01-02 12:00", "in_west"] = np.nan
    table.loc["2024-01-03 02:00", "in_west"] = np.nan  # between two sequences
    table.to_csv(tmp_path / "gaps.csv")
    raw = city_config(tmp_path / "gaps.csv", updates=1)
    with pytest.raises(DataError, match="missing"):
        pipeline.train(check_config(raw), tmp_path / "runs", quiet=True)
    raw["data"]["missing_mass"] = "skip"
    finished = pipeline.train(check_config(raw), tmp_path / "runs", quiet=True)
    assert "5 sequences to train on, 1 left out as incomplete" in finished.folder.log.read_text()
    raw.pop("sequences")
    with pytest.raises(ConfigError, match="skips sequences with missing inputs, but has none"):
        check_config(raw)


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("training", "warmup", 365),
        ("training", "stride", 3),
        ("training", "length", 500),
        ("evaluation", "restart", 5),
    ],
)
def test_what_contradicts_sequences_is_refused(section: str, key: str, value: int, tmp_path: Path) -> None:
    raw = city_config(tmp_path / "none.csv")
    raw.setdefault(section, {})[key] = value
    with pytest.raises(ConfigError, match=f"has sequences, which replace {section}.{key}. Remove one"):
        check_config(raw)


def test_a_time_without_quotes_is_read_as_yaml_gives_it(tmp_path: Path) -> None:
    raw = city_config(tmp_path / "none.csv")
    raw["sequences"] = yaml.safe_load("{begin: 04:00, end: 23:50}")
    assert raw["sequences"]["end"] == 1430
    assert check_config(raw).sequences.end == "23:50"
    raw["sequences"]["end"] = "half past"
    with pytest.raises(ConfigError, match="config, sequences: 'half past' is no time of a day"):
        check_config(raw)


def test_training_and_validation_see_the_scored_times_and_evaluation_sees_all(
    seen: Seen, tmp_path: Path
) -> None:
    times = {"scored": ["06:00-08:00", "17:00"], "impute": "mean-per-step"}
    finished = city_run(tmp_path, **times, updates=2)
    training = [x for training, x, *_ in seen if training]
    validation = [x for training, x, *_ in seen if not training]
    seen.clear()
    result = pipeline.evaluate(finished, figures=False)
    table = city()
    mean = table.loc[:"2024-01-06"].groupby(table.loc[:"2024-01-06"].index.hour).mean()["in_west"]
    for x in [*training, *validation]:
        assert torch.allclose(x[8, :, 0], torch.tensor(mean[12], dtype=torch.float32))
        assert not torch.allclose(x[2, :, 0], torch.tensor(mean[6], dtype=torch.float32))
    (evaluated,) = [x for _, x, *_ in seen]
    expected = table.loc["2024-01-09":, "in_west"].to_numpy().reshape(4, 24)[:, 4:].T
    np.testing.assert_allclose(evaluated[..., 0], expected, rtol=1e-6)
    assert np.isfinite(result.predictions["observed_out_east"]).all()
    known = city().loc[:"2024-01-06"].between_time("06:00", "08:00")["out_east"]
    known = pd.concat([known, city().loc[:"2024-01-06"].at_time("17:00")["out_east"]])
    assert finished.moments["out_east"].mean == pytest.approx(known.mean())


@pytest.mark.parametrize("how", ["mean-per-step", "mean"])
def test_test_days_change_nothing_that_training_sees(how: str, tmp_path: Path) -> None:
    views = []
    for factor in (1.0, 9.0):
        table = city()
        table.loc["2024-01-07":] *= factor
        table.to_csv(tmp_path / "city.csv")
        raw = city_config(tmp_path / "city.csv", scored=["06:00"], impute=how)
        config, series, _, scaling = read_inputs(check_config(raw))
        view = seen_in_training(config, series)
        views.append((tensors(view, scaling, torch.float32), scaling))
    (one, first), (two, second) = views
    assert first == second
    assert torch.equal(one.x[:, : 24 * 6], two.x[:, : 24 * 6])
    assert not torch.equal(one.x, two.x)  # the scored times of later days are their own


def test_rivals_are_fitted_on_what_training_saw_and_scored_in_the_same_sequences(tmp_path: Path) -> None:
    results = []
    for factor in (1.0, 9.0):  # of inflow that training does not see
        table = city()
        table.loc[table.index.hour < 4] *= factor
        table.to_csv(tmp_path / "city.csv")
        raw = city_config(tmp_path / "city.csv", updates=1)
        raw["evaluation"] = {"against": ["climatology", "regression"]}
        config = check_config(raw)
        run = pipeline.train(config, tmp_path / "runs", quiet=True)
        results.append(pipeline.evaluate(run, figures=False))
    for one, other in zip(*(result.rivals.values() for result in results), strict=True):
        np.testing.assert_array_equal(one["simulated_out_east"], other["simulated_out_east"])
        between = results[0].predictions["sequence"].to_numpy() < 0
        np.testing.assert_array_equal(np.isnan(one["simulated_out_east"]), between)


def test_what_impute_contradicts_is_refused(tmp_path: Path) -> None:
    raw = city_config(tmp_path / "none.csv", impute="mean")
    with pytest.raises(ConfigError, match="has impute, which fills mass at times that are not scored"):
        check_config(raw)
    raw["training"]["scored"] = ["06:00"]
    raw["data"]["antecedent"] = [3]
    with pytest.raises(ConfigError, match="means of the mass that impute hides"):
        check_config(raw)


def test_residence_sets_stay_and_output_bias_from_the_step(tmp_path: Path) -> None:
    city().to_csv(tmp_path / "city.csv")
    raw = city_config(
        tmp_path / "city.csv", {"name": "mclstm", "hidden_size": 4, "head": "mcfc", "residence": "3h"}
    )
    config = read_inputs(check_config(raw)).config
    assert (config.model.stay, config.model.residence) == (0.75, None)
    assert config.model.output_bias == pytest.approx(-np.log(3.0))
    for key, value in (("stay", 0.9), ("output_bias", -3.0)):
        model = {**raw["model"], key: value}
        with pytest.raises(ConfigError, match=f"has residence, which sets stay and output_bias, and {key}"):
            check_config({**raw, "model": model})
    with pytest.raises(ConfigError, match="is no duration above zero"):
        check_config({**raw, "model": {**raw["model"], "residence": "soon"}})


def test_patterns_reach_units_and_leave_other_columns_alone(tmp_path: Path) -> None:
    table = city().assign(in_flow_of_rain=1.0, remark="dry")
    table.to_csv(tmp_path / "city.csv")
    raw = city_config(tmp_path / "city.csv")
    raw["data"] |= {"aux": ["in_flow_of_rain"], "units": {"in_*": "vehicles", "out_*": "vehicles"}}
    config = with_columns(check_config(raw))
    assert config.data.mass == ["in_west", "in_north"]
    assert config.data.units["out_east"] == "vehicles"
    raw["data"]["mass"] = ["inn_*"]
    with pytest.raises(DataError, match=r"matches 'inn_\*'. The nearest are"):
        with_columns(check_config(raw))
