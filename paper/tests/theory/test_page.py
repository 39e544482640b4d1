"""The theory page: its links lead somewhere, its figures are ours, and drawing repeats to the byte."""

import re
from pathlib import Path

import pytest

from mclstm_paper.theory.drawing import write
from mclstm_paper.theory.page import FIGURES

PAGE = Path(__file__).parents[3] / "docs" / "theory.md"


def links():
    return re.findall(r"\]\(([^)#]+)\)", PAGE.read_text(encoding="utf-8"))


def test_links_exist():
    assert not [link for link in links() if not (PAGE.parent / link).is_file()]


def test_page_shows_every_figure_and_no_other():
    shown = {Path(link).stem for link in links() if link.endswith(".svg")}
    assert shown == set(FIGURES)


def test_page_names_every_test_file():
    named = {Path(link).name for link in links() if link.endswith(".py")}
    there = {path.name for path in Path(__file__).parent.glob("test_*.py")} - {Path(__file__).name}
    assert named == there


@pytest.mark.parametrize("name", ["schematic", "markov", "gradients"])
def test_drawing_repeats_to_the_byte(tmp_path, name):
    once, again = (write(FIGURES[name], tmp_path / run, name, ("svg", "png")) for run in ("once", "again"))
    assert [path.read_bytes() for path in once] == [path.read_bytes() for path in again]
