"""One thing found in a user's data: what, where, and what to do about it."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from mclstm.errors import DataError, MissingColumnError

__all__ = [
    "ABSENT",
    "ERROR",
    "KEYS",
    "WARNING",
    "Finding",
    "errors",
    "raise_first",
    "respelled",
    "unreadable",
]

ERROR, WARNING = "error", "warning"
ABSENT = "absent"  # the kind of a column or attribute that is not there


# Options of `mclstm check`, in which remedies are told, and the same as keys of a config or of `fit`.
KEYS = {
    "--time": "time",
    "--site": "site",
    "--reader": "reader",
    "--aux": "aux",
    "--static": "static",
    "--attributes": "attributes",
    "--unit": "units",
    "--separator": "separator",
    "--decimal": "decimal",
    "--date-format": "date_format",
    "--missing-mass": "missing_mass",
    "--missing-aux": "missing_aux",
    "--missing": "missing_values",
}
SPELLED = re.compile(rf"(?<![\w-])({'|'.join(KEYS)})(?![\w-])")


class Finding(NamedTuple):
    """`first` is the first date concerned, `count` how many values are; empty fields do not apply."""

    severity: str
    kind: str
    message: str
    remedy: str
    file: str = ""
    site: str = ""
    column: str = ""
    first: str = ""
    count: int = 1  # type: ignore[assignment]  # hides tuple.count, which nobody needs here

    def place(self) -> str:
        """Where it is, as a reader of the message would say it."""
        words = [f"site {self.site}" if self.site else "", f"column {self.column}" if self.column else ""]
        words += [f"from {self.first}" if self.first else ""]
        return ", ".join([self.file, *filter(None, words)]) if self.file else ", ".join(filter(None, words))

    def sentence(self) -> str:
        """The whole finding in two sentences: place and problem, then the remedy."""
        end = "" if self.remedy.endswith("?") else "."
        return f"{self.place()}: {self.message}. {self.remedy}{end}"


def errors(findings: Sequence[Finding]) -> list[Finding]:
    """Only the findings that stop a run."""
    return [finding for finding in findings if finding.severity == ERROR]


def raise_first(findings: Sequence[Finding]) -> None:
    """Refuse data with errors: the first one in full, the number of the others."""
    bad = errors(findings)
    if not bad:
        return
    more = f"\n{len(bad) - 1} more: `mclstm check` lists them all." if len(bad) > 1 else ""
    if bad[0].kind == ABSENT:
        raise MissingColumnError(bad[0].sentence() + more, bad[0].column)
    raise DataError(bad[0].sentence() + more)


def unreadable(file: str, error: DataError) -> Finding:
    """A file that could not be read at all, as a finding, so that it does not hide the others."""
    what, _, remedy = str(error).partition(". ")
    if what.startswith(file) and what[len(file) : len(file) + 1] in (",", ":", " "):
        what = what[len(file) :].lstrip(",: ")
    remedy = remedy.rstrip(".") or "Correct or remove it"
    if isinstance(error, MissingColumnError):
        return Finding(ERROR, ABSENT, what, remedy, file, "", error.column)
    return Finding(ERROR, "unreadable", what, remedy, file)


@contextmanager
def respelled(section: str) -> Iterator[None]:
    """Around the reading of data for whoever has no options: an error's remedy names keys instead.

    section: what stands before each, such as "data."

    >>> with respelled("data."):
    ...     raise DataError("rain.csv: 3 values are missing. Declare --missing-mass zero.")
    Traceback (most recent call last):
    mclstm.errors.DataError: rain.csv: 3 values are missing. Declare data.missing_mass zero.
    """
    try:
        yield
    except DataError as error:
        error.args = (SPELLED.sub(lambda found: section + KEYS[found[1]], str(error)),)
        raise
