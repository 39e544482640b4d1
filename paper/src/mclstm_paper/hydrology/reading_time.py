"""How long reading CAMELS-US takes, from its text files and from the cache that the first reading writes.

    python -m mclstm_paper.hydrology.reading_time --data camels_us --results results/hydrology/reading.json

Every reading has its own process; starting it and importing are not counted. The cache is a new folder.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from mclstm.config import check_config
from mclstm.data.readers.camels_us import root_of
from mclstm.series_from_config import read_series
from mclstm_paper.hydrology.models import config_of
from mclstm_paper.options import Options
from mclstm_paper.results import Row, row, save_results

__all__ = ["main", "reading_rows"]

CACHED = 3  # readings from the cache for each reading from the files


def reading_rows(data: Path, repeats: int) -> list[Row]:
    """Seconds of every reading from the files and from the cache."""
    first: list[float] = []
    cached: list[float] = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            first.append(in_a_process(data, Path(folder)))
            cached += [in_a_process(data, Path(folder)) for _ in range(CACHED)]
    return [row("first", "camels_us", "seconds", first), row("cached", "camels_us", "seconds", cached)]


def in_a_process(data: Path, cache: Path) -> float:
    """Seconds of one reading in a new process, with a cache folder."""
    words = [sys.executable, "-m", __spec__.name, "--data", str(data), "--once"]
    around = os.environ | {"MCLSTM_CACHE": str(cache)}
    return float(subprocess.run(words, env=around, check=True, stdout=subprocess.PIPE, text=True).stdout)


def once(data: Path) -> float:
    """Seconds of one reading of the experiment's data, checks included."""
    config = check_config(config_of("mclstm", Options(profile="paper", data=data), member=0))
    began = time.perf_counter()
    read_series(config, require_target=True)
    return time.perf_counter() - began


def main(words: Sequence[str] | None = None) -> None:
    """Measure and write the result file; --once prints the seconds of a single reading."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--repeats", type=int, default=3, choices=range(1, 101), metavar="1...100")
    parser.add_argument("--once", action="store_true", help="one reading with the cache as it is")
    parser.add_argument("--results", type=Path, default=Path("results/hydrology/reading.json"))
    options = parser.parse_args(words)
    if root_of(options.data) is None:
        parser.error(f"{options.data} has no folder basin_mean_forcing. Name the folder of CAMELS-US.")
    if options.once:
        print(once(options.data))
        return
    began = time.perf_counter()
    rows = reading_rows(options.data, options.repeats)
    save_results(options.results, "hydrology-reading", "paper", rows, time.perf_counter() - began)


if __name__ == "__main__":
    main()
