"""Markdown tables say the same as the numbers, and foreign text cannot break them."""

import numpy as np
import pandas as pd

from mclstm.report.markdown import markdown


def test_markdown_shows_small_large_and_missing_numbers() -> None:
    frame = pd.DataFrame({"a": [1.0, 1e-9, np.nan, -0.00004, 0.0, 1e12, np.inf], "n": range(7)})
    lines = markdown(frame, digits=3).splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:]] == [
        "1.000", "1.0e-09", "–", "-4.0e-05", "0.000", "1.0e+12", "inf",
    ]  # fmt: skip
    assert len({len(line) for line in lines}) == 1
    assert lines[3].split("|")[2].strip() == "1"


def test_markdown_of_a_table_side_by_side_names_its_rows() -> None:
    frame = pd.DataFrame({"site": ["A"], "nse": [0.8]})
    assert markdown(frame.set_index("site").T, 2).splitlines()[2] == "| nse | 0.80 |"


def test_foreign_text_stays_in_its_cell() -> None:
    frame = pd.DataFrame({"site|x": ["a|b\n| c |", "<script>", "\\|"]})
    lines = markdown(frame).splitlines()
    assert len(lines) == 5
    assert all(line.replace("\\\\", "").replace("\\|", "").count("|") == 2 for line in lines)
    assert "<" not in "".join(lines)


def test_an_empty_table_is_a_header() -> None:
    assert markdown(pd.DataFrame({"site": []})).splitlines()[0] == "| site |"
