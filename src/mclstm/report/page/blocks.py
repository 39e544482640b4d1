"""The sections of a comparison, written in Markdown, as blocks that the page shows as plain text."""

import re
from typing import Any

__all__ = ["blocks"]

Block = dict[str, Any]


def blocks(text: str) -> list[Block]:
    """Paragraphs, lists and tables in their order; marks of Markdown are taken off.

    >>> blocks("Some *words*.\\n\\n| a | b |\\n|---|---|\\n| x\\\\|y | 1 |")
    [{'text': 'Some words.'}, {'head': ['a', 'b'], 'rows': [['x|y', '1']]}]
    """
    parts = (part.strip("\n").splitlines() for part in re.split(r"\n\s*\n", text))
    return [block(lines) for lines in parts if lines]


def block(lines: list[str]) -> Block:
    if all(line.startswith("|") for line in lines):
        head, _, *rows = [cells(line) for line in lines]
        return {"head": head, "rows": rows}
    if all(line.startswith("* ") for line in lines):
        return {"list": [plain(line[2:]) for line in lines]}
    return {"text": plain(" ".join(lines))}


def cells(line: str) -> list[str]:
    """The cells of a row; a bar after a backslash belongs to its cell."""
    return [plain(cell.strip()) for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def plain(text: str) -> str:
    """Text as `markdown.safe` found it, without marks of emphasis and code."""
    bare = re.sub(r"`([^`]*)`", r"\1", re.sub(r"\*([^*\s][^*]*)\*", r"\1", text))
    return re.sub(r"\\([\\|])", r"\1", bare).replace("&lt;", "<")
