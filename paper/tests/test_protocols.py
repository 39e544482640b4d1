"""The switches: each is off under one protocol and on under the other, says why, and reaches some code."""

import re
from pathlib import Path

import pytest

import mclstm_paper
from mclstm_paper import protocols
from mclstm_paper.protocols import SWITCHES, switched

SOURCE = Path(mclstm_paper.__file__).parent


def calls() -> tuple[list[str], int]:
    """The names that the code asks for, read in its text, and how many calls there are in all."""
    files = [path for path in SOURCE.rglob("*.py") if path != Path(protocols.__file__)]
    text = "\n".join(path.read_text() for path in files)
    return re.findall(r'\bswitched\(\s*"([^"]+)"', text), len(re.findall(r"\bswitched\(", text))


@pytest.mark.parametrize("name", SWITCHES)
def test_every_switch_is_a_difference_with_a_sentence(name):
    """On is what the published code did, off what the text says: the pages have one column for all."""
    assert not switched(name, "stated")
    assert switched(name, "published")
    assert SWITCHES[name].endswith(".")


def test_every_switch_is_asked_for_somewhere_and_no_other():
    names, count = calls()
    assert len(names) == count, "a name that is not written in the call is not found by this test"
    assert set(names) == set(SWITCHES)


def test_unknown_switches_are_refused():
    with pytest.raises(ValueError, match="choose one of addition: random summands"):
        switched("addition: random sumands", "published")


def test_other_protocols_are_refused():
    with pytest.raises(ValueError, match="choose one of stated, published"):
        switched("addition: random summands", "pubished")
