"""From result files to a verdict on one claim of the paper: by tests, a number, an order, or a proof."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mclstm_paper.protocols import Protocol
from mclstm_paper.results import Row, read_results

__all__ = [
    "HOLDS",
    "NOT",
    "OPEN",
    "Evidence",
    "Measured",
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
# Where a claim of a result file says that its two sides were not made alike.
UNLIKE = re.compile(r", (which was trained|though|on a test set that).*")
# The end of a claim about the same trainings that says nothing of other basins.
HERE = " at these basins"


class Measured(NamedTuple):
    """What we found about a claim under one protocol."""

    verdict: Verdict
    text: str  # the numbers, or why nothing is settled
    test: str
    n: int | None = None  # seeds, members or series; None where nothing is repeated


Evidence = Callable[[Path, Protocol], Measured | None]  # of the folder of results; None: nothing measured


def by_tests(file: str, pattern: str, updates: int | None = None, repetitions: int = 0) -> Evidence:
    """By all claims of a result file that match: it holds where each does.

    file: in the folder of results, with {protocol} · updates: what the paper trained for · repetitions: how
    many are planned; a claim that fails after fewer is not settled
    """
    return partial(_by_tests, file, pattern, updates, repetitions)


def _by_tests(
    file: str, pattern: str, updates: int | None, repetitions: int, results: Path, protocol: Protocol
) -> Measured | None:
    content = read_results(results / file.format(protocol=protocol))
    claims = [one for one in content["claims"] if re.match(pattern, one["claim"])] if content else []
    if content is None or not claims:
        return None
    held, subject = sum(one["holds"] for one in claims), re.split(r"[ ,:]", claims[0]["claim"])[0]
    rows = [row for row in content["rows"] if row["model"] == subject and row["n"]]
    about = [row for row in rows if row["setting"] in claims[0]["claim"]] or rows
    n = max((row["n"] for row in about), default=None)
    trained = max((row.get("trained", 0) for row in about), default=0)
    verdict = HOLDS if held == len(claims) else NOT
    text = ([] if len(claims) == 1 else [f"{held} of {len(claims)}"]) + p_values(claims)
    if verdict is NOT and updates is not None and 0 < trained < updates:
        verdict = OPEN
        text.append(f"trained for {trained:,} of the paper's {updates:,} updates")
    if verdict is NOT and n is not None and n < repetitions:
        verdict = OPEN
        text.append(f"{n} of {repetitions} repetitions are trained")
    if verdict is NOT and (here := those_here(content["claims"], claims)):
        verdict = OPEN
        text.append(f"at these basins p <= {max(one['p'] for one in here):.2g}, too few to speak of others")
    if about and all(row.get("failed", 0) == row.get("runs", n) for row in about):
        verdict = OPEN
        text.append("all trainings failed, which says nothing of those that do not")
    elif about and about[0].get("failed"):
        text.append(f"{about[0]['failed']} of {about[0].get('runs', n)} trainings failed and count as worst")
    unlike = [match.group().lstrip(", ") for one in claims if (match := UNLIKE.search(one["claim"]))]
    return Measured(verdict, "; ".join(text + unlike[:1]), claims[0]["test"], n)


def those_here(
    every: Sequence[Mapping[str, Any]], claims: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """The claims that fail for basins in general, as they hold at the basins tried; none unless all do.

    >>> wide, here = ({"claim": name, "holds": name != "a", "p": 0.01} for name in ("a", "a at these basins"))
    >>> those_here([wide, here], [wide]) == [here]
    True
    """
    by_name = {one["claim"]: one for one in every}
    here = [by_name.get(one["claim"] + HERE) for one in claims if not one["holds"]]
    held = [one for one in here if one is not None and one["holds"]]
    return held if len(held) == len(here) else []


def p_values(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """The p of one claim, the largest of those that hold, or the smallest of those that fail.

    >>> p_values([{"p": 0.01, "holds": True}, {"p": 0.2, "holds": False}])
    ['p = 0.2 where it fails']
    """
    known = [one for one in claims if one["p"] is not None]
    failed = [one["p"] for one in known if not one["holds"]]
    if not known:
        return []
    if len(claims) == 1:
        return [f"p = {known[0]['p']:.2g}"]
    return [
        f"p = {min(failed):.2g} where it fails" if failed else f"p <= {max(one['p'] for one in known):.2g}"
    ]


def number(
    file: str,
    cell: tuple[str, str, str],
    *,
    least: float | None = None,
    most: float | None = None,
    digits: int = 3,
) -> Evidence:
    """By one row (model, setting, metric): its value beside a bound."""
    return partial(_number, file, cell, least, most, digits)


def _number(
    file: str,
    cell: tuple[str, str, str],
    least: float | None,
    most: float | None,
    digits: int,
    results: Path,
    protocol: Protocol,
) -> Measured | None:
    row = row_of(results / file.format(protocol=protocol), *cell)
    if row is None:
        return None
    value = row["value"]
    inside = (least is None or value >= least) and (most is None or value <= most)
    bound = f"at least {least:g}" if least is not None else f"at most {most:g}"
    text = f"{value:.{digits}g}, asked: {bound}"
    if row["n"] == 1:
        return Measured(OPEN, f"{text}; one seed", NO_TEST, 1)
    return Measured(HOLDS if inside else NOT, text, NO_TEST, row["n"])


def order(file: str, setting: str, metric: str, better: str, *worse: str, no_gain: bool = False) -> Evidence:
    """By the seeds of several models in one setting, a file of the stated protocol: the first is the best.

    It holds where every seed of the first is above all seeds of the others, and fails where all seeds of one
    are above it. no_gain: the claim is only that none of the others is better.
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
    if no_gain or all(min(ours) > max(other) for other in others):
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


def standing_in(evidence: Evidence, reason: str) -> Evidence:
    """Evidence about another model than the claim's: where that fails, the claim is not settled."""

    def measured(results: Path, protocol: Protocol) -> Measured | None:
        one = evidence(results, protocol)
        if one is None or one.verdict != NOT:
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
