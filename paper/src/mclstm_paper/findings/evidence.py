"""From result files to a verdict on one claim of the paper: by tests, a number, an order, or a proof."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from mclstm_paper.findings.doubts import (
    failed_trainings,
    missing_work,
    p_values,
    repeated,
    too_few,
    unlike,
    weak_rivals,
)
from mclstm_paper.protocols import Protocol
from mclstm_paper.results import Row, read_results

__all__ = [
    "HOLDS",
    "NOT",
    "OPEN",
    "Bound",
    "Evidence",
    "Measured",
    "Verdict",
    "by_tests",
    "first_of",
    "number",
    "order",
    "proven",
    "shares_below_one",
    "standing_in",
]  # fmt: skip

Verdict = Literal["holds", "does not hold", "not settled"]
HOLDS: Verdict = "holds"
NOT: Verdict = "does not hold"
OPEN: Verdict = "not settled"
NO_TEST = "no test: the numbers side by side"


class Bound(NamedTuple):
    """What a number has to reach."""

    side: Literal["at least", "at most", "nearer to 0 than"]
    limit: float

    def holds(self, value: float) -> bool:
        """Whether a value does.

        >>> Bound("nearer to 0 than", 14.7).holds(-12.0), Bound("at most", 0).holds(1.0)
        (True, False)
        """
        if self.side == "at least":
            return value >= self.limit
        return (value if self.side == "at most" else abs(value)) <= self.limit


class Measured(NamedTuple):
    """What we found about a claim under one protocol."""

    verdict: Verdict
    text: str  # the numbers, or why nothing is settled
    test: str
    n: int | None = None  # seeds, members or series; None where nothing is repeated


Updates = Mapping[Protocol, int]  # what a training of the paper took
Evidence = Callable[[Path, Protocol], Measured | None]  # of the folder of results; None: nothing measured


def by_tests(file: str, pattern: str, updates: Updates | None = None, repetitions: int = 0) -> Evidence:
    """By all claims of a result file that match: it holds where each does.

    file: in the folder of results, with {protocol} · updates: what the paper trained for · repetitions: how
    many are planned; a claim that fails after fewer is not settled
    """
    return partial(_by_tests, file, pattern, updates, repetitions)


def _by_tests(
    file: str, pattern: str, updates: Updates | None, repetitions: int, results: Path, protocol: Protocol
) -> Measured | None:
    content = read_results(results / file.format(protocol=protocol))
    claims = [one for one in content["claims"] if re.match(pattern, one["claim"])] if content else []
    if content is None or not claims:
        return None
    held, subject = sum(one["holds"] for one in claims), re.split(r"[ ,:]", claims[0]["claim"])[0]
    rows = [row for row in content["rows"] if row["model"] == subject and row["n"]]
    about = [row for row in rows if row["setting"] in claims[0]["claim"]] or rows
    n = repeated(claims[0]["test"], about)
    text = ([] if len(claims) == 1 else [f"{held} of {len(claims)}"]) + p_values(claims)
    if held == len(claims):
        verdict, doubts = HOLDS, list(weak_rivals(claims))
    else:
        verdict = NOT
        wanted = None if updates is None else updates[protocol]
        doubts = [*missing_work(about, n, wanted, repetitions), *too_few(content["claims"], claims)]
    failures, broken = failed_trainings(about)
    verdict = OPEN if doubts or broken else verdict
    return Measured(verdict, "; ".join(text + doubts + failures + unlike(claims)), claims[0]["test"], n)


def number(
    file: str,
    cell: tuple[str, str, str],
    bound: Bound,
    *,
    updates: Updates | None = None,
    share: bool = False,
) -> Evidence:
    """By one row (model, setting, metric): its value, or its share of the repetitions, beside a bound.

    updates: what the paper trained for; fewer settle nothing
    """
    return partial(_number, file, cell, bound, updates, share)


def _number(
    file: str,
    cell: tuple[str, str, str],
    bound: Bound,
    updates: Updates | None,
    share: bool,
    results: Path,
    protocol: Protocol,
) -> Measured | None:
    row = row_of(results / file.format(protocol=protocol), *cell)
    if row is None:
        return None
    value, n = row["value"] / (row["n"] if share else 1), row["n"]
    text = f"{value:.3g}, asked: {bound.side} {bound.limit:g}"
    wanted = None if updates is None else updates[protocol]
    doubts = [*missing_work([row], n, wanted, 0), *(["one seed"] if n == 1 else [])]
    if doubts:
        return Measured(OPEN, "; ".join([text, *doubts]), NO_TEST, n)
    return Measured(HOLDS if bound.holds(value) else NOT, text, NO_TEST, n)


def order(file: str, setting: str, metric: str, better: str, *worse: str, no_gain: bool = False) -> Evidence:
    """By the seeds of several models in one setting, a file of the stated protocol: the first is the best.

    It holds where every seed of the first is above all seeds of the others, and fails where all seeds of one
    are above it. no_gain: the claim is only that none of the others is better, by its middle seed.
    """
    return partial(_order, file, (better, *worse), setting, metric, no_gain)


def _order(
    file: str,
    models: Sequence[str],
    setting: str,
    metric: str,
    no_gain: bool,
    results: Path,
    protocol: Protocol,
) -> Measured | None:
    rows = [row_of(results / file, model, setting, metric) for model in models]
    known = [row for row in rows if row is not None]
    if protocol != "stated" or len(known) < len(rows):
        return None
    ours, *others = (row["values"] for row in known)
    value, *values = (row["value"] for row in known)
    n = min(row["n"] for row in known)
    text = " against ".join([f"{value:.3g}", ", ".join(f"{other:.3g}" for other in values)])
    if n == 1:
        return Measured(OPEN, f"{text}; one seed", NO_TEST, n)
    if any(max(ours) < min(other) for other in others):
        return Measured(NOT, text, NO_TEST, n)
    if (no_gain and value >= max(values)) or all(min(ours) > max(other) for other in others):
        return Measured(HOLDS, text, NO_TEST, n)
    return Measured(OPEN, f"{text}; the seeds of both overlap", NO_TEST, n)


def proven(test: str, verdict: Verdict = HOLDS, text: str = "proven") -> Evidence:
    """By an argument that a test checks; the protocols do not differ in it."""

    def measured(results: Path, protocol: Protocol) -> Measured | None:
        return Measured(verdict, text, f"`paper/tests/theory/{test}`") if protocol == "stated" else None

    return measured


def shares_below_one(file: str, count: str) -> Evidence:
    """By a file of worst cases as shares of a bound; count: the key of how many were tried."""

    def measured(results: Path, protocol: Protocol) -> Measured | None:
        content = read_results(results / file)
        if content is None or protocol != "stated":
            return None
        worst = max(value for key, value in content.items() if key != count)
        text = f"the worst is {worst:.2f} of the bound"
        return Measured(HOLDS if worst <= 1 else NOT, text, "random configurations", content[count])

    return measured


def first_of(*ways: Evidence) -> Evidence:
    """The first evidence that is there."""

    def measured(results: Path, protocol: Protocol) -> Measured | None:
        every = (way(results, protocol) for way in ways)
        return next((one for one in every if one is not None), None)

    return measured


def standing_in(evidence: Evidence, reason: str, weakens: Verdict = NOT) -> Evidence:
    """Evidence about a weaker model than the claim's: the verdict that this weakens settles nothing."""

    def measured(results: Path, protocol: Protocol) -> Measured | None:
        one = evidence(results, protocol)
        if one is None or one.verdict != weakens:
            return one
        return one._replace(verdict=OPEN, text=f"{one.text}; {reason}")

    return measured


def row_of(path: Path, model: str, setting: str, metric: str) -> Row | None:
    """A measured row of a result file."""
    rows = (read_results(path) or {"rows": []})["rows"]
    wanted = (
        row for row in rows if (row["model"], row["setting"], row["metric"]) == (model, setting, metric)
    )
    return next((row for row in wanted if row["value"] is not None), None)
