"""Sentences below a table: which commits made it and trained its runs."""

from typing import Any

from mclstm_paper.pages.sections import provenance


def content(jobs: dict[str, Any], *models: str) -> dict[str, Any]:
    rows = [{"model": name, "trained": 0 if name == "constant" else 9} for name in models]
    return {"made": {"date": "2026-01-01", "commit": "def", **jobs}, "profile": "paper", "rows": rows}


def test_runs_whose_jobs_are_not_known_are_named() -> None:
    written = "Made 2026-01-01 at commit def, profile paper."
    jobs = {"jobs": {"nau/seeds-0-9": {"commit": "abc"}, "lstm/rate-0.1/seeds-0-9": {"commit": "unknown"}}}
    trained = f"{written} Its runs were trained at abc, a copy outside of any checkout."
    assert provenance(content(jobs, "mclstm", "nau", "lstm", "constant")) == (
        f"{trained} Which commit trained mclstm is not known."
    )
    assert provenance(content(jobs, "nau", "lstm")) == trained
    assert provenance(content({}, "mclstm", "nau", "lstm")) == written
