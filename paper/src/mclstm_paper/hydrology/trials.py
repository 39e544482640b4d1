"""Settings tried on the validation years: how each differs from the experiment's MC-LSTM, and its scores.

    python -m mclstm_paper.hydrology.trials RUN... --results results/hydrology/trials.json

A config of a trial names another test period than the experiment, so that choosing cannot touch the test
years. Members of the record may stand beside them for comparison, and are marked.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mclstm.config import Config, check_config, load_config
from mclstm.errors import ConfigError
from mclstm.report.results import Row, row, save_results
from mclstm.training import journal
from mclstm.training.folder import RunFolder
from mclstm.training.state import read_progress
from mclstm_paper.experiment import Options
from mclstm_paper.hydrology.models import PERIODS, config_of

__all__ = ["changes", "main", "trial_rows"]

SECTIONS = ("data", "model", "training")
# What makes a run another run of the same trial, or only says how often it was looked at.
ASIDE = {"path", "attributes", "sites", "seed", "threads", "checkpoint_every", "validate_every", "backend"}


def trial_rows(runs: Sequence[Path]) -> list[Row]:
    """One row a run: the best validation score, when it came, and how the score went on."""
    made = []
    for path in runs:
        run = RunFolder.existing(path)
        config, scores = load_config(run.config), list(validations(run.journal))
        if not scores:
            raise ConfigError(f"{path} has not been validated. Give its config periods.validation.")
        last = run.checkpoints / "last.safetensors"
        progress = read_progress(last)
        best = max(scores, key=lambda item: item[1])
        about = {
            "changes": changes(config),
            "seed": config.training.seed,
            "member": config.model_dump(mode="json")["periods"]["test"] == PERIODS["test"],
            "updates": progress.update,
            "finished": progress.finished,
            "best_update": best[0],
            "curve": scores,
        }
        sites = run.read_json(run.manifest)["sites"]
        made.append(row(f"{sites} basins, validation", config.name, "validation-nse", [best[1]]) | about)
    return made


def validations(file: Path) -> Iterator[tuple[int, float]]:
    """Update and score of every validation in a journal."""
    for line in journal.read(file):
        if line.get("validation_nse") is not None:
            yield int(line["update"]), round(float(line["validation_nse"]), 4)


def changes(config: Config) -> dict[str, Any]:
    """What a config has otherwise than the experiment's MC-LSTM, by section and key."""
    usual = check_config(config_of("mclstm", Options(profile="paper", data=Path(config.data.path)), member=0))
    here, there = flat(config), flat(usual)
    return {key: value for key, value in here.items() if there.get(key) != value}


def flat(config: Config) -> Mapping[str, Any]:
    dumped = config.model_dump(mode="json")
    return {
        f"{section}.{key}": value
        for section in SECTIONS
        for key, value in dumped[section].items()
        if key not in ASIDE
    }


def main(words: Sequence[str] | None = None) -> None:
    """Write the rows of some runs into a result file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--results", required=True, type=Path)
    asked = parser.parse_args(words)
    save_results(asked.results, "hydrology-trials", "paper", trial_rows(asked.runs), 0.0)


if __name__ == "__main__":
    main()
