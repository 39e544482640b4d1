"""The scores of `mclstm demo` with several seeds, as the README shows them: `make record-demo`."""

import argparse
import time
from pathlib import Path

from mclstm.demo import MODELS, SCORES, compare, tables
from mclstm_paper.results import row, save_results

__all__ = ["record"]


def record(root: Path, seeds: int, target: Path) -> None:
    """Run the demo once per seed below `root` and write every score to the result file `target`."""
    started = time.monotonic()
    scores: dict[str, list[dict[str, float]]] = {model: [] for model in MODELS}
    for seed in range(seeds):
        for model, column in tables(compare(root, seed, quiet=True))[0].items():
            scores[str(model)].append({str(name): float(value) for name, value in column.items()})
            print(f"seed {seed}, {model}: {scores[str(model)][-1]}", flush=True)
    rows = [
        row("fulda 1986-1988", model, metric, [run[metric] for run in runs])
        for model, runs in scores.items()
        for metric in SCORES
    ]
    save_results(target, "demo", "quick", rows, time.monotonic() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    options = parser.parse_args()
    record(options.runs, options.seeds, options.out)


if __name__ == "__main__":
    main()
