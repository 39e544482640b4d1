"""Markdown of the repository as pages of the site: links that lead to their pages, lists that Markdown sees.

The pages are written for the repository, where links lead to files beside them. On the site all files of
`docs/` lie at the root, some files from elsewhere are pages, and other files that a page links to are copied.
"""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Files outside docs/ that are pages of the site.
PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "src/mclstm/data/FULDA.md": "fulda.md",
    "src/mclstm/data/FLIGHTS.md": "flights.md",
}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
MARK = re.compile(r"^<!-- /?[\w-]+ -->$", re.MULTILINE)
FENCE = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
ITEM = re.compile(r"^([-*]|\d+\.) ")


def source_of(uri: str) -> str:
    """The path in the repository of a page of the site.

    >>> source_of("index.md"), source_of("theory.md")
    ('README.md', 'docs/theory.md')
    """
    return next((path for path, page in PAGES.items() if page == uri), f"docs/{uri}")


def place_of(path: str) -> str | None:
    """Where a file of the repository is on the site; None for a folder.

    >>> place_of("README.md"), place_of("docs/theory.md"), place_of("LICENSE"), place_of("results")
    ('index.md', 'theory.md', 'files/LICENSE', None)
    """
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"files/{path}" if (ROOT / path).is_file() else None


def linked_files(uri: str, text: str) -> Iterator[str]:
    """The files outside docs/ that a page links to and that are no pages themselves."""
    for link in LINK.finditer(text):
        path = resolved(uri, link[3])
        if path is not None and (place_of(path) or "").startswith("files/"):
            yield path


def resolved(uri: str, target: str) -> str | None:
    """The path in the repository that a link of a page leads to; None for addresses."""
    if "://" in target or target.startswith("mailto:"):
        return None
    return posixpath.normpath(posixpath.join(posixpath.dirname(source_of(uri)), target))


def prepared(uri: str, text: str) -> str:
    """The Markdown of a page of the site: without marks of generated blocks, links and lists made right."""
    parts = FENCE.split(MARK.sub("", text))
    return "".join(part if at % 2 else spaced(relinked(uri, part)) for at, part in enumerate(parts))


def relinked(uri: str, text: str) -> str:
    """Links that lead to the pages and files of the site; a link to a folder becomes its text."""

    def link(match: re.Match[str]) -> str:
        image, words, target, anchor = match.groups(default="")
        path = resolved(uri, target)
        if path is None:
            return match[0]
        place = place_of(path)
        if place is None:
            return words
        return f"{image}[{words}]({posixpath.relpath(place, posixpath.dirname(uri) or '.')}{anchor})"

    return LINK.sub(link, text)


def spaced(text: str) -> str:
    """A blank line before each list: GitHub needs none, Python's Markdown does.

    >>> spaced("Two things:\\n- one\\n- two\\n")
    'Two things:\\n\\n- one\\n- two\\n'
    """
    lines: list[str] = []
    inside = False
    for line in text.split("\n"):
        item = bool(ITEM.match(line))
        if item and not inside and lines and lines[-1]:
            lines.append("")
        inside = item or (inside and line.startswith(" ") and bool(line.strip()))
        lines.append(line)
    return "\n".join(lines)
