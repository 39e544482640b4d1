"""Tables that can be read and trained on, but are wrong: each is named in one sentence with the remedy."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mclstm.data.checks.data_check import Report, check
from mclstm.data.site_tables import Request
from support.rivers import river
from support.wrong_tables import DEPTHS, FIRST, FLOW, OVER_AREA, SECOND, WRONG, volume, write_table


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return river()


def report_on(
    path: Path, content: pd.DataFrame | str, units: dict[str, str], options: dict[str, Any]
) -> Report:
    write_table(path, content)
    return check(path, units=units, **{"request": Request(), **options})


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_table_is_named(name: str, table: pd.DataFrame, tmp_path: Path) -> None:
    wrong = WRONG[name]
    report = report_on(tmp_path / "river.csv", wrong.change(table), wrong.units, wrong.options)
    said = [finding.sentence() for finding in report.findings]
    assert any(wrong.word in sentence for sentence in said), said
    assert all(len(sentence) < 400 and sentence.count(". ") >= 1 for sentence in said), said


def test_there_are_forty() -> None:
    assert (len(FIRST), len(SECOND), len(WRONG)) == (20, 20, 40)


def test_the_table_before_any_change_is_right(table: pd.DataFrame, tmp_path: Path) -> None:
    assert report_on(tmp_path / "river.csv", table, DEPTHS, {}).findings == []
    over_area = report_on(tmp_path / "volumes.csv", volume(1)(table), FLOW, OVER_AREA)
    assert over_area.findings == []
