"""The numbers of every generated table: those of the pages before the code was divided into slices.

numbers.json has a digest of the numbers in each marked block. A new result changes them. Then write the file
again with `python paper/tests/pages/test_numbers.py`, and say in the commit which results changed.
"""

import hashlib
import json
import re
from pathlib import Path

import pytest

from mclstm_paper.pages.fill_pages import every_block

ROOT = Path(__file__).parents[3]
FIXTURE = Path(__file__).with_name("numbers.json")


def digest(text: str) -> str:
    """How many numbers a text has, and a hash of them in their order.

    >>> digest("a row | 0.5 | 2e6 |") == digest("another row: 0.5 and 2e6")
    True
    """
    numbers = re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", text)
    return f"{len(numbers)} numbers, {hashlib.sha256(' '.join(numbers).encode()).hexdigest()[:16]}"


def marked(root: Path) -> dict[str, str]:
    """The text of every marked block of README and docs, by name."""
    pages = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    blocks = (re.findall(r"<!-- ([\w-]+) -->\n(.*?)<!-- /\1 -->", p.read_text(), re.DOTALL) for p in pages)
    return {name: text for page in blocks for name, text in page}


DIGESTS: dict[str, str] = json.loads(FIXTURE.read_text()) if FIXTURE.exists() else {}


def test_the_pages_have_every_block_of_before() -> None:
    assert set(marked(ROOT)) == {*DIGESTS, "sizes"}  # the one block that is new since


@pytest.mark.parametrize("name", DIGESTS)
def test_the_numbers_of_a_block_are_the_same(name: str) -> None:
    assert digest(every_block()[name](ROOT)) == DIGESTS[name]


if __name__ == "__main__":
    FIXTURE.write_text(
        json.dumps({name: digest(text) for name, text in marked(ROOT).items()}, indent=1) + "\n"
    )
