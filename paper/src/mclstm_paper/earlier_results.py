"""Results of jobs from the rows of result files: a job that another machine finished is not run again.

A row has a value for every seed; rows of `updates` and `sparsity` have one for every seed that solved the
task.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mclstm.jobs.job import Job, Result
from mclstm_paper.protocols import Protocol, other_protocol
from mclstm_paper.results import Row

__all__ = ["restored_errors", "restored_outcome"]

Values = list[Any]


def restored_errors(job: Job, rows: Sequence[Row], rate: float) -> Result | None:
    """Test errors by setting and which seeds failed, as in a job's result; None if the rows lack this job.

    rate: the learning rate of the job
    """
    mine = rows_of(job, rows, rate)
    values_by = {(r["setting"], r["metric"]): of_seeds(r, r["values"], job) for r in mine}
    errors, failed = ({r["setting"]: values_by.get((r["setting"], m)) for r in mine} for m in ("mse", "nan"))
    test = {setting: values for setting, values in errors.items() if values is not None}
    first = next(iter(failed.values()), None)
    if first is None or len(test) < len(errors):
        return None
    return {"test": test, "failed": [int(at) for at in first]}


def restored_outcome(job: Job, rows: Sequence[Row], rate: float) -> Result | None:
    """The outcome of every seed of an arithmetic task, as far as rows hold it."""
    mine, plain = {r["metric"]: r for r in rows_of(job, rows, rate)}, restored_errors(job, rows, rate)
    own: Protocol = job.parameters["protocol"]
    suffixes = {own: "", other_protocol(own): f" ({other_protocol(own)} threshold)"}
    by_protocol = {protocol: judgement(job, mine, suffix) for protocol, suffix in suffixes.items()}
    if plain is None or any(one is None for one in by_protocol.values()):
        return None
    outcome: Result = {**plain, "test": plain["test"][job.parameters["operation"]]}
    for key in ("solved", "solved_at"):
        outcome[key] = {protocol: one[key] for protocol, one in by_protocol.items() if one}
    sparse = [one["sparsity"] for one in by_protocol.values() if one and "sparsity" in one]
    if len(sparse) == len(suffixes):
        outcome["sparsity"] = [b if a is None else a for a, b in zip(*sparse, strict=True)]
    return outcome


def judgement(job: Job, mine: Mapping[str, Row], suffix: str) -> Result | None:
    """Which seeds solved a task by a threshold, and when; None if rows or values are missing.

    suffix: the end of the metrics' names
    """
    if f"success{suffix}" not in mine or f"updates{suffix}" not in mine:
        return None
    success = mine[f"success{suffix}"]
    solved = [bool(value) for value in success["values"]]
    values: dict[str, Values | None] = {"solved": of_seeds(success, solved, job)}
    for key, metric, otherwise in (("solved_at", "updates", -1), ("sparsity", "sparsity", None)):
        if f"{metric}{suffix}" in mine:
            among = spread(mine[f"{metric}{suffix}"]["values"], solved, otherwise)
            values[key] = among and of_seeds(success, among, job)
    if any(column is None for column in values.values()):
        return None
    return {**values, "solved_at": [int(at) for at in values["solved_at"] or ()]}


def rows_of(job: Job, rows: Sequence[Row], rate: float) -> list[Row]:
    """The rows that have the seeds of a job, with the same updates and learning rate."""
    wanted = job.parameters
    return [
        r
        for r in rows
        if r["model"] == wanted["model"]
        and r["setting"] == wanted.get("operation", r["setting"])
        and (r.get("trained"), r.get("learning_rate")) == (job.goal, rate)
        and set(wanted["seeds"]) <= set(r.get("seeds", ()))
    ]


def of_seeds(row: Row, values: Values, job: Job) -> Values | None:
    """The values of a job's seeds, from one for every seed of a row; None if there are more or fewer."""
    if len(values) != len(row["seeds"]):
        return None
    by_seed = dict(zip(row["seeds"], values, strict=True))
    return [by_seed[seed] for seed in job.parameters["seeds"]]


def spread(values: Values, solved: Sequence[bool], otherwise: object) -> Values | None:
    """One value for every seed, from those of the seeds that solved the task; None if their numbers differ.

    >>> spread([7, 9], [True, False, True], otherwise=-1), spread([7], [True, True], otherwise=-1)
    ([7, -1, 9], None)
    """
    left: Iterator[Any] = iter(values)
    return [next(left) if one else otherwise for one in solved] if len(values) == sum(solved) else None
