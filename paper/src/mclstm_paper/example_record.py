"""What the examples to copy give, config and script, as their pages show it: `make record-examples`."""

import argparse
import contextlib
import importlib.util
import io
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from mclstm import pipeline
from mclstm.config import load_config
from mclstm.config.load import anchored
from mclstm_paper.results import Row, row, save_results

__all__ = ["record"]

METRICS = ("nse", "rmse", "mae")
OURS = "this model"


def record(config: Path, target: Path) -> None:
    """Run an example's script and its config once, and write what they gave to the result file `target`."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        printed = output_of(config.with_suffix(".py"))
        begun = time.process_time()
        rows = scores(config, Path(place))
        cpu = round(time.process_time() - begun)
    seconds = time.monotonic() - began
    save_results(target, config.stem, "paper", rows, seconds, printed=printed, cpu_seconds=cpu)


def output_of(script: Path) -> str:
    """What a script prints of its scores, from the first line that is not about its progress."""
    spec = importlib.util.spec_from_file_location(f"example_{script.stem}", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        module.main()
    lines = text.getvalue().splitlines()
    first = next(at for at, line in enumerate(lines) if ", the last " in line)
    return "\n".join(line.rstrip() for line in lines[first:])


def scores(config: Path, folder: Path) -> list[Row]:
    """The scores of the trained config and of its rivals; the folder may hold data that a script made."""
    made = [path for path in folder.iterdir() if path.suffix == ".csv"]
    place = Path(shutil.copy(config, folder)) if made else config
    settings = anchored(load_config(place), place.parent)
    result = pipeline.evaluate(pipeline.train(settings, folder / "runs", quiet=True), figures=False)
    own = pd.read_csv(result.folder / "metrics.csv").assign(model=OURS)
    return list(score_rows(own)) + list(score_rows(result.rival_scores))


def score_rows(table: pd.DataFrame) -> Iterator[Row]:
    """Every score of a table with a line for each model and target."""
    for _, line in table.iterrows():
        for metric in METRICS:
            yield row(str(line["target"]), str(line["model"]), metric, [float(line[metric])])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    record(options.config.resolve(), options.out.resolve())


if __name__ == "__main__":
    main()
