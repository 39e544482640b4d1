"""In minus out per day, as `mclstm check` tells it."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mclstm.cli.main import main
from mclstm.data.checks.data_check import check
from mclstm.data.site_tables import Roles

ROLES = Roles(mass=("in_a", "in_b"), target=("out_a",))


def write(path: Path, steps: int, freq: str) -> Path:
    times = pd.date_range("2001-01-01", periods=steps, freq=freq)
    table = pd.DataFrame({"time": times, "in_a": 1.0, "in_b": 2.0, "out_a": 2.0 + (np.arange(steps) >= 24)})
    table.to_csv(path, index=False)
    return path


def test_mean_and_largest_imbalance_of_whole_days(tmp_path: Path) -> None:
    (balance,) = check(write(tmp_path / "shop.csv", 60, "h"), roles=ROLES).balances
    # 24 hours with 1 more in than out, 24 with none; the third day is not whole.
    assert (balance.site, balance.days, balance.inflow) == ("shop", 2, 72.0)
    assert (balance.imbalance, balance.largest, balance.date) == (12.0, 24.0, "2001-01-01")


def test_daily_steps_and_tables_without_outflow_have_no_balance_of_days(tmp_path: Path) -> None:
    path = write(tmp_path / "shop.csv", 60, "D")
    assert check(path, roles=ROLES).balances == []
    assert check(path, roles=Roles(mass=("in_a",))).balances == []


def test_the_command_prints_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["check", str(write(tmp_path / "shop.csv", 60, "h")), "--mass", "in_a,in_b", "--target", "out_a"]
    assert main(words) == 0
    assert (
        "shop: in - out per day is 12 of 72 on average over 2 days; the largest is 24"
        in capsys.readouterr().out
    )
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["balances"][0]["days"] == 2
