"""The records of docs/trace.md count what they say: contrasts, floods, ways, brute force, sizes of pages."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from mclstm.data.windows import Tensors
from mclstm.models.mass_model import build_mass
from mclstm.models.output import Sizes
from mclstm.report.page.page_files import LIBRARY
from mclstm_paper.tracing.basin_ages import behind_flood, contrast
from mclstm_paper.tracing.flight_paths import Paths, compared
from mclstm_paper.tracing.page_speed import sizes
from mclstm_paper.tracing.trace_cost import brute_force


def test_snow_basins_are_compared_with_rain_basins() -> None:
    ages = [*range(40, 50), *range(80, 90)]
    snow = [0.0] * 10 + [0.5] * 10
    rows = [
        {"median": float(age), "young": 1 / age, "snow": share} for age, share in zip(ages, snow, strict=True)
    ]
    rows += [{"median": None, "young": 0.2, "snow": 0.2}]  # older than what was followed, in neither group
    result = contrast(rows)
    assert (result["snow basins"], result["rain basins"]) == (10, 10)
    assert (result["median"]["snow"], result["median"]["rain"]) == (84.5, 44.5)
    assert result["median"]["p"] < 1e-3
    assert result["median"]["spearman"] > 0.8 > 0 > result["young"]["spearman"]


def test_the_day_behind_a_flood_and_the_fewest_that_gave_half() -> None:
    days = pd.to_datetime(["2001-01-01", "2001-01-02", "2001-01-02", "2001-01-03", None])
    table = pd.DataFrame({"date": days, "share": [0.3, 0.2, 0.25, 0.15, 0.1]})
    assert behind_flood(table) == {"day": "2001-01-02", "share": pytest.approx(0.45), "half": 2}


def test_true_ways_have_no_error_and_the_rule_has_one() -> None:
    by_hour = np.random.default_rng(0).gamma(1.0, 5.0, (24, 2, 3))
    total = by_hour.sum(0)
    true = Paths(total / total.sum(-1, keepdims=True), np.array([100.0, 200.0]), by_hour)
    result = compared(true, [true, true])
    assert result["share error"] == result["minutes error"] == 0
    assert result["arrivals r"] == pytest.approx([1.0, 1.0])
    assert result["share error, all alike"] > 0
    assert result["minutes error, all alike"] == pytest.approx(50.0)
    assert result["arrivals r, all alike"] < 1


def test_brute_force_follows_all_that_entered() -> None:
    model = build_mass(Sizes(1, 0, 0, ["flow"]), None, hidden_size=3)
    x = torch.rand(2, 12, 1)
    empty = torch.zeros(2, 12, 0)
    data = Tensors(x, empty, torch.zeros(2, 0), x, np.ones((2, 12), dtype=bool))
    with torch.no_grad():
        h = model(x.transpose(0, 1), empty.transpose(0, 1), data.static).h
    # One run for each of the 12 days: the stores are empty at the start.
    assert brute_force(model, data, 12) == pytest.approx(float(h.double().sum()), rel=1e-5)
    assert brute_force(model, data, 3) < 0.5 * float(h.sum())


def test_sizes_count_every_file_once(tmp_path: Path) -> None:
    folder = tmp_path / "report_files"
    folder.mkdir()
    (tmp_path / "report.html").write_bytes(b"x" * 10)
    for name, size in {
        "run.js": 100,
        "site-0.js": 1000,
        "site-1.js": 3000,
        **dict.fromkeys(LIBRARY, 7),
    }.items():
        (folder / name).write_bytes(b"x" * size)
    of_page = sizes(tmp_path / "report.html")
    assert of_page == {"first": 1110, "per site": 2000, "all": 4110, "library": 7 * len(LIBRARY)}
