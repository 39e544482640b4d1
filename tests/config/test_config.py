"""What a valid config becomes, and every key: wrong type, out of range, misspelt."""

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from mclstm.config import (
    Config,
    LSTMConfig,
    MCLSTMConfig,
    check_config,
    dump_config,
    json_schema,
    load_config,
)
from mclstm.config.error_messages import nearest
from mclstm.config.training import MetricName
from mclstm.errors import ConfigError
from mclstm.evaluation.metrics import METRICS

SCHEMA_FILE = Path(__file__).parents[2] / "docs" / "config.schema.json"
EXAMPLE = """\
name: fulda
data:
  path: fulda.csv
  mass: [rain]
  aux: [temperature]
  target: [flow]
  units: {rain: mm/day, flow: m3/s}
  area: 6.9e3
periods:
  train: [1979-01-01, 1984-12-31]
  validation: [1985-01-01, "1985-12-31"]
  test: [1986-01-01, 1988-12-31]
model: {name: mclstm, hidden_size: 16}
training: {updates: 200, learning_rate: 1e-2, schedule: {20: 5e-3}}
"""
VALID = yaml.safe_load(EXAMPLE)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "run.yaml").write_text(EXAMPLE)
    return tmp_path / "run.yaml"


def refusal(path: Path, *overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(path, overrides)
    assert str(caught.value).count("\n") < 5
    return str(caught.value)


def test_example(path: Path) -> None:
    config = load_config(path)
    assert config.training.learning_rate == 0.01  # YAML 1.1 takes 1e-2 for text
    assert config.training.schedule == {20: 0.005}
    assert config.periods.train == ["1979-01-01", "1984-12-31"]
    assert config.evaluation.metrics == list(METRICS)
    assert isinstance(config.model, MCLSTMConfig)
    assert config.model.gates_see == ["aux", "state"]


def test_dump_and_load_again(path: Path) -> None:
    config = load_config(path, ["data.missing_values=[-999, -1e4]", "model.initial_state=0.5"])
    path.write_text(dump_config(config))
    assert load_config(path) == config
    assert dump_config(load_config(path)) == dump_config(config)


def test_metric_names_are_the_metrics() -> None:
    assert get_args(MetricName) == tuple(METRICS)


def test_schema_file_is_up_to_date() -> None:
    command = (
        "python -c 'import json, mclstm.config as c; print(json.dumps(c.json_schema(), indent=1))'"
        " > docs/config.schema.json"
    )
    assert json.loads(SCHEMA_FILE.read_text()) == json_schema(), f"run {command}"


def test_torch_is_not_imported() -> None:
    code = "import sys, mclstm.config; print('torch' in sys.modules or 'scipy' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"


def test_overrides(path: Path) -> None:
    config = load_config(
        path,
        [
            "model={name: lstm, forget_bias: 1}",
            "model.hidden_size=8",
            "training.schedule.30=1e-4",
            "periods.test=[1990-01-01, 1990-12-31T06:00]",
            "evaluation.metrics=[nse]",
            "data.path=a=b.csv",
            "data.area=null",
        ],
    )
    assert config.model == LSTMConfig(name="lstm", hidden_size=8, forget_bias=1.0)
    assert config.training.schedule == {20: 0.005, 30: 0.0001}
    assert config.periods.test == ["1990-01-01", "1990-12-31T06:00:00"]
    assert config.evaluation.metrics == ["nse"]
    assert config.data.path == "a=b.csv"
    assert config.data.area is None


def test_an_empty_section_can_be_set(path: Path) -> None:
    path.write_text(EXAMPLE + "evaluation:\n")
    assert load_config(path, ["evaluation.metrics=[mae]"]).evaluation.metrics == ["mae"]


def test_an_override_changes_one_place_of_an_alias(path: Path) -> None:
    path.write_text(
        EXAMPLE.replace("aux: [temperature]", "aux: &a []").replace("units:", "static: *a\n  units:")
    )
    config = load_config(path, ["data.aux=[wind]"])
    assert (config.data.aux, config.data.static) == (["wind"], [])


def test_merge_keys(path: Path) -> None:
    path.write_text(EXAMPLE.replace("training: {", "training: {<<: {seed: 4, updates: 1}, "))
    training = load_config(path).training
    assert (training.seed, training.updates) == (4, 200)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.hidden_size=0", "--set, model.hidden_size: needs a number of at least 1; got 0."),
        ("model.hiden_size=4", "--set, model.hiden_size: there is no such key. Did you mean 'hidden_size'?"),
        ("model.name=gru", "--set, model.name: needs 'mclstm', 'hybrid', 'lstm'; got 'gru'."),
        ("model.hidden_size", "--set 'model.hidden_size': write section.key=value"),
        ("=4", "--set '=4': write section.key=value"),
        ("a..b=4", "--set 'a..b=4': write section.key=value"),
        ("name.x=4", "--set name.x: name is a value, not a section. Set name itself."),
        ("data.mass=[a", "--set data.mass, line 1, column 3: "),
        ("data.mass=rain", "--set, data.mass: needs a list, [a, b]; got 'rain'."),
    ],
)
def test_refused_overrides(path: Path, override: str, message: str) -> None:
    assert refusal(path, override).startswith(message)


def test_keys_of_another_model_are_refused(path: Path) -> None:
    assert "model.stay: there is no such key" in refusal(path, "model={name: lstm, stay: 0.5}")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("head: sum, head_gate: true", "has head_gate, which is a part of head: mcfc. Set head: mcfc."),
        ("head: mcfc, head_gate: true, trash_budget: 0.1", "has trash_budget and head_gate"),
        ("learned_from: 100", "has learned_from, the start of initial_state: learned."),
        ("outlet: none", "outlet: needs 'gate' or 'constant'"),
    ],
)
def test_forms_that_contradict_each_other(path: Path, model: str, message: str) -> None:
    assert message in refusal(path, f"model={{name: mclstm, {model}}}")


@pytest.mark.parametrize("override", ["hidden_size=0", "hidden_size=2.5", "forget_bias=101", "forget_bias=x"])
def test_keys_of_the_lstm(path: Path, override: str) -> None:
    key = override.split("=")[0]
    assert f"--set, model.{key}: needs a" in refusal(path, "model={name: lstm}", f"model.{override}")


def test_a_misplaced_key_is_sent_home(path: Path) -> None:
    assert "It belongs under 'training'." in refusal(path, "batch_size=4")
    assert "It belongs under 'data'." in refusal(path, "training.units={}")  # not: did you mean 'updates'


def test_all_mistakes_fit_in_five_lines(path: Path) -> None:
    overrides = [f"training.{key}=wrong" for key in ("length", "warmup", "seed", "clip", "loss", "threads")]
    lines = refusal(path, *overrides).split("\n")
    assert len(lines) == 5
    assert lines[-1] == "2 more mistakes follow; correct these first."


# Every key, walked from the schema itself.

SECTIONS = {
    "": "Config",
    "data": "DataConfig",
    "periods": "PeriodsConfig",
    "model": "MCLSTMConfig",
    "training": "TrainingConfig",
    "evaluation": "EvaluationConfig",
    "tune": "TuneConfig",
}


@cache
def properties(section: str) -> dict[str, Any]:
    schema = json_schema()
    return (schema if not section else schema["$defs"][SECTIONS[section]])["properties"]


def keys() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for section in SECTIONS:
        for key, rule in properties(section).items():
            yield section, key, rule


def alternatives(rule: dict[str, Any]) -> list[dict[str, Any]]:
    return [option for option in rule.get("anyOf", [rule]) if option.get("type") != "null"]


def outside(rule: dict[str, Any]) -> list[Any]:
    """Values of the right type that the rule does not allow."""
    bounds = [("minimum", -1), ("maximum", 1), ("exclusiveMinimum", 0), ("exclusiveMaximum", 0)]
    values: list[Any] = [rule[name] + step for name, step in bounds if name in rule]
    if "enum" in rule or "const" in rule or "pattern" in rule:
        values.append("/ no such word /")
    if "minLength" in rule:
        values.append("")
    if "maxLength" in rule:
        values.append("x" * (rule["maxLength"] + 1))
    if rule.get("type") == "array":
        values += [[item] for item in outside(rule["items"])]
        values += [[["nested"]]]
    if rule.get("type") == "object":
        named = rule.get("patternProperties")  # keys of a form, or any keys
        key = "20" if named is None else "model.stay"
        (items,) = [rule["additionalProperties"]] if named is None else named.values()
        values += [{key: item} for item in outside(items)] + ([] if named is None else [{"20": [1, 2]}])
    return values


def with_value(section: str, key: str, value: Any) -> dict[str, Any]:
    raw = copy.deepcopy(VALID)
    target = raw.setdefault(section, {}) if section else raw
    target[key] = value
    return raw


def must_name(raw: dict[str, Any], section: str, key: str) -> str:
    with pytest.raises(ConfigError) as caught:
        check_config(raw)
    message = str(caught.value)
    assert message.count("\n") < 5
    assert message.startswith("config")
    assert f"{section}.{key}".lstrip(".") in message
    return message


@pytest.mark.parametrize(("section", "key", "rule"), [pytest.param(*k, id=f"{k[0]}.{k[1]}") for k in keys()])
def test_wrong_type(section: str, key: str, rule: dict[str, Any]) -> None:
    wrong = 7.5 if {o.get("type") for o in alternatives(rule)} <= {"object", None} else {"a": {"b": 1}}
    for value in (wrong, [[[1]]]):
        assert "needs" in must_name(with_value(section, key, value), section, key)


@pytest.mark.parametrize(("section", "key", "rule"), [pytest.param(*k, id=f"{k[0]}.{k[1]}") for k in keys()])
def test_out_of_range(section: str, key: str, rule: dict[str, Any]) -> None:
    options = alternatives(rule)
    values = [v for option in options for v in outside(option)]
    if any(option.get("type") == "string" for option in options) and len(options) > 1:
        values = [
            v for v in values if not isinstance(v, str)
        ]  # a word out of one list is any text of another
    ranged = not all(o.get("type") == "boolean" or "$ref" in o or "oneOf" in o for o in options)
    assert bool(values) == ranged, "every value has a range"
    for value in values:
        must_name(with_value(section, key, value), section, key)


def misspellings(word: str) -> Iterator[str]:
    letters = "aeiqz_"
    for place in range(len(word)):
        yield word[:place] + word[place + 1 :]
        yield from (word[:place] + letter + word[place + 1 :] for letter in letters)
        yield word[:place] + word[place : place + 2][::-1] + word[place + 2 :]
    for place in range(len(word) + 1):
        yield from (word[:place] + letter + word[place:] for letter in letters)


@pytest.mark.parametrize("section", SECTIONS)
def test_misspelt_keys_find_their_way(section: str) -> None:
    known = list(properties(section))
    pairs = {(wrong, key) for key in known for wrong in misspellings(key) if wrong not in known}
    hits = sum(nearest(wrong, known) == key for wrong, key in pairs)
    assert hits / len(pairs) >= 0.95


@pytest.mark.parametrize(("section", "key", "rule"), [pytest.param(*k, id=f"{k[0]}.{k[1]}") for k in keys()])
def test_misspelt_key(section: str, key: str, rule: dict[str, Any]) -> None:
    raw = with_value(section, f"{key}q", None)
    (raw[section] if section else raw).pop(key, None)
    message = must_name(raw, section, key)
    if (section, key) != ("model", "name"):  # without its name no model's keys are known
        assert f"{key}q: there is no such key. Did you mean {key!r}?" in message


def test_the_schema_accepts_what_we_accept() -> None:
    """Defaults lie inside their own ranges, which pydantic does not check by itself."""
    raw = yaml.safe_load(dump_config(check_config(VALID)))
    assert isinstance(check_config(raw), Config)
