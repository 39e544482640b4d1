"""A small city of traffic4cast files: whoever enters leaves an hour later, or by the end of the day."""

from pathlib import Path

import h5py
import numpy as np

__all__ = ["DAYS", "write_city"]

STEPS, HEIGHT, WIDTH = 288, 24, 20
DAYS = {"training": [f"2019-01-{day:02}" for day in range(1, 17)],
        "validation": [f"2019-07-{day:02}" for day in range(1, 5)]}  # fmt: skip
NE, SW = 0, 6  # channels of the volumes of these headings
DELAY, LAST = 12, 250  # steps


def write_city(folder: Path) -> Path:
    """Write the days: vehicles enter heading NE in the west and the south, and leave on the other sides."""
    for number, (split, date) in enumerate((split, date) for split, dates in DAYS.items() for date in dates):
        path = folder / split / f"{date}_smallville_9ch.h5"
        path.parent.mkdir(parents=True, exist_ok=True)
        with h5py.File(path, "w") as file:
            file.create_dataset("array", data=day(number), chunks=(32, HEIGHT, WIDTH, 9), compression=1)
    return folder


def day(seed: int) -> np.ndarray:
    """(288, 24, 20, 9) uint8; speeds and incidents are 99, which no reader should count."""
    source = np.random.default_rng(seed)
    array = np.full((STEPS, HEIGHT, WIDTH, 9), 99, dtype=np.uint8)
    array[..., 0:8:2] = 0
    rate = 8 + 6 * np.sin(2 * np.pi * np.arange(STEPS) / STEPS - 2) ** 2
    rate[LAST:] = 0
    for enter, leave in (((10, 0), (10, WIDTH - 1)), ((HEIGHT - 1, 10), (0, 10))):
        count = source.poisson(rate).astype(np.uint8)
        array[(slice(None), *enter, NE)] = count
        array[(slice(DELAY, None), *leave, NE)] = count[:-DELAY]
    return array
