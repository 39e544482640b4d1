"""Findings: what is wrong with a user's data, where, and what to do about it."""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from mclstm.errors import DataError, DataWarning, MissingColumnError

__all__ = [
    "ABSENT", "ERROR", "KEYS", "VALUE", "WARNING", "Finding", "errors", "raise_first", "raise_or_warn",
    "respell", "respelled", "unreadable", "warn",
]  # fmt: skip

ERROR, WARNING = "error", "warning"
ABSENT = "absent"  # the kind of a column or attribute that is not there

# Remedies name options of `mclstm check`. The same options as keys of a config or of `fit`:
KEYS = {
    "--time": "time", "--site": "site", "--reader": "reader", "--mass": "mass", "--aux": "aux",
    "--static": "static", "--target": "target", "--attributes": "attributes", "--unit": "units",
    "--separator": "separator", "--decimal": "decimal", "--date-format": "date_format",
    "--missing-mass": "missing_mass", "--missing-aux": "missing_aux", "--missing": "missing_values",
    "--area": "area", "--budget": "budget",
}  # fmt: skip
# Options whose values a config writes in another way:
YAML = (
    (re.compile(r"--unit ([^=]{1,80})=([^\s,;:.]+)"), r"--unit {\1: \2}"),
    (re.compile(r"--budget ([\d.e+-]+),([\d.e+-]+)"), r"--budget [\1, \2]"),
    (re.compile(r"--missing (-?[\d.e+-]*\d)"), r"--missing [\1]"),
    (re.compile(r"--decimal ,"), r"--decimal ','"),
)
# `fit` takes a table in one unit, with NaN where values are missing.
FIT = (
    (
        re.compile(r"Declare the units of mass and target with --unit \{.*?\}(?: \(.*?\))?"),
        "Bring mass and target to one unit",
    ),
    (re.compile(r", or declare their unit with --unit \{.*?\}"), ""),
    (re.compile(r"Declare it with --missing \[.*?\]"), "Put NaN in its place"),
    (re.compile(r"(,| of) site site(?=[,: ])"), ""),  # a table is one site, and has no name
)
WORDS = "zero|interpolate"  # values of options that `fit` takes as text
VALUE = rf"\{{[^{{}}]*\}}|\[[^\[\]]*\]|'[^']*'|\d+|(?:{WORDS})\b"
SPELLED = re.compile(rf"(?<![\w-])({'|'.join(KEYS)})(?![\w-])(?: ({VALUE}))?")


class Finding(NamedTuple):
    """`first` is the first date concerned, `count` the number of values. Empty fields do not apply."""

    severity: str
    kind: str
    message: str
    remedy: str
    file: str = ""
    site: str = ""
    column: str = ""
    first: str = ""
    count: int = 1  # type: ignore[assignment]  # hides tuple.count

    def place(self) -> str:
        """File, site, column and first date, those that apply."""
        words = [("", self.file), ("site ", self.site), ("column ", self.column), ("from ", self.first)]
        return ", ".join(word + name for word, name in words if name)

    def sentence(self) -> str:
        """The whole finding in two sentences: place and problem, then the remedy."""
        end = "" if self.remedy.endswith("?") else "."
        return f"{self.place()}: {self.message}. {self.remedy}{end}"


def errors(findings: Sequence[Finding]) -> list[Finding]:
    """The findings that stop a run."""
    return [finding for finding in findings if finding.severity == ERROR]


def raise_first(findings: Sequence[Finding]) -> None:
    """Refuse data with errors: the message has the first one in full and the number of the others."""
    bad = errors(findings)
    if not bad:
        return
    more = f"\n{len(bad) - 1} more: `mclstm check` lists them all." if len(bad) > 1 else ""
    if bad[0].kind == ABSENT:
        raise MissingColumnError(bad[0].sentence() + more, bad[0].column)
    raise DataError(bad[0].sentence() + more)


def warn(findings: Sequence[Finding], section: str) -> None:
    """Say the other findings as DataWarnings: the first of each kind and column, and how many share it."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        if finding.severity == WARNING:
            groups.setdefault((finding.kind, finding.column), []).append(finding)
    for group in groups.values():
        more = f" The same holds for {len(group) - 1} more sites." if len(group) > 1 else ""
        warnings.warn(respell(group[0].sentence(), section) + more, DataWarning, stacklevel=3)


def raise_or_warn(findings: Sequence[Finding], section: str) -> None:
    """Refuse data with errors, else say the warnings; remedies name keys of a section as `respelled` does."""
    with respelled(section):
        raise_first(findings)
    warn(findings, section)


def unreadable(file: str, error: DataError) -> Finding:
    """The finding for a file that could not be read at all."""
    what, _, remedy = str(error).partition(". ")
    if what.startswith(file) and what[len(file) : len(file) + 1] in (",", ":", " "):
        what = what[len(file) :].lstrip(",: ")
    remedy = remedy.rstrip(".") or "Correct or remove it"
    if isinstance(error, MissingColumnError):
        return Finding(ERROR, ABSENT, what, remedy, file, "", error.column)
    return Finding(ERROR, "unreadable", what, remedy, file)


def respell(text: str, section: str) -> str:
    """A text with keys in place of the options of `mclstm check`; section: the words before each key.

    Without a section the keys are arguments of `fit`.

    >>> respell("Declare --unit flow=m3/s, or --budget 0,2", "data.")
    'Declare data.units: {flow: m3/s}, or data.budget: [0, 2]'
    >>> respell("Declare --missing-mass zero, or --budget 0,2", "")
    "Declare missing_mass='zero', or budget=[0, 2]"
    """
    for pattern, words in (*YAML, *([] if section else FIT)):
        text = pattern.sub(words, text)
    return SPELLED.sub(lambda match: _as_key(section, *match.groups()), text)


def _as_key(section: str, option: str, value: str | None) -> str:
    """A key, and its value as a config or as Python writes it."""
    key = section + KEYS[option]
    if value is None:
        return key
    if section:
        return f"{key}: {value}"
    return f"{key}={value!r}" if value in WORDS.split("|") else f"{key}={value}"


@contextmanager
def respelled(section: str) -> Iterator[None]:
    """Around code that reads data for a config or for `fit`: remedies name keys instead of options.

    >>> with respelled("data."):
    ...     raise DataError("rain.csv: 3 values are missing. Declare --missing-mass zero.")
    Traceback (most recent call last):
    mclstm.errors.DataError: rain.csv: 3 values are missing. Declare data.missing_mass: zero.
    """
    try:
        yield
    except DataError as error:
        error.args = (respell(str(error), section),)
        raise
