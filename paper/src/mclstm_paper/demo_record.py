"""The scores of `mclstm demo` with several seeds, as the README shows them: `make record-demo`."""

import argparse
import time
from pathlib import Path

from mclstm.data.fulda import fulda
from mclstm.demo import MODELS, SCORES, compare, demo_config, tables
from mclstm.deploy.new_data import Dates, Source
from mclstm.deploy.predict import predict_unsaved
from mclstm.report.hydrograph import hydrograph
from mclstm.report.style import render
from mclstm.training.atomic import write_bytes_atomic
from mclstm_paper.results import row, save_results

__all__ = ["drawn", "record"]


def record(root: Path, seeds: int, target: Path, picture: Path | None = None) -> None:
    """Run the demo once per seed below `root` and write every score to the result file `target`.

    picture: where to draw the hydrograph of the first seed's MC-LSTM
    """
    started = time.monotonic()
    scores: dict[str, list[dict[str, float]]] = {model: [] for model in MODELS}
    for seed in range(seeds):
        results = compare(root, seed, quiet=True)
        if picture is not None and seed == 0:
            write_bytes_atomic(picture, drawn(results["mclstm"][0]))
        for model, column in tables(results)[0].items():
            scores[str(model)].append({str(name): float(value) for name, value in column.items()})
            print(f"seed {seed}, {model}: {scores[str(model)][-1]}", flush=True)
    rows = [
        row("fulda 1986-1988", model, metric, [run[metric] for run in runs])
        for model, runs in scores.items()
        for metric in SCORES
    ]
    save_results(target, "demo", "quick", rows, time.monotonic() - started)


def drawn(run: Path) -> bytes:
    """The README's picture: the whole test period of one member, for only a member has cells; as PNG."""
    config = demo_config("mclstm")
    dates = Dates(*(config.periods.pair("test") or ()))
    alone = predict_unsaved(run, Source(str(fulda())), dates=dates, member=config.training.seed)
    return render(hydrograph(alone.predictions, "fulda"), "png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    record(options.runs, options.seeds, options.out, options.picture)


if __name__ == "__main__":
    main()
