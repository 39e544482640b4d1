"""`mclstm check` lists everything at once, and names file, site, column and date."""

import re
from pathlib import Path

import pytest
import yaml

import mclstm.data
from mclstm.config import DataConfig
from mclstm.data.checks.data_check import Report, check
from mclstm.data.findings import KEYS, Finding, errors, respell, respelled
from mclstm.data.fulda import AREA_KM2, UNITS, fulda
from mclstm.data.read import read
from mclstm.data.site_tables import Request, Roles
from mclstm.errors import DataError


def report_on(tmp_path: Path, text: str, **options: object) -> Report:
    path = tmp_path / "data.csv"
    path.write_text(text)
    return check(path, **options)  # type: ignore[arg-type]


def kinds(report: Report) -> list[tuple[str, str, str]]:
    return [(finding.kind, finding.column, finding.first) for finding in report.findings]


def test_everything_in_one_go(tmp_path: Path) -> None:
    rows = [f"2001-01-{day:02d},{day % 4}.5,{20 + day},7,{day}" for day in range(1, 31)]
    rows[3] = "2001-01-04,-1.5,24,7,4"
    rows[5] = "2001-01-06,1.5,-999,7,6"
    rows[7] = "2001-01-08,,28,7,"
    rows[9] = "2001-01-10,wet,30,7,10"
    rows[11] = "2001-01-12,inf,32,7,12"
    del rows[20]
    rows.append(rows[-1])
    report = report_on(tmp_path, "date,rain,temp,code,flow\n" + "\n".join(rows) + "\n")
    reported = kinds(report)
    for expected in [
        ("text", "rain", "2001-01-10"),
        ("missing", "rain", "2001-01-08"),
        ("infinite", "rain", "2001-01-12"),
        ("sentinel", "temp", "2001-01-06"),
        ("constant", "code", "2001-01-01"),
        ("missing", "flow", "2001-01-08"),
        ("gap", "", "2001-01-21"),
        ("duplicate", "", "2001-01-30"),
        ("negative", "rain", "2001-01-04"),
        ("unit", "rain", ""),
    ]:
        assert expected in reported, expected
    assert all(finding.file.endswith("data.csv") for finding in report.findings)
    assert {"site": "data", "column": "flow", "year": 2001, "count": 1} in report.missing


def test_severity_follows_role_and_policy(tmp_path: Path) -> None:
    text = "date,rain,temp,flow\n2001-01-01,1,1,1\n2001-01-02,,,\n2001-01-03,2,3,4\n"
    roles = Roles(mass=("rain",), aux=("temp",), target=("flow",))
    strict = report_on(tmp_path, text, roles=roles)
    assert {finding.column for finding in errors(strict.findings)} == {"rain", "temp"}
    lenient = report_on(tmp_path, text, roles=roles, missing_mass="zero", missing_aux="interpolate")
    assert errors(lenient.findings) == []


def test_declared_sentinels_are_missing_values(tmp_path: Path) -> None:
    text = "date,rain,flow\n2001-01-01,1,-999\n2001-01-02,2,3\n2001-01-03,0,4\n"
    assert errors(report_on(tmp_path, text).findings)
    assert not errors(report_on(tmp_path, text, missing=[-999.0]).findings)


@pytest.mark.parametrize(
    ("largest", "unit", "word"),
    [
        ("0.0001", "mm/day", "not plausible"),
        ("0.02", "m/s", "not plausible"),
        ("1", "parsec/day", "taken as it is"),
    ],
)
def test_units_belied_by_values(largest: str, unit: str, word: str, tmp_path: Path) -> None:
    text = f"date,rain\n2001-01-01,0\n2001-01-02,{largest}\n2001-01-03,0\n"
    findings = report_on(tmp_path, text, units={"rain": unit}).findings
    assert any(finding.kind == "unit" and word in finding.message for finding in findings)


def test_sites_with_attributes_but_no_series(tmp_path: Path) -> None:
    (tmp_path / "sites.csv").write_text("site,area\ndata,1\nghost,2\n")
    text = "date,rain\n2001-01-01,1\n2001-01-02,2\n"
    request = Request(attributes=str(tmp_path / "sites.csv"))
    report = report_on(tmp_path, text, roles=Roles(static=("area",)), request=request)
    assert any(finding.kind == "attributes" and finding.site == "ghost" for finding in report.findings)


def test_one_bad_file_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "A.csv").write_bytes(b"\xff")
    (tmp_path / "B.csv").write_text("date,rain,flow\n2001-01-01,-1,1\n2001-01-02,2,1\n")
    (tmp_path / "C.csv").write_text("date,rain,flow\n2001-01-01,1,1\n2001-01-01,2,1\n")
    reported = {(finding.kind, Path(finding.file).name) for finding in errors(check(tmp_path).findings)}
    assert reported == {("unreadable", "A.csv"), ("negative", "B.csv"), ("duplicate", "C.csv")}


def test_camels_passes(camels: Path) -> None:
    report = check(camels)
    assert (report.reader, report.sites, report.rows) == ("camels_us", 30, 30 * 10593)
    assert errors(report.findings) == []
    assert report.roles.mass == ("prcp",)
    assert report.missing


def test_fulda_is_whole() -> None:
    report = check(fulda(), units=UNITS)
    assert (report.rows, report.first, report.last) == (3653, "1979-01-01", "1988-12-31")
    assert [finding.kind for finding in report.findings] == [
        "unit"
    ]  # discharge in m3/s beside rain in mm/day
    assert report.missing == []


def test_fulda_in_depths() -> None:
    series = read(
        fulda(), mass=["precipitation"], aux=["tmean"], target=["discharge"],
        units=UNITS, convert={"discharge": "mm/day"}, area_km2=AREA_KM2,
    )  # fmt: skip
    assert float(series["discharge"][0, 0]) == pytest.approx(143 * 86.4 / 2977, rel=1e-14)
    # The runoff ratio of a catchment in central Germany: between a quarter and a half.
    assert 0.25 < float(series["discharge"].mean() / series["precipitation"].mean()) < 0.5


def test_a_finding_reads_as_a_sentence() -> None:
    finding = Finding(
        "error", "gap", "2 steps are missing", "Add them", "a.csv", "S", "rain", "2001-01-01", 2
    )
    assert finding.sentence() == "a.csv, site S, column rain, from 2001-01-01: 2 steps are missing. Add them."


def test_every_option_that_a_remedy_names_is_a_key_of_a_config_too() -> None:
    source = [path.read_text() for path in Path(mclstm.data.__path__[0]).rglob("*.py")]
    named = {option for text in source for option in re.findall(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*", text)}
    assert named == set(KEYS)
    assert set(KEYS.values()) <= set(DataConfig.model_fields)


def test_remedies_in_a_config_are_written_as_a_config_writes_them() -> None:
    said = "--unit Rain [mm]=UNIT, for example mm/day; --budget 0,2e-05, --missing -999, or correct"
    assert respell(said, "data.") == (
        "data.units: {Rain [mm]: UNIT}, for example mm/day; data.budget: [0, 2e-05], "
        "data.missing_values: [-999], or correct"
    )
    key, _, value = respell("--decimal ,", "").partition("=")
    assert (key, yaml.safe_load(value)) == ("decimal", ",")


def test_words_that_are_no_options_stay_as_they_are() -> None:
    with pytest.raises(DataError) as caught, respelled("data."):
        raise DataError("rain--aux.csv: Sort (--time), or --unit flow=mm; --auxiliary.")
    assert str(caught.value) == "rain--aux.csv: Sort (data.time), or data.units: {flow: mm}; --auxiliary."
