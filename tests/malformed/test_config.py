"""Malformed configs: each gives one message of at most five lines that names the place and the remedy."""

# ruff: noqa: E501 (one case a line, so that the corpus reads as a table)

import os
import random
import re
from pathlib import Path

import pytest

from mclstm.config import load_config
from mclstm.errors import ConfigError

VALID = """\
name: fulda
data:
  path: fulda.csv
  mass: [rain]
  aux: [temperature]
  target: [flow]
periods:
  train: [1979-01-01, 1984-12-31]
  test: [1986-01-01, 1988-12-31]
model:
  name: mclstm
  hidden_size: 16
training:
  epochs: 30
"""
ALIAS_BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)

# The whole file, and what the message must say.
FILES = {
    "empty": ("", "holds no sections"),
    "only a comment": ("# nothing yet\n", "holds no sections"),
    "a word": ("fulda\n", "holds no sections"),
    "a list": ("- name: fulda\n", "holds no sections"),
    "a number": ("42\n", "holds no sections"),
    "only the name": ("name: fulda\n", "data: this key is missing"),
    "two documents": (VALID + "---\nname: other\n", "line 15, column 1: .*Keep one document"),
    "an alias bomb": (ALIAS_BOMB, "more than 10,000 values"),
    "an alias that holds itself": ("a: &a [*a]\n", "line 1, column 4: .*an alias that holds itself"),
    "an alias nobody defined": ("name: *fulda\n", "line 1, column 7: .*undefined alias.*Define it with &"),
    "many values": ("x: [" + "1, " * 30_000 + "]\n", "more than 10,000 values"),
    "many lines": ("# x\n" * 30_000, "more than 10,000 lines"),
    "deep brackets": ("x: " + "[" * 5000, "nests deeper than 50 levels"),
    "deep braces": ("{a: " * 5000, "nests deeper than 50 levels"),
    "over a megabyte": ("#" + "x" * (1 << 20), "larger than 1 MB"),
    "an open quote": ('name: "fulda\ndata: {}\n', "line 3, column 1: found unexpected end of stream"),
    "an open bracket": ("data: {mass: [rain\nname: x\n", "line 2, column"),
    "an open brace": ("data: {mass: rain\n", "line 2, column 1"),
    "a brace too many": ("data: }\n", "line 1, column 7"),
    "a comment as value mark": ("name: @fulda\n", "line 1, column 7: found character '@'"),
    "a percent sign": ("%name: fulda\n", "line 1"),
    "a Python object": ("name: !!python/object/apply:os.system [ls]\n", "line 1, column 7: .*Remove the tag"),
    "a Python name": ("name: !!python/name:os.system\n", "Remove the tag"),
    "an own tag": ("name: !fulda x\n", "Remove the tag"),
    "a tag on a wrong value": ("name: !!bool perhaps\n", "'perhaps' is not a date or number"),
    "a time stamp without time": ("name: !!timestamp now\n", "'now' is not a date or number"),
    "an empty integer": ("name: !!int ''\n", "is not a date or number"),
    "a number of 5000 digits": ("name: " + "9" * 5000 + "\n", "line 1, column 7: .* is not a date or number"),
    "a list as key": ("[a, b]: 1\n", "line 1, column 1: a key must be a word"),
    "a mapping as key": ("? {a: 1}\n: 2\n", "a key must be a word"),
    "a number as key": (VALID + "7: 8\n", "line 15, 7: there is no such key"),
    "nothing as key": (VALID + "null: 8\n", "None.*: there is no such key"),
    "a date that does not exist as key": ("2000-13-45: 8\n", "line 1, column 1: '2000-13-45' is not a date"),
    "a merge of a number": ("name: x\ndata:\n  <<: 5\n", "line 3, column 7"),
    "a control character": ("name: ful\x07da\n", "line 1: holds a character"),
    "a terminal escape in a key": (VALID + '"\\e[31mred\\n\\n\\n\\n\\n": 1\n', "there is no such key"),
}

# A change of the valid file: what is replaced, by what, and what the message must say.
CHANGES = {
    "a NUL in the path": ("path: fulda.csv", 'path: "fulda\\0.csv"', "line 3, data.path: holds a NUL character"),
    "a NUL in the path of attributes": ("path: fulda.csv", 'path: a\n  attributes: "b\\0"', "data.attributes: holds a NUL"),
    "a time for a number": ("epochs: 30", "epochs: 1:30", "line 14, training.epochs: needs a whole number; got '1:30'"),
    "a time for a rate": ("epochs: 30", "epochs: 30\n  clip: 1:30.5", "training.clip: needs a number; got '1:30.5'"),
    "a budget the wrong way round": ("path: fulda.csv", "path: a\n  budget: [2, 1]", "line 4, data.budget: is 2 to 1. Write the lower"),
    "a budget of one number": ("path: fulda.csv", "path: a\n  budget: [2]", "data.budget: needs at least 2 entries"),
    "a tab": ("  path:", "\tpath:", r"line 3, column 1: found character '\\t'.*Indent with spaces"),
    "wrong indentation": ("  mass:", " mass:", "line 4, column 2: .*Check the indentation"),
    "no colon": ("name: fulda", "name fulda", r"line 2, column \d+"),
    "no space after the colon": ("name: fulda", "name:fulda", r"line 2, column \d+"),
    "a section twice": ("training:", "model: {}\ntraining:", "line 13, column 1: the key 'model' is given twice"),
    "a key twice": ("  epochs: 30", "  epochs: 30\n  epochs: 31", "line 15, column 3: the key 'epochs'"),
    "a key twice in braces": ("[rain]", "[rain]\n  units: {a: mm, a: mm}", "the key 'a' is given twice"),
    "a misspelt section": ("training:", "trainning:", "line 13, trainning: .*Did you mean 'training'"),
    "a misspelt key": ("hidden_size", "hiden_size", "line 12, model.hiden_size: .*Did you mean 'hidden_size'"),
    "a capital key": ("  mass:", "  Mass:", "line 4, data.Mass: .*Did you mean 'mass'"),
    "a dash for an underscore": ("hidden_size", "hidden-size", "Did you mean 'hidden_size'"),
    "a key in the wrong section": ("  epochs: 30", "  epochs: 30\n  stay: 1", "It belongs under 'model'"),
    "an unknown key": ("epochs: 30", "epochs: 30\n  zzz: 1", "Known here: scheme, length"),
    "a section that is a list": ("model:\n  name: mclstm\n  hidden_size: 16", "model: [mclstm]", "needs a mapping"),
    "a section that is a word": ("model:\n  name: mclstm\n  hidden_size: 16", "model: mclstm", "needs a mapping"),
    "a section left empty": ("training:\n  epochs: 30", "training:", "line 13, training: needs a mapping.*got nothing"),
    "no model name": ("  name: mclstm\n", "", "model.name: this key is missing. Add it: one of mclstm, hybrid, lstm"),
    "an unknown model": ("name: mclstm", "name: mclsm", "line 11, model.name: .*Did you mean 'mclstm'"),
    "a model that is a number": ("name: mclstm", "name: 3", "line 11, model.name: needs 'mclstm', 'hybrid', 'lstm'"),
    "no mass": ("  mass: [rain]\n", "", "line 2, data.mass: this key is missing"),
    "mass that is empty": ("[rain]", "[]", "line 4, data.mass: needs at least 1 entries"),
    "mass that is a word": ("[rain]", "rain", r"line 4, data.mass: needs a list, \[a, b\]; got 'rain'"),
    "mass that is a number": ("[rain]", "[1]", r"line 4, data.mass\[0\]: needs text, in quotes"),
    "mass twice": ("[rain]", "[rain, rain]", "line 4, data.mass: names 'rain' twice"),
    "a column with two roles": ("[temperature]", "[flow]", "line 2, data: has 'flow' in aux and in target"),
    "a reader that does not exist": ("path: fulda.csv", "reader: excel\n  path: x", "data.reader: needs one of auto"),
    "a unit that is a list": ("[rain]", "[rain]\n  units: {rain: [mm]}", "line 5, data.units.rain: needs text"),
    "a negative area": ("[rain]", "[rain]\n  area: -5", "line 5, data.area: needs a number greater than 0"),
    "an unknown policy": ("[rain]", "[rain]\n  missing_mass: zeros", "data.missing_mass: .*Did you mean 'zero'"),
    "a long separator": ("[rain]", "[rain]\n  separator: ', '", "data.separator: needs at most 1 characters"),
    "yes for a word": ("path: fulda.csv", "path: yes", "line 3, data.path: needs text.*got true"),
    "a word for yes": ("[rain]", "[rain]\n  day_of_year: maybe", "needs true or false; got 'maybe'"),
    "a number for yes": ("[rain]", "[rain]\n  day_of_year: 1", "needs true or false; got 1"),
    "a name with a path": ("name: fulda", "name: ../../etc", "line 1, name: needs a name of letters"),
    "a name with a line break": ("name: fulda", 'name: "a\\nb"', "line 1, name: needs a name of letters"),
    "an empty name": ("name: fulda", "name: ''", "line 1, name: needs a name of letters"),
    "a long name": ("name: fulda", "name: " + "x" * 65, "line 1, name: needs at most 64 characters"),
    "a date that does not exist": ("1984-12-31", "1984-13-31", "line 8, column 23: '1984-13-31' is not a date"),
    "a German date": ("1984-12-31", "31.12.1984", r"line 8, periods.train\[1\]: needs a date such as"),
    "a year for a date": ("1984-12-31", "1984", r"line 8, periods.train\[1\]: needs a date such as"),
    "a year out of range": ("1984-12-31", "9999-12-31", "between the years 1678 and 2261"),
    "a date with a time zone": ("1984-12-31", "1984-12-31T00:00:00Z", "without a time zone"),
    "a period backwards": ("1984-12-31", "1978-12-31", "line 8, periods.train: starts after its end"),
    "one date": ("1979-01-01, ", "", "line 8, periods.train: needs at least 2 entries"),
    "three dates": ("1979-01-01, ", "1979-01-01, 1980-01-01, ", "needs at most 2 entries"),
    "periods that overlap": ("1984-12-31", "1986-01-01", "line 7, periods: lets train and test overlap"),
    "a size of zero": ("hidden_size: 16", "hidden_size: 0", "line 12, model.hidden_size: needs a number of at least 1"),
    "a size too large": ("hidden_size: 16", "hidden_size: 5000", "needs a number of at most 4096; got 5000"),
    "a size in quotes": ("hidden_size: 16", "hidden_size: '16'", "needs a whole number; got '16'"),
    "a size with a fraction": ("hidden_size: 16", "hidden_size: 16.0", "needs a whole number; got 16.0"),
    "a size that is infinite": ("hidden_size: 16", "hidden_size: .inf", "needs a whole number; got inf"),
    "only the trash cell": ("hidden_size: 16", "hidden_size: 1", "line 10, model: needs hidden_size of at least 2"),
    "nothing as size": ("hidden_size: 16", "hidden_size:", "line 12, model.hidden_size: needs a whole number; got nothing"),
    "not a number": ("hidden_size: 16", "stay: .nan", "line 12, model.stay: needs a finite number"),
    "all may stay": ("hidden_size: 16", "stay: 1", "line 12, model.stay: needs a number less than 1; got 1"),
    "an unknown norm": ("hidden_size: 16", "input_norm: softmx", "Did you mean 'softmax'"),
    "gates that see nothing": ("hidden_size: 16", "gates_see: []", "model.gates_see: needs at least 1 entries"),
    "gates that see too much": ("hidden_size: 16", "gates_see: [aux, flow]", r"model.gates_see\[1\]: needs 'aux'"),
    "an initial word": ("hidden_size: 16", "initial_state: full", "needs 'zero' or 'learned' or a number; got 'full'"),
    "no end of training": ("  epochs: 30", "  seed: 1", "line 13, training: does not say when to stop"),
    "a rate of zero": ("epochs: 30", "learning_rate: 0", "training.learning_rate: needs a number greater than 0"),
    "a schedule of words": ("epochs: 30", "schedule: {soon: 0.1}", "training.schedule.soon: needs a whole number"),
    "a schedule of bad rates": ("epochs: 30", "schedule: {5: -1}", r"training.schedule\[5\]: needs a number greater"),
    "a warm-up too long": ("epochs: 30", "epochs: 3\n  warmup: 730", "leaves no step to score"),
    "a negative seed": ("epochs: 30", "seed: -1", "training.seed: needs a number of at least 0"),
    "early stopping alone": ("epochs: 30", "epochs: 3\n  early_stopping: 5", "Add it, or remove early_stopping"),
    "an unknown optimiser": ("epochs: 30", "optimiser: adm", "needs 'adam'; got 'adm'. Did you mean 'adam'"),
    "an unknown metric": ("epochs: 30", "epochs: 3\nevaluation: {metrics: [nsee]}", "Did you mean 'nse'"),
    "a huge value": ("path: fulda.csv", "path: " + "x" * 90_000, "line 3, data.path: needs at most 4096 characters"),
}  # fmt: skip


def refuse(path: Path, pattern: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    message = str(caught.value)
    assert re.search(pattern, message), message
    assert str(path) in message
    assert message.count("\n") < 5
    assert len(message) < 1200
    assert "\x1b" not in message


@pytest.mark.parametrize("name", FILES)
def test_file(name: str, tmp_path: Path) -> None:
    text, pattern = FILES[name]
    (tmp_path / "run.yaml").write_text(text)
    refuse(tmp_path / "run.yaml", pattern)


@pytest.mark.parametrize("name", CHANGES)
def test_change(name: str, tmp_path: Path) -> None:
    old, new, pattern = CHANGES[name]
    assert old in VALID
    (tmp_path / "run.yaml").write_text(VALID.replace(old, new, 1))
    refuse(tmp_path / "run.yaml", pattern)


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_other_encodings(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_bytes(VALID.replace("fulda.csv", "flüsse.csv").encode(encoding))
    refuse(tmp_path / "run.yaml", "is not UTF-8 text, from byte .*Save it as UTF-8")


def test_a_byte_order_mark_is_harmless(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_bytes(VALID.encode("utf-8-sig"))
    assert load_config(tmp_path / "run.yaml").name == "fulda"


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    refuse(tmp_path / "missing.yaml", "No such file")
    refuse(tmp_path, "is not a file")
    refuse(tmp_path / "pipe", "is not a file")


def test_random_damage_never_escapes(tmp_path: Path) -> None:
    """Whatever a slip of the keyboard or of the disk does: a config or a ConfigError, nothing else."""
    chance = random.Random(0)
    path = tmp_path / "run.yaml"
    messages = []
    for _ in range(150):
        text = bytearray(VALID.encode())
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(text))
            text[place : place + chance.randint(0, 3)] = chance.choices(
                b":-[]{}&*!|>'\"%@`,?#\n\t 09a=<.\xc3", k=1
            )
        path.write_bytes(text)
        try:
            load_config(path)
        except ConfigError as error:
            messages.append(str(error))
    assert len(messages) > 50
    assert all(message.count("\n") < 5 for message in messages)
