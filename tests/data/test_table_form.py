"""What `mclstm check` guesses of a table: decimal mark, dates, roles, units, step; and what it then says."""

import json
from pathlib import Path

import pandas as pd
import pytest
import yaml

from mclstm.cli.main import main
from mclstm.data.checks.data_check import Report, check
from mclstm.data.column_names import guess_roles, unit_in_name, units_in_names
from mclstm.data.findings import errors
from mclstm.data.read import read
from mclstm.data.site_tables import Request, Roles
from support.rivers import river
from support.small_run import brook, brook_config

TABLE = river(400)


def report_on(folder: Path, text: str) -> Report:
    (folder / "river.csv").write_text(text)
    return check(folder / "river.csv")


@pytest.mark.parametrize(
    "form",
    [
        "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y-%d-%m", "%d-%b-%Y", "%d.%m.%y", 
        "%d.%m.%Y %H:%M", "%d/%m/%Y %H:%M:%S",
    ],
)  # fmt: skip
def test_the_form_of_dates_is_proposed_and_used(form: str, tmp_path: Path) -> None:
    report = report_on(tmp_path, TABLE.to_csv(date_format=form))
    assert [item.remedy for item in errors(report.findings)] == [f"Declare --date-format {form!r}"]
    assert report.request.date_format == form
    assert (report.step, report.first, report.last) == ("D", "2001-01-01", "2002-02-04")


def test_decimal_commas_are_said_once_and_read(tmp_path: Path) -> None:
    report = report_on(tmp_path, TABLE.to_csv(sep=";", decimal=","))
    (finding,) = errors(report.findings)
    assert "Declare --decimal ," in finding.sentence()
    assert report.request.decimal == ","
    assert report.roles == Roles(("rain",), ("tmin", "tmax"), (), ("flow",))
    assert len(report.budgets) == 1


def test_dates_under_another_name(tmp_path: Path) -> None:
    report = report_on(tmp_path, TABLE.rename_axis("Datum").to_csv(date_format="%d.%m.%Y"))
    assert [item.remedy for item in errors(report.findings)] == [
        "Declare --time 'Datum'", "Declare --date-format '%d.%m.%Y'",
    ]  # fmt: skip
    assert report.step == "D"


def test_day_numbers_of_a_spreadsheet(tmp_path: Path) -> None:
    numbers = TABLE.set_index(pd.RangeIndex(36892, 36892 + len(TABLE), name="date"))
    said = [item.sentence() for item in report_on(tmp_path, numbers.to_csv()).findings]
    assert any("day number of a spreadsheet" in sentence for sentence in said)


def test_a_missing_header(tmp_path: Path) -> None:
    (finding,) = report_on(tmp_path, TABLE.to_csv(header=False)).findings
    assert "the first line holds values" in finding.message
    assert "Add a line with a name for every column" in finding.remedy


def test_no_mass_and_no_target(tmp_path: Path) -> None:
    report = report_on(tmp_path, TABLE.rename(columns={"rain": "a", "flow": "b"}).to_csv())
    assert [item.remedy for item in errors(report.findings)] == [
        "Name one with --mass",
        "Name one with --target",
    ]
    path = tmp_path / "river.csv"
    assert errors(check(path, roles=Roles(mass=("a",))).findings) == []  # data for a prediction
    (finding,) = errors(check(path, roles=Roles(target=("b",))).findings)
    assert finding.remedy == "Name one with --mass"


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("Precip [mm/d]", "mm/day"), ("Q (m³/s)", "m3/s"), ("flow_cfs", "ft3/s"), ("QObs(mm/d)", "mm/day"),
        ("T [°C]", "degC"), ("rain_mm", "mm"), ("rain (gauge 2)", ""), ("flow_in", ""), ("tmean", ""),
    ],
)  # fmt: skip
def test_units_in_names(name: str, unit: str) -> None:
    assert unit_in_name(name) == unit


def test_an_amount_is_that_of_a_step() -> None:
    assert units_in_names(["rain_mm"], "D") == {"rain_mm": "mm/day"}
    assert units_in_names(["rain_mm"], "15min") == {"rain_mm": "mm/15min"}
    assert units_in_names(["rain_mm"], "MS") == {"rain_mm": "mm"}
    assert units_in_names(["T [K]"], "D") == {"T [K]": "K"}


def test_roles_of_counted_flows() -> None:
    assert guess_roles(["in_a", "out_a", "hour"]) == Roles(("in_a",), ("hour",), (), ("out_a",))
    assert guess_roles(["in_use", "rain", "flow"]) == Roles(("rain",), ("in_use",), (), ("flow",))


def test_a_series_has_the_units_of_its_names(tmp_path: Path) -> None:
    TABLE.rename(columns={"rain": "rain [mm]", "flow": "flow [m3/s]"}).to_csv(tmp_path / "a.csv")
    columns = {"mass": ["rain [mm]"], "target": ["flow [m3/s]"]}
    series = read(tmp_path / "a.csv", **columns, convert={"flow [m3/s]": "mm/day"}, area_km2=86.4)
    assert series["rain [mm]"].attrs["units"] == "mm/day"
    assert series["flow [m3/s]"].attrs["units"] == "mm/day"
    declared = read(tmp_path / "a.csv", **columns, units={"rain [mm]": "mm/h"})
    assert declared["rain [mm]"].attrs["units"] == "mm/h"


def test_a_name_and_a_declaration_that_disagree(tmp_path: Path) -> None:
    TABLE.rename(columns={"rain": "rain [mm/h]"}).to_csv(tmp_path / "a.csv")
    findings = check(tmp_path / "a.csv", units={"rain [mm/h]": "mm/day", "flow": "mm/day"}).findings
    assert any("its name says mm/h, declared is mm/day" in item.message for item in findings)


def test_a_site_without_attributes_hears_which_sites_have_some(tmp_path: Path) -> None:
    (tmp_path / "sites.csv").write_text("site,area\n1013500,1\n2055100,2\n")
    TABLE.to_csv(tmp_path / "01013500.csv")
    roles = Roles(("rain",), (), ("area",), ("flow",))
    report = check(
        tmp_path / "01013500.csv", roles=roles, request=Request(attributes=str(tmp_path / "sites.csv"))
    )
    (finding,) = errors(report.findings)
    assert "its sites are '1013500', '2055100'" in finding.message
    assert "leading zeros" in finding.remedy


def test_rain_beyond_all_numbers(tmp_path: Path) -> None:
    table = TABLE.assign(rain=TABLE["rain"].where(TABLE.index != "2001-03-01", 1e39))
    (finding,) = errors(report_on(tmp_path, table.to_csv()).findings)
    assert (finding.kind, finding.column, finding.first) == ("infinite", "rain", "2001-03-01")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A config beside its data, which have flow in m3/s."""
    raw = brook_config(brook(tmp_path / "brook.csv", 500))
    raw["data"] |= {"path": "brook.csv", "units": {"rain": "mm/day", "flow": "m3/s"}, "target_unit": "mm/day"}
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(raw | {"data": raw["data"] | {"area": 86.4}}))
    (tmp_path / "no_area.yaml").write_text(yaml.safe_dump(raw))
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(raw | {"data": raw["data"] | {"area": 2.0}}))
    return tmp_path / "run.yaml"


def test_a_config_is_checked_with_its_units_and_area(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(config), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["findings"] == []
    assert 0.9 < report["budgets"][0]["ratio"] <= 1
    assert main(["check", str(config.with_name("no_area.yaml"))]) == 2
    assert "declare the area" in capsys.readouterr().err
    assert main(["check", str(config.with_name("small.yaml"))]) == 2
    assert "declare data.budget: [0, 90] if it is right" in capsys.readouterr().err


def test_options_beside_a_config_are_refused(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(config), "--missing-mass", "zero"]) == 2
    assert "Leave --missing-mass out" in capsys.readouterr().err
