"""The record of the demo: one row per model and metric, one value per seed."""

import json
from functools import partial
from pathlib import Path

import pytest

from mclstm.demo import MODELS, SCORES, compare
from mclstm_paper import demo_record


def test_every_score_of_every_seed_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_record, "compare", partial(compare, updates=1))
    demo_record.record(tmp_path / "runs", 2, tmp_path / "stated.json", tmp_path / "fulda.png")
    assert (tmp_path / "fulda.png").read_bytes().startswith(b"\x89PNG")
    rows = json.loads((tmp_path / "stated.json").read_text())["rows"]
    assert {(row["model"], row["metric"]) for row in rows} == {(m, s) for m in MODELS for s in SCORES}
    assert {len(row["values"]) for row in rows} == {2}
