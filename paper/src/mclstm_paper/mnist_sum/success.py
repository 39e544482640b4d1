"""When a sum of digits counts as learned: thresholds from reference networks, rates, the paper's claim."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mclstm.evaluation.statistics import Interval, binomial_test, wilson_interval
from mclstm.jobs.execution import Result
from mclstm.report.results import SIGNIFICANT, Claim, Row, claim, interval_row
from mclstm_paper.arithmetic.success import failure_rows, find, numbers, quartiles
from mclstm_paper.mnist_sum.references import FEWEST, reference_threshold
from mclstm_paper.protocols import Protocol, switched

__all__ = [
    "Errors",
    "by_length",
    "error_rows",
    "judged",
    "length_of",
    "more_lengths",
    "threshold_rows",
    "thresholds",
]

Errors = dict[int, NDArray[np.float64]]  # test errors of the seeds, by length


def by_length(results: Sequence[Result]) -> Errors:
    """The test errors of all seeds of a model, jobs put together; NaN where the training failed."""
    failed = np.array([at for result in results for at in result["failed"]]) >= 0
    found = {
        length: numbers([error for result in results for error in result["test"][length]])
        for length in results[0]["test"]
    }
    return {int(length): np.where(failed, math.nan, errors) for length, errors in found.items()}


def thresholds(references: Errors, protocol: Protocol) -> dict[int, float]:
    """The error below which a sum of so many digits counts as learned, by the references that learned."""
    lost = 2 if switched("mnist sum: a degree of freedom too few", protocol) else 1
    return {length: reference_threshold(errors, lost) for length, errors in references.items()}


def error_rows(
    model: str, errors: Errors, trained: int, failed: Sequence[int] = (), **more: Any
) -> list[Row]:
    """Median and quartiles of the test error at every length, over the seeds where it is finite.

    failed: the update at which each seed failed, -1 if none; nothing is said of those that learned nothing.
    """
    made = []
    for length, found in errors.items():
        fields = {"trained": trained, "runs": len(found), **more}
        made.append(interval_row(setting(length), model, "mse", quartiles(found), found.tolist(), **fields))
        made += failure_rows(setting(length), model, found, failed, **fields) if failed else []
    return made


def judged(rows: Sequence[Row]) -> list[Row]:
    """The rows with success by the thresholds among them, of all that were trained as long as the references.

    Also of rows that an earlier command left in the file: one table, one measure. What was trained for
    longer or less keeps the judgement of its own references.
    """
    limits = {r["setting"]: r for r in rows if r["metric"] == "threshold" and r["n"] >= FEWEST}
    errors = [
        r for r in rows if r["metric"] == "mse" and r["model"] != "reference" and r["setting"] in limits
    ]
    now = [r for r in errors if r["trained"] in (0, limits[r["setting"]]["trained"])]
    again = {(r["model"], r["setting"]) for r in now}
    kept = [r for r in rows if r["metric"] != "success" or (r["model"], r["setting"]) not in again]
    return kept + [success_row(r, limits[r["setting"]]["value"]) for r in now]


def success_row(errors: Row, limit: float) -> Row:
    """The rate of seeds below the threshold, with Wilson's interval if anybody was trained.

    errors: the row of the test errors at a length
    """
    solved = numbers(errors["values"]) < limit
    rate = wilson_interval(int(solved.sum()), len(solved))
    if not errors["trained"]:
        rate = rate._replace(low=rate.value, high=rate.value)
    more = {key: errors[key] for key in ("trained", "seeds", "learning_rate") if key in errors}
    return interval_row(
        errors["setting"], errors["model"], "success", rate, solved.tolist(), threshold=limit, **more
    )


def threshold_rows(limits: Mapping[int, float], references: Errors, trained: int) -> list[Row]:
    """The thresholds themselves, as rows of the reference; n is of the references that learned."""
    made = []
    for length, limit in limits.items():
        bare = Interval(limit, math.nan, math.nan, int(np.isfinite(references[length]).sum()))
        made.append(interval_row(setting(length), "reference", "threshold", bare, [], trained=trained))
    return made


def more_lengths(rows: Sequence[Row], model: str, rival: str) -> list[Claim]:
    """Whether a model has the higher success rate at more lengths than a rival; equal ones do not count.

    Nor do lengths at which always answering the mean is a success. The paper's p of 0.002 is that of 10 wins
    in 10, two-sided.
    """
    settings = dict.fromkeys(r["setting"] for r in rows if r["metric"] == "success")
    pairs = {w: [find(rows, name, w, "success") for name in (model, rival)] for w in settings}
    gaps = {w: ours["value"] - theirs["value"] for w, (ours, theirs) in pairs.items() if ours and theirs}
    if not gaps:
        return []
    telling = [gap for where, gap in gaps.items() if not trivially_solved(rows, where)]
    wins, losses = (sum(sign * gap > 0 for gap in telling) for sign in (1, -1))
    p = binomial_test(wins, wins + losses).p if wins + losses else 1.0
    text = f"{model} succeeds more often than {rival} at more lengths ({wins} of {wins + losses} that differ)"
    test = "binomial test, as if lengths were independent; they share their networks"
    return [claim(text, test, p, bool(wins > losses and p < SIGNIFICANT))]


def trivially_solved(rows: Sequence[Row], where: str) -> bool:
    """Whether the constant is below the threshold of a length, where success says nothing."""
    constant = find(rows, "constant", where, "success")
    return constant is not None and constant["value"] > 0


def setting(length: int) -> str:
    return f"length {length}"


def length_of(setting: str) -> str:
    """The length in the name of a setting, as results have it.

    >>> length_of("length 100")
    '100'
    """
    return setting.removeprefix("length ")
