"""Kill runs at random instants of training, saving and evaluating, resume them, and compare every byte.

`make record-kills` runs it and writes results/durability/kills.json.
"""

import argparse
import hashlib
import json
import random
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from mclstm.data.fulda import AREA_KM2, UNITS, fulda
from mclstm.errors import CheckpointError
from mclstm.training.folder import environment
from mclstm_paper.durability.run_process import (
    finished_trainings,
    kill_during,
    last_save,
    phase,
    run_below,
    saved_update,
    start_run,
    start_server,
    unfinished_files,
    wait_for,
)

__all__ = ["CASES", "Kill", "experiment", "small_config"]

CASES: dict[str, dict[str, Any]] = {
    "mclstm sequence": {"model": {"name": "mclstm", "hidden_size": 3}, "scheme": "sequence"},
    "lstm sequence": {"model": {"name": "lstm", "hidden_size": 3}, "scheme": "sequence"},
    "mclstm last": {"model": {"name": "mclstm", "hidden_size": 3}, "scheme": "last"},
}
# The phases at which the kills of a round aim, in turn. anywhere: from the first instant on.
AIMS = ("training", "saving", "anywhere", "saving", "evaluating", "evaluating")
# The files that must have the same bytes at the end, however often the run was killed.
RESULTS = (
    "checkpoints/last.safetensors",
    "checkpoints/best.safetensors",
    "metrics.jsonl",
    "evaluation/test/predictions.nc",
    "evaluation/test/metrics.csv",
    "evaluation/test/mass_balance.csv",
)


class Kill(NamedTuple):
    """One kill: the phase aimed at, the phase hit, the files left, and how the run ended after all."""

    case: str
    round: int
    aim: str
    delay: float  # seconds from the beginning of the phase aimed at
    phase: str
    update: int | None  # of the last checkpoint; None if it could not be used
    drafts: list[str]  # names of the unfinished files it left
    outcome: str  # identical, or what was lost


class Pace(NamedTuple):
    """The seconds of an undisturbed run to its first save, to the end of its training, to its end."""

    started: float
    trained: float
    ended: float

    def span(self, aim: str, left: float) -> float:
        """The longest delay of a kill, half of the time of its aim; left: the share of training to do."""
        training, evaluating = left * (self.trained - self.started), self.ended - self.trained
        spans = {"anywhere": self.started + training + evaluating, "evaluating": evaluating}
        return spans.get(aim, training) / 2


def small_config(case: str, **training: Any) -> dict[str, Any]:
    """A year of the river Fulda in short windows: the smallest run that has every part."""
    settings = {
        "scheme": CASES[case]["scheme"], "length": 10, "warmup": 4, "stride": 6, "batch_size": 6,
        "updates": 40, "learning_rate": 0.02, "loss": "nse", "checkpoint_every": 2, "threads": 1,
    }  # fmt: skip
    data = {
        "path": str(fulda()), "mass": ["precipitation"], "aux": ["tmean"], "target": ["discharge"],
        "units": {name: UNITS[name] for name in ("tmean", "precipitation", "discharge")},
        "area": AREA_KM2, "target_unit": "mm/day",
    }  # fmt: skip
    periods = {
        "train": ["1979-01-01", "1979-06-30"],
        "validation": ["1979-07-01", "1979-07-31"],
        "test": ["1979-08-01", "1979-12-31"],
    }
    model = CASES[case]["model"]
    return {
        "name": "killed",
        "data": data,
        "periods": periods,
        "model": model,
        "training": settings | training,
    }


def digests(root: Path) -> dict[str, str]:
    """The digest of every result of a run, by file."""
    run = run_below(root)
    assert run is not None, f"no run below {root}"
    return {name: hashlib.sha256((run / name).read_bytes()).hexdigest() for name in RESULTS}


def undisturbed(raw: dict[str, Any], root: Path) -> tuple[dict[str, str], Pace]:
    """The digests of a run that is not killed, and how long its parts take."""
    start = time.monotonic()
    process, marks = start_run(raw, root), []
    for sign in (last_save, finished_trainings):
        wait_for(process, lambda sign=sign: sign(root) > 0)  # type: ignore[misc]
        marks.append(time.monotonic() - start)
    process.join()
    return digests(root), Pace(marks[0], marks[1], time.monotonic() - start)


def one_round(
    case: str, number: int, raw: dict[str, Any], root: Path, pace: Pace, budget: int, chance: random.Random
) -> list[Kill]:
    """Kill a run at most `budget` times, until it gets to its end."""
    kills: list[Kill] = []
    update: int | None = 0
    for aim in AIMS[:budget]:
        delay = chance.uniform(0, pace.span(aim, 1 - (update or 0) / raw["training"]["updates"]))
        old = unfinished_files(root)
        if not kill_during(start_run(raw, root), root, aim, delay):
            break
        left = unfinished_files(root) - old
        run = run_below(root)
        try:
            update, outcome = 0 if run is None else saved_update(run), ""
        except CheckpointError as error:
            update, outcome = None, f"unusable: {error}"
        where = phase(root, left)
        kills.append(Kill(case, number, aim, round(delay, 4), where, update, sorted(left), outcome))
        if outcome:
            return kills
    process = start_run(raw, root)
    process.join()
    end = "" if process.exitcode == 0 else f"the run could not go on: exit code {process.exitcode}"
    return [kill._replace(outcome=end) for kill in kills]


def experiment(kills: int, cases: list[str], seed: int, root: Path, updates: int = 40) -> list[Kill]:
    """Share the kills among the cases and compare every round with the undisturbed run."""
    chance, every = random.Random(seed), []
    start_server()
    for at, case in enumerate(cases):
        raw = small_config(case, updates=updates)
        expected, pace = undisturbed(raw, root / f"{at}-whole")
        wanted, number, done = (kills + at) // len(cases), 0, 0
        while done < wanted:
            place = root / f"{at}-{number}"
            killed = one_round(case, number, raw, place, pace, wanted - done, chance)
            every += judged(killed, place, expected)
            done, number = done + len(killed), number + 1
            print(f"{case}: {done}/{wanted} kills", flush=True)
    return every


def judged(kills: list[Kill], root: Path, expected: dict[str, str]) -> list[Kill]:
    """The kills of a round with its outcome; one loss counts for all of them."""
    if any(kill.outcome for kill in kills):
        return [kill._replace(outcome=kill.outcome or "lost by a later kill") for kill in kills]
    results = digests(root)
    different = [name for name in RESULTS if results[name] != expected[name]]
    outcome = f"different: {', '.join(different)}" if different else "identical"
    return [kill._replace(outcome=outcome) for kill in kills]


def record(kills: list[Kill], seed: int, seconds: float) -> dict[str, Any]:
    """The content of the record: the totals, the machine, and every kill."""
    return {
        "kills": len(kills),
        "losses": sum(kill.outcome != "identical" for kill in kills),
        "cases": Counter(kill.case for kill in kills),
        "phases": Counter(kill.phase for kill in kills),
        "in the middle of a file": sum(bool(kill.drafts) for kill in kills),
        "rounds": len({(kill.case, kill.round) for kill in kills}),
        "seed": seed,
        "seconds": round(seconds, 1),
        "environment": environment(),
        "each": [kill._asdict() for kill in kills],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        kills = experiment(options.kills, options.cases, options.seed, Path(folder))
    result = record(kills, options.seed, time.monotonic() - start)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    print(f"{result['kills']} kills, {result['losses']} losses; {dict(result['phases'])}")


if __name__ == "__main__":
    main()
