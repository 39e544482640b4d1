"""Damaged and hostile packs: one message, exit code 2, nothing written."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from mclstm.cli.main import main
from mclstm.training import checkpoint

MEMBER = "member-3.safetensors"


def flipped(pack: Path) -> None:
    content = bytearray((pack / MEMBER).read_bytes())
    content[-3] ^= 1
    (pack / MEMBER).write_bytes(content)


def halved(pack: Path) -> None:
    (pack / MEMBER).write_bytes((pack / MEMBER).read_bytes()[:200])


def other_shape(pack: Path) -> None:
    tensors, label = checkpoint.load(pack / MEMBER)
    checkpoint.save(pack / MEMBER, {name: torch.zeros(7) for name in tensors}, label)


def other_model(pack: Path) -> None:
    tensors, label = checkpoint.load(pack / MEMBER)
    checkpoint.save(pack / MEMBER, tensors, label | {"model_hash": "0" * 64})


def copied(pack: Path) -> None:
    (pack / "member-8.safetensors").write_bytes((pack / MEMBER).read_bytes())


def unlisted(pack: Path) -> None:
    (pack / "member-7.safetensors").write_bytes((pack / MEMBER).read_bytes())


FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a bit is wrong": (flipped, "does not match its digest"),
    "cut short": (halved, MEMBER),
    "a pickle": (lambda pack: (pack / MEMBER).write_bytes(b"\x80\x04\x95" + bytes(200)), MEMBER),
    "a folder": (lambda pack: ((pack / MEMBER).unlink(), (pack / MEMBER).mkdir()), "a folder"),
    "missing": (lambda pack: (pack / MEMBER).unlink(), "No such file"),
    "another shape": (other_shape, "does not fit the model"),
    "another model": (other_model, "the state of another model"),
    "one member under two names": (copied, "member-8 has the weights of member-3"),
    "a member that is not listed": (unlisted, "does not list member-7"),
    "no JSON": (lambda pack: (pack / "model.json").write_text("{"), "model.json cannot be read"),
    "a list": (lambda pack: (pack / "model.json").write_text("[1]"), "not a JSON object"),
    "nothing": (lambda pack: (pack / "model.json").unlink(), "is not a run"),
}


def without(*keys: str) -> Callable[[dict[str, Any]], object]:
    def change(about: dict[str, Any]) -> None:
        for key in keys[:-1]:
            about = about[key]
        del about[keys[-1]]

    return change


DESCRIPTIONS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a newer format": (lambda about: about.update(format=2), "has format '2', this version reads 1"),
    "no config": (without("config"), "no section 'config'"),
    "no data": (without("data"), "no section 'data'"),
    "scaling is a list": (lambda about: about.update(scaling=[1]), "no section 'scaling'"),
    "no moment": (without("scaling", "tmax"), "no mean and deviation of 'tmax'"),
    "a moment is no number": (lambda about: about["scaling"].update(tmax=["a", 1]), "mean and deviation"),
    "no units": (without("data", "variables", "tmax"), "does not describe the column 'tmax'"),
    "another size": (lambda about: about["config"]["model"].update(hidden_size=5), "another model"),
    "an absurd size": (lambda about: about["config"]["model"].update(hidden_size=10**6), "at most 4096"),
    "an unknown key": (lambda about: about["config"]["model"].update(run="rm"), "there is no such key"),
    "no members": (lambda about: about.update(members=[]), "members by their seeds"),
    "members are text": (lambda about: about.update(members="3"), "members by their seeds"),
    "a path as a seed": (lambda about: about.update(members=[{"seed": "../../3"}]), "by their seeds"),
    "a member twice": (lambda about: about.update(members=[{"seed": 3}, {"seed": 3}]), "by their seeds"),
    "a member left out": (lambda about: about.update(members=[{"seed": 3}]), "does not list member-8"),
    "a strange step": (lambda about: about["data"].update(step="soon"), "no step called 'soon'"),
}


@pytest.fixture
def copy(pack: Path, tmp_path: Path) -> Path:
    return shutil.copytree(pack, tmp_path / "pack")


def refuse(pack: Path, data: Path, word: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = pack.parent / "p.nc"
    assert main(["predict", str(pack), "--data", str(data), "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert word in said, said
    assert len(said.strip().splitlines()) <= 5
    assert not out.exists()


@pytest.mark.parametrize("name", FILES)
def test_files(name: str, copy: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change, word = FILES[name]
    change(copy)
    refuse(copy, data, word, capsys)


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_descriptions(name: str, copy: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change, word = DESCRIPTIONS[name]
    about = json.loads((copy / "model.json").read_text())
    change(about)
    (copy / "model.json").write_text(json.dumps(about))
    refuse(copy, data, word, capsys)
