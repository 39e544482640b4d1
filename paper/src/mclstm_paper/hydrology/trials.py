"""Settings tried on the validation years: what each changes in the experiment's model, and its scores.

    python -m mclstm_paper.hydrology.trials RUN... --results results/hydrology/trials.json

A trial is never scored in the test years, so that choosing cannot touch them. Members of the recorded
ensembles may be given as well; they are marked. Rows that the file holds already stay.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from mclstm.config import Config, check_config, load_config
from mclstm.errors import ConfigError
from mclstm.report.markdown import markdown
from mclstm.training import journal
from mclstm.training.folder import RunFolder
from mclstm.training.state import read_progress
from mclstm_paper.hydrology.models import PERIODS, config_of
from mclstm_paper.options import Options
from mclstm_paper.results import Row, read_results, row, save_results

__all__ = ["changes", "main", "trial_rows", "trials_table"]

SECTIONS = ("data", "model", "training")
# Keys that do not make a run another trial.
IGNORED = {"path", "attributes", "sites", "seed", "threads", "checkpoint_every", "validate_every", "backend"}


def trial_rows(runs: Sequence[Path]) -> list[Row]:
    """One row per run: the best validation score, its update, and the whole curve."""
    rows = []
    for path in runs:
        run = RunFolder.existing(path)
        config, scores = load_config(run.config), list(validations(run.journal))
        if not scores:
            raise ConfigError(f"{path} has not been validated. Give its config periods.validation.")
        progress = read_progress(run.checkpoints / "last.safetensors")
        chosen = read_progress(run.weights())  # with a peak phase the best within it
        about = {
            "from": usual_model(config),
            "changes": changes(config),
            "seed": config.training.seed,
            "member": run.is_scored("test") and in_test_years(config),
            "updates": progress.update,
            "finished": progress.finished,
            "best_update": chosen.update,
            "curve": scores,
        }
        sites = run.read_json(run.manifest)["sites"]
        assert chosen.best is not None, "a run that was validated has a best score"
        best = [round(chosen.best, 4)]
        rows.append(row(f"{sites} basins, validation", config.name, "validation-nse", best) | about)
    return rows


def validations(file: Path) -> Iterator[tuple[int, float]]:
    """Update and score of every validation in a journal."""
    for line in journal.read(file):
        if line.get("validation_nse") is not None:
            yield int(line["update"]), round(float(line["validation_nse"]), 4)


def usual_model(config: Config) -> str:
    """The model of the experiment that a trial changes."""
    return "hybrid" if config.model.name == "hybrid" else "mclstm"


def in_test_years(config: Config) -> bool:
    """Whether the test period is the experiment's."""
    test: object = config.model_dump(mode="json")["periods"]["test"]
    return test == PERIODS["test"]


def changes(config: Config) -> dict[str, Any]:
    """Where a config differs from that of the experiment, by section and key."""
    options = Options(profile="paper", data=Path(config.data.path))
    here, there = flat(config), flat(check_config(config_of(usual_model(config), options, member=0)))
    return {key: value for key, value in here.items() if there.get(key) != value}


def flat(config: Config) -> Mapping[str, Any]:
    dumped = config.model_dump(mode="json")
    return {
        f"{section}.{key}": value
        for section in SECTIONS
        for key, value in dumped[section].items()
        if key not in IGNORED
    }


def trials_table(rows: Sequence[Row]) -> str:
    """One line per run, the best first: what it changed, its best validation score and its last.

    >>> about = {"changes": {"training.average": 0.9}, "seed": 1, "best_update": 5, "value": 0.7}
    >>> more = {"curve": [[5, 0.7], [6, 0.6]], "finished": False, "updates": 7, "member": True}
    >>> trials_table([about | more]).splitlines()[2]
    '| average: 0.9 | member 1 | 0.7000               |         5 | 0.6000 (6) | 7, stopped |'
    """
    lines = [
        {
            "changed": "hybrid, " * (item.get("from") == "hybrid") + in_words(item["changes"]),
            "seed": f"{'member ' * item['member']}{item['seed']}",
            "best NSE, validation": f"{item['value']:.4f}",
            "at update": item["best_update"],
            "last (at)": f"{item['curve'][-1][1]:.4f} ({item['curve'][-1][0]})",
            "updates": f"{item['updates']}{'' if item['finished'] else ', stopped'}",
        }
        for item in sorted(rows, key=lambda item: -item["value"])
    ]
    return markdown(pd.DataFrame(lines))


def in_words(changes: Mapping[str, Any]) -> str:
    """Keys and values as in a config, without their sections.

    >>> in_words({"model.hidden_size": 32, "training.schedule": {}, "model.gates_see": ["aux", "mass"]})
    'hidden_size: 32, schedule: {}, gates_see: [aux, mass]'
    """
    shown = {
        key.split(".", 1)[1]: f"[{', '.join(map(str, value))}]" if isinstance(value, list) else value
        for key, value in changes.items()
    }
    return ", ".join(f"{key}: {value}" for key, value in shown.items()).replace("'", "") or "nothing"


def main(words: Sequence[str] | None = None) -> None:
    """Add the rows of some runs to a result file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--results", required=True, type=Path)
    options = parser.parse_args(words)
    before = (read_results(options.results) or {"rows": []})["rows"]
    trials: list[Row] = json.loads(json.dumps(trial_rows(options.runs)))  # as a file gives them back
    rows = [*before, *(trial for trial in trials if trial not in before)]
    save_results(options.results, "hydrology-trials", "paper", rows, 0.0)


if __name__ == "__main__":
    main()
