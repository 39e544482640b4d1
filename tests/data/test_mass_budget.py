"""Outflow over inflow of every site, what is said of it, and how it is declared."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from mclstm import fit, pipeline
from mclstm.cli.main import main
from mclstm.config import check_config
from mclstm.data.checks.data_check import check
from mclstm.data.checks.likely_mistakes import likely_mistakes
from mclstm.data.checks.mass_budget import Budget, budget_findings, series_budgets
from mclstm.data.read import from_frames
from mclstm.data.site_tables import Roles
from mclstm.errors import ConfigError, DataError, DataWarning
from support.rivers import counts, river
from support.small_run import brook_config

ROLES = Roles(mass=("rain",), target=("flow",))


def budget(
    ratio: float, years: float = 5.0, unit: str = "", *, lowest: float = 0.0, counted: bool = False
) -> Budget:
    steps = int(365.25 * years)
    return Budget("S", "a.csv", steps, years, 2.0 * steps, 2.0 * steps * ratio, lowest, counted, unit, unit)


def severity(item: Budget, declared: tuple[float, float] | None = None, trained: float | None = None) -> str:
    return "".join(finding.severity for finding in budget_findings([item], declared, trained))


@pytest.mark.parametrize(
    ("ratio", "years", "expected"),
    [
        (0.0, 5, "error"), (0.0009, 5, "error"), (0.0011, 5, "warning"), (0.019, 5, "warning"),
        (0.021, 5, ""), (1.0, 5, ""), (1.01, 5, "warning"), (2.99, 5, "warning"), (3.01, 5, "error"),
        (2.9, 0.5, ""), (0.002, 0.5, ""), (3.1, 0.5, "warning"), (0.0, 0.5, "warning"),
    ],
)  # fmt: skip
def test_limits(ratio: float, years: float, expected: str) -> None:
    """A record shorter than a year may live on what was stored before: it is never refused."""
    assert severity(budget(ratio, years)) == expected


def test_what_is_declared_is_right_and_everything_else_is_refused() -> None:
    assert severity(budget(4.0), (0.5, 5.0)) == ""
    assert severity(budget(0.4), (0.5, 5.0)) == "error"
    assert severity(budget(0.0), (0.0, 5.0)) == ""


def test_far_from_training() -> None:
    assert severity(budget(0.4), trained=0.3) == ""
    assert severity(budget(0.04), trained=0.3) == "warning"


def test_depths_that_no_climate_has() -> None:
    """2 mm/day are 730 mm per year; per hour they are 17,500."""
    assert severity(budget(0.4, unit="mm/day")) == ""
    assert severity(budget(0.4, unit="mm/h")) == "warning"
    assert severity(budget(0.4, unit="mm/week")) == ""
    wet = budget(0.95, unit="mm/h")._replace(inflow=0.4 * 1826, outflow=0.38 * 1826)  # 3,500 mm per year
    assert severity(wet) == ""


def test_a_counted_stock_that_falls_below_what_can_have_been_there() -> None:
    assert severity(budget(1.0, 0.1, lowest=-10, counted=True)) == "warning"
    assert severity(budget(1.0, 0.1, lowest=-1, counted=True)) == ""
    assert severity(budget(1.0, 0.1, lowest=-10)) == ""


def test_the_likely_mistake_depends_on_what_is_declared() -> None:
    assert "ft3 and m3" in likely_mistakes(14.0, ("mm/day", "m3/s"))
    assert "ft3" not in likely_mistakes(14.0, ("mm/day", "mm/day"))
    assert "fits --area 2200" in likely_mistakes(10.0, ("mm/day", ""))
    assert "m and mm (1000)" in likely_mistakes(300.0, ("mm/day", "mm/day"), expected=0.3)


def test_without_units_the_factors_are_named_too() -> None:
    said = likely_mistakes(9.6, ("", ""))
    assert "m3/s beside mm/day fits --area 2100" in said
    assert "per hour and per day (24) or inches and mm (25.4)" in said
    assert "m3/s" not in likely_mistakes(0.0004, ("", ""))


def test_budgets_of_a_series_count_the_steps_where_all_is_known() -> None:
    table = pd.DataFrame({"rain": 2.0, "flow": 1.0}, index=pd.date_range("2001-01-01", periods=400))
    table.loc[table.index[:100], "flow"] = np.nan
    (item,) = series_budgets(from_frames({"A": table}, ROLES))
    assert (item.site, item.steps, item.ratio) == ("A", 300, 0.5)
    assert series_budgets(from_frames({"A": table[:20]}, ROLES)) == []


def test_several_masses_in_their_own_units() -> None:
    index = pd.date_range("2001-01-01", periods=400)
    table = pd.DataFrame({"rain": 2.0, "snow": 0.1, "flow": 1.5}, index=index)
    roles = Roles(mass=("rain", "snow"), target=("flow",))
    units = {"rain": "mm/day", "snow": "cm/day", "flow": "mm/day"}
    (item,) = series_budgets(from_frames({"A": table}, roles, units=units))
    assert item.ratio == pytest.approx(0.5, rel=1e-14)


def test_check_prints_the_budget_and_the_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    river().to_csv(tmp_path / "river.csv")
    words = ["check", str(tmp_path / "river.csv"), "--unit", "rain=mm/day", "--unit", "flow=mm/day"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "in steps of 1 day" in shown
    assert "mm per year in" in shown
    assert main([*words, "--budget", "0.9,1"]) == 2
    assert "declared are 0.9 to 1" in capsys.readouterr().err
    assert main([*words, "--budget", "1"]) == 2
    assert "--budget 0.2,1.3" in capsys.readouterr().err


def test_in_and_out_exchanged(tmp_path: Path) -> None:
    """Half of those who leave are not counted: taken as entrances, the exits do not suffice."""
    names = {"in_north": "out_north", "in_west": "out_west", "out_east": "in_east", "out_south": "in_south"}
    counts(counted=0.5).rename(columns=names).to_csv(tmp_path / "doors.csv")
    (finding,) = [item for item in check(tmp_path / "doors.csv").findings if item.kind == "budget"]
    assert "the stock falls to" in finding.message
    assert "in and out are exchanged" in finding.remedy


def two_years(folder: Path, factor: float, **data: object) -> dict[str, Any]:
    """The config of a river of two years whose rain is multiplied."""
    raw = brook_config(folder / "brook.csv", updates=1)
    table = river(730).rename(columns={"tmin": "temperature"}).drop(columns="tmax")
    table.assign(rain=table["rain"] * factor).to_csv(folder / "brook.csv")
    return raw | {"data": raw["data"] | data}


def test_train_warns_refuses_and_accepts_what_is_declared(tmp_path: Path) -> None:
    def train(factor: float, **data: object) -> None:
        pipeline.train(check_config(two_years(tmp_path, factor, **data)), tmp_path / "runs", quiet=True)

    train(1.0)
    with pytest.warns(DataWarning, match=r"site brook: what flows out is .* with data.units"):
        train(0.3)
    with pytest.raises(DataError, match=r"declare data.budget: \[0, \d+\] if it is right"):
        train(1 / 24)
    train(1 / 24, budget=[0, 20])


def test_what_train_refuses_ends_with_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(two_years(tmp_path, 1 / 24)))
    assert main(["train", str(tmp_path / "run.yaml"), "--out", str(tmp_path / "runs")]) == 2
    assert "site brook: what flows out is" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_fit_warns_refuses_and_accepts_what_is_declared() -> None:
    table = river(500)
    options = {"mass": "rain", "target": "flow", "hidden_size": 3, "updates": 1, "warmup": 20, "length": 40}
    with pytest.warns(DataWarning, match="what flows out is"):
        fit(table.assign(rain=table["rain"] / 3), **options)
    wrong = table.assign(rain=table["rain"] / 24)
    with pytest.raises(DataError, match=r"declare budget=\[0, \d+\] if it is right"):
        fit(wrong, **options)
    fit(wrong, budget=(0, 20), **options)
    with pytest.raises(ConfigError, match="fit, budget: "):
        fit(wrong, budget=(2, 1), **options)
    with pytest.raises(ConfigError, match="fit, budget: 3 is no range"):
        fit(wrong, budget=3, **options)  # type: ignore[arg-type]
    fit(wrong, model="lstm", **options)  # an LSTM owes nothing to the mass


def test_fit_refuses_units_in_names_that_do_not_balance() -> None:
    table = river(500).rename(columns={"rain": "rain [mm]", "flow": "flow_cms"})
    with pytest.raises(DataError, match="is in mm/day and flow_cms in m3/s"):
        fit(table, mass="rain [mm]", target="flow_cms", updates=1)
