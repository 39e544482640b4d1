"""Rows by length: test errors, thresholds from reference networks, success rates, and the paper's claim."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from mclstm.jobs.job import Result
from mclstm_paper.mnist_sum.switches import DEGREE_OF_FREEDOM_TOO_FEW
from mclstm_paper.protocols import Protocol
from mclstm_paper.results import SIGNIFICANT, Claim, Row, claim, interval_row
from mclstm_paper.seed_rows import failure_rows, find, numbers, quartiles
from mclstm_paper.statistics import Interval, binomial_test, wilson_interval

__all__ = [
    "FEWEST",
    "Errors",
    "by_length",
    "error_rows",
    "length_of",
    "more_lengths",
    "passing_chance",
    "reference_threshold",
    "threshold_rows",
    "thresholds",
    "with_success",
]

CONFIDENCE = 0.99
FEWEST = 3  # networks for a threshold, with n - 1 or n - 2 degrees of freedom
Errors = dict[int, NDArray[np.float64]]  # test errors of the seeds, by length


def by_length(results: Sequence[Result]) -> Errors:
    """The test errors of all seeds of a model, jobs put together; NaN where the training failed."""
    failed = np.array([at for result in results for at in result["failed"]]) >= 0
    joined = {
        length: numbers([error for result in results for error in result["test"][length]])
        for length in results[0]["test"]
    }
    return {int(length): np.where(failed, math.nan, errors) for length, errors in joined.items()}


def reference_threshold(errors: ArrayLike, lost: int = 1) -> float:
    """The upper bound of the mean error of the n reference networks whose error is finite, of (N,).

        mean + t_{0.99} sd / √n,    Student's t with n - lost degrees of freedom

    NaN if these are fewer than three.

    >>> round(reference_threshold([1.0, 2.0, 3.0]), 2)
    6.02
    """
    values = np.asarray(errors, dtype=np.float64)
    values = values[np.isfinite(values)]
    if values.size < FEWEST:
        return math.nan
    t = float(stats.t.ppf(CONFIDENCE, values.size - lost))
    return float(values.mean() + t * values.std(ddof=1) / math.sqrt(values.size))


def passing_chance(references: int, lost: int = 1) -> float:
    """How often one more network like the references is below their threshold, if errors are normal.

        P(T < t_{0.99} / √(n + 1)),    T with n - 1 degrees of freedom

    The threshold bounds the mean of the references, not the next one: a model without fault succeeds no more
    often than that.

    >>> round(passing_chance(10), 2)
    0.79
    """
    t = float(stats.t.ppf(CONFIDENCE, references - lost))
    return float(stats.t.cdf(t / math.sqrt(references + 1), references - 1))


def thresholds(references: Errors, protocol: Protocol) -> dict[int, float]:
    """The error below which a sum counts as learned, by its length; from references with a finite error."""
    lost = 2 if DEGREE_OF_FREEDOM_TOO_FEW.on(protocol) else 1
    return {length: reference_threshold(errors, lost) for length, errors in references.items()}


def error_rows(
    model: str, errors: Errors, trained: int, failed: Sequence[int] = (), **more: Any
) -> list[Row]:
    """Median and quartiles of the test error at every length, over the seeds where it is finite.

    failed: the update at which each seed failed, -1 if none; empty for a prediction without learning
    """
    rows = []
    for length, values in errors.items():
        fields = {"trained": trained, "runs": len(values), **more}
        rows.append(interval_row(setting(length), model, "mse", quartiles(values), values.tolist(), **fields))
        rows += failure_rows(setting(length), model, values, failed, **fields) if failed else []
    return rows


def with_success(rows: Sequence[Row]) -> list[Row]:
    """The rows, with new rows of success for all models that were trained as long as the references.

    That includes models of earlier commands, so that one table has one threshold. Models that were trained
    for longer or less keep their rows of success.
    """
    limits = {r["setting"]: r for r in rows if r["metric"] == "threshold" and r["n"] >= FEWEST}
    errors = [
        r for r in rows if r["metric"] == "mse" and r["model"] != "reference" and r["setting"] in limits
    ]
    now = [r for r in errors if r["trained"] in (0, limits[r["setting"]]["trained"])]
    again = {(r["model"], r["setting"]) for r in now}
    others = [r for r in rows if r["metric"] != "success" or (r["model"], r["setting"]) not in again]
    return others + [success_row(r, limits[r["setting"]]["value"]) for r in now]


def success_row(errors: Row, limit: float) -> Row:
    """The rate of seeds below the threshold, with Wilson's interval for models that were trained.

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
    """The thresholds, as rows of the reference; n counts the references with a finite error."""
    rows = []
    for length, limit in limits.items():
        bare = Interval(limit, math.nan, math.nan, int(np.isfinite(references[length]).sum()))
        rows.append(interval_row(setting(length), "reference", "threshold", bare, [], trained=trained))
    return rows


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
