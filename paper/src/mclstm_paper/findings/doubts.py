"""What claims of result files say of how sure they are: p, repetitions, and why a verdict settles nothing."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mclstm_paper.hydrology.page import PAIR
from mclstm_paper.results import SIGNIFICANT, Row

__all__ = [
    "failed_trainings",
    "missing_work",
    "p_values",
    "repeated",
    "those_here",
    "too_few",
    "unlike",
    "weak_rivals",
]

Claims = Sequence[Mapping[str, Any]]
# Where a claim of a result file says that its two sides were not made alike.
UNLIKE = re.compile(r", (which was trained|though|on a test set that).*")
RIVALS_UPDATES = re.compile(r"which was trained for ([\d,]+) updates instead of ([\d,]+)")
COUNT = re.compile(r"(\d[\d,]*) (?:pairs|runs|seeds|sets)")  # in the name of a test
# The end of a claim about the same trainings that says nothing of other basins.
HERE = " at these basins"


def repeated(test: str, rows: Sequence[Row]) -> int | None:
    """How many repetitions a test has: as its name says, else those of the rows.

    >>> repeated("Wilcoxon test, 20 pairs", []), repeated("mean", [])
    (20, None)
    """
    if match := COUNT.search(test):
        return int(match[1].replace(",", ""))
    return max((row["n"] for row in rows), default=None)


def p_values(claims: Claims) -> list[str]:
    """The p of one claim, the largest of those that hold, or the range of those that fail.

    >>> p_values([{"p": 0.01, "holds": True}, {"p": 0.2, "holds": False}, {"p": 0.9, "holds": False}])
    ['p = 0.2 to 0.9 where it fails']
    """
    known = [one for one in claims if one["p"] is not None]
    failed = [one["p"] for one in known if not one["holds"]]
    if not known:
        return []
    if len(claims) == 1:
        return [f"p = {known[0]['p']:.2g}"]
    if not failed:
        return [f"p <= {max(one['p'] for one in known):.2g}"]
    ends = dict.fromkeys(f"{p:.2g}" for p in (min(failed), max(failed)))
    return [f"p = {' to '.join(ends)} where it fails"]


def missing_work(rows: Sequence[Row], n: int | None, updates: int | None, repetitions: int) -> Iterator[str]:
    """Why a claim that fails may hold yet: fewer updates than the paper's, fewer repetitions than planned."""
    trained = max((row.get("trained", 0) for row in rows), default=0)
    if updates is not None and 0 < trained < updates:
        yield f"trained for {trained:,} of the paper's {updates:,} updates"
    if n is not None and n < repetitions:
        yield f"{n} of {repetitions} repetitions are trained"


def too_few(every: Claims, claims: Claims) -> Iterator[str]:
    """Why claims that fail are not refuted: they hold where they were tried, or no test says the opposite."""
    if here := those_here(every, claims):
        most = max(one["p"] for one in here)
        yield f"at these basins p <= {most:.2g}, too few to speak of others"
        return
    if not any(refuted(every, one) for one in claims if not one["holds"]):
        yield "the opposite is not significant either"


def refuted(every: Claims, one: Mapping[str, Any]) -> bool:
    """Whether a test says the opposite of a claim that fails; without a p the claim's own rule says it.

    Two claims about a pair of models stand side by side. A small p is of a test that asks for the opposite.
    Of one-sided tests 1 - p is the p of the opposite, or a little less: with five pairs never below 1/32.

    >>> [refuted([], {"claim": "a", "test": "Wilcoxon test", "p": p}) for p in (0.01, 0.3, 0.99)]
    [True, False, True]
    """
    if pair := PAIR.fullmatch(one["claim"]):
        opposite = f"{pair[2]} is better than {pair[1]} in {pair[3]}"
        return any(other["claim"] == opposite and other["holds"] for other in every)
    if one["p"] is None or one["p"] < SIGNIFICANT:
        return True
    if one["test"].startswith(("binomial", "the largest p")):
        return False
    return bool(one["p"] >= (1.0 if "5 basins" in one["test"] else 1 - SIGNIFICANT))


def weak_rivals(claims: Claims) -> Iterator[str]:
    """Why claims that hold may not: the rival had fewer updates; the claim's own words follow."""
    for one in claims:
        match = RIVALS_UPDATES.search(one["claim"])
        if match and int(match[1].replace(",", "")) < int(match[2].replace(",", "")):
            yield "the rival had less training"
            return


def failed_trainings(rows: Sequence[Row]) -> tuple[list[str], bool]:
    """How many trainings failed, as a sentence, and whether they were too many to settle anything.

    >>> failed_trainings([{"failed": 4, "runs": 9}, {"failed": 4, "runs": 9}])
    (['4 of 9 trainings failed and count as worst'], False)
    """
    worst = max(rows, key=lambda row: row.get("failed", 0), default=None)
    if worst is None or not worst.get("failed"):
        return [], False
    failed, runs = worst["failed"], worst.get("runs") or worst["n"]
    return [f"{failed} of {runs} trainings failed and count as worst"], 2 * failed > runs


def those_here(every: Claims, claims: Claims) -> list[Mapping[str, Any]]:
    """The claims that fail for basins in general, as they hold at the basins tried; none unless all do.

    >>> wide, here = ({"claim": name, "holds": name != "a", "p": 0.01} for name in ("a", "a at these basins"))
    >>> those_here([wide, here], [wide]) == [here]
    True
    """
    by_name = {one["claim"]: one for one in every}
    here = [by_name.get(one["claim"] + HERE) for one in claims if not one["holds"]]
    held = [one for one in here if one is not None and one["holds"]]
    return held if len(held) == len(here) else []


def unlike(claims: Claims) -> list[str]:
    """In what the two sides of a claim differ, in the words of the first that says so."""
    words = (match.group().lstrip(", ") for one in claims if (match := UNLIKE.search(one["claim"])))
    return list(words)[:1]
