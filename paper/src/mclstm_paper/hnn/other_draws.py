"""The two misses of the comparison again, with other noise and other starts: what of them is chance.

python -m mclstm_paper.hnn.other_draws --out results/hnn/draws.json
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mclstm.jobs.monitor import JobMonitor
from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm.training.cost import commit
from mclstm_paper.hnn.hamiltonian_training import UPDATES, learn_field, predicted_energies
from mclstm_paper.hnn.mass_training import learn_series, series_recipe
from mclstm_paper.hnn.task import SETTINGS, observed, samples
from mclstm_paper.pendulum.task import errors

__all__ = ["leaked_draw", "main", "worst_series"]

DRAWS = 5  # of the noise; the first is that of the record
WORST = 21  # the series of which the Hamiltonian network's mean is made
Line = dict[str, Any]


def leaked_draw(folder: Path, draw: int, updates: int | None = None) -> Line:
    """MC-LSTM with the leak on all series, with noise of this draw: errors, and who saw its whole part."""
    recipe = series_recipe("mclstm", "published")
    series = [observed(setting, seed=20_000 + 100 * draw + at) for at, setting in enumerate(SETTINGS)]
    monitor, numbers = JobMonitor(folder, lambda: None), list(range(len(SETTINGS)))
    outcome = learn_series(folder, monitor, updates or recipe.updates, recipe, series, numbers)
    error, steps = np.array(outcome["mse"]), np.array([setting.steps for setting in SETTINGS])
    whole = np.array(outcome["window"]) >= steps
    finished = float(error[whole].mean()) if whole.any() else None
    return {"draw": draw, "mean": float(error.mean()), "median": float(np.median(error)),
            "unfinished": int((~whole).sum()), "finished": finished}  # fmt: skip


def worst_series(folder: Path, noise: int, start: int, updates: int = UPDATES) -> Line:
    """The Hamiltonian network on its worst series, with another noise or another start; 0 is the record's."""
    setting = SETTINGS[WORST]
    data = samples(setting, seed=40_000 + WORST + 100 * noise)
    network = learn_field(data, updates, WORST + 100 * start, JobMonitor(folder, lambda: None))
    (error,) = errors([predicted_energies(network, setting)], [observed(setting, seed=0).series])
    return {"noise": noise, "start": start, "mse": error}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out: Path = parser.parse_args().out
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        leaked = [leaked_draw(Path(folder), draw) for draw in range(DRAWS)]
        worst = [worst_series(Path(folder), noise=0, start=1)]
    make_folder(out.parent)
    content = {"commit": commit(), "mclstm with the leak": leaked, "hnn on its worst series": worst}
    write_text_atomic(out, json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
