"""What result files hold of jobs whose folders are not here: finished on another machine, they stay finished.

A row has a value for every seed, or, of what is counted only for seeds that solved a task, for these.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mclstm.jobs.execution import Job, Result
from mclstm.report.results import Row
from mclstm_paper.arithmetic.success import other
from mclstm_paper.protocols import Protocol

__all__ = ["restored_errors", "restored_outcome"]

Values = list[Any]


def restored_errors(job: Job, rows: Sequence[Row], rate: float) -> Result | None:
    """Test errors by setting and who failed, as a job gives them; None if the rows are not of this job.

    rate: the learning rate of the job
    """
    mine = made_by(job, rows, rate)
    found = {(r["setting"], r["metric"]): chosen(r, r["values"], job) for r in mine}
    errors, failed = ({r["setting"]: found.get((r["setting"], m)) for r in mine} for m in ("mse", "nan"))
    test = {setting: values for setting, values in errors.items() if values is not None}
    first = next(iter(failed.values()), None)
    if first is None or len(test) < len(errors):
        return None
    return {"test": test, "failed": [int(at) for at in first]}


def restored_outcome(job: Job, rows: Sequence[Row], rate: float) -> Result | None:
    """What came of every seed of an arithmetic task: of `outcome.outcome` what rows hold."""
    mine, plain = {r["metric"]: r for r in made_by(job, rows, rate)}, restored_errors(job, rows, rate)
    own: Protocol = job.parameters["protocol"]
    names = {own: "", other(own): f" ({other(own)} threshold)"}
    judged = {protocol: judgement(job, mine, beside) for protocol, beside in names.items()}
    if plain is None or any(one is None for one in judged.values()):
        return None
    found: Result = {**plain, "test": plain["test"][job.parameters["operation"]]}
    for key in ("solved", "solved_at"):
        found[key] = {protocol: one[key] for protocol, one in judged.items() if one}
    sparse = [one["sparsity"] for one in judged.values() if one and "sparsity" in one]
    if len(sparse) == len(names):
        found["sparsity"] = [b if a is None else a for a, b in zip(*sparse, strict=True)]
    return found


def judgement(job: Job, mine: Mapping[str, Row], beside: str) -> Result | None:
    """Who solved a task by a threshold, and when; None if rows are missing or have not a value for each.

    beside: what the names of the metrics end with
    """
    if f"success{beside}" not in mine or f"updates{beside}" not in mine:
        return None
    judged = mine[f"success{beside}"]
    solved = [bool(value) for value in judged["values"]]
    found: Result = {"solved": chosen(judged, solved, job)}
    for key, metric, otherwise in (("solved_at", "updates", -1), ("sparsity", "sparsity", None)):
        if f"{metric}{beside}" in mine:
            among = spread(mine[f"{metric}{beside}"]["values"], solved, otherwise)
            found[key] = among and chosen(judged, among, job)
    if any(values is None for values in found.values()):
        return None
    return {**found, "solved_at": [int(value) for value in found["solved_at"]]}


def made_by(job: Job, rows: Sequence[Row], rate: float) -> list[Row]:
    """The rows that have the seeds of a job, trained as far and as fast."""
    asked = job.parameters
    return [
        r
        for r in rows
        if r["model"] == asked["model"]
        and r["setting"] == asked.get("operation", r["setting"])
        and (r.get("trained"), r.get("learning_rate")) == (job.goal, rate)
        and set(asked["seeds"]) <= set(r.get("seeds", ()))
    ]


def chosen(row: Row, values: Values, job: Job) -> Values | None:
    """Those of a job's seeds among values that are one for every seed of a row; None if they are not."""
    if len(values) != len(row["seeds"]):
        return None
    by_seed = dict(zip(row["seeds"], values, strict=True))
    return [by_seed[seed] for seed in job.parameters["seeds"]]


def spread(values: Values, solved: Sequence[bool], otherwise: object) -> Values | None:
    """Values of the seeds that solved a task among all of them; None if there are more or fewer.

    >>> spread([7, 9], [True, False, True], otherwise=-1), spread([7], [True, True], otherwise=-1)
    ([7, -1, 9], None)
    """
    left: Iterator[Any] = iter(values)
    return [next(left) if one else otherwise for one in solved] if len(values) == sum(solved) else None
