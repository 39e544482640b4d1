"""An open run: its folder, its model and its data; what it simulates and how well."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import xarray as xr
from torch import nn

from mclstm.config import Config
from mclstm.data.manifest import require_same
from mclstm.data.scaling import Moment
from mclstm.data.windows import StoredTensors, Tensors
from mclstm.errors import ConfigError
from mclstm.evaluation.score_tables import middle, score_table
from mclstm.from_config import open_run
from mclstm.run_inputs import manifest_for, open_series, tensors_of
from mclstm.simulation import simulate_parts, simulate_period
from mclstm.training.folder import RunFolder

__all__ = ["Run", "load_run", "median_nse", "simulate_run"]


class Run(NamedTuple):
    """An open run: its folder, its model and its data, as a series and as tensors.

    Of data that is read in parts, `series` has sites and dates alone, and the tensors lie on the disk.
    """

    folder: RunFolder
    config: Config
    moments: dict[str, Moment]
    model: nn.Module
    model_hash: str
    series: xr.Dataset
    parts: Sequence[xr.Dataset]  # the series itself, if it is in memory
    data: Tensors | StoredTensors

    @property
    def path(self) -> Path:
        """The path of the folder."""
        return self.folder.path

    @property
    def tensors(self) -> Tensors:
        """The tensors of all sites in memory; refused where they lie on the disk."""
        if isinstance(self.data, StoredTensors):
            raise ConfigError("This needs all sites in memory. Use a run without data.in_memory: false.")
        return self.data


def load_run(path: Path) -> Run:
    """A run from its folder, with untrained weights; its data is read again and must not have changed."""
    saved = open_run(path)
    series, parts = open_series(saved.config)
    about = manifest_for(saved.config, series, parts)
    require_same(about["sha256"], saved.folder.read_json(saved.folder.manifest), saved.config.data.path)
    return Run(*saved, series, parts, tensors_of(parts, saved.moments))


def simulate_run(run: Run, period: tuple[int, int], stores: bool = True) -> Iterator[xr.Dataset]:
    """The predictions of a period, part after part."""
    if isinstance(run.data, StoredTensors):
        yield from simulate_parts(run.config, run.model, run.parts, run.moments, period, stores)
    else:
        yield simulate_period(run.config, run.model, run.data, run.series, period, stores)


def median_nse(run: Run, period: tuple[int, int]) -> float:
    """The median over sites of the NSE of a period."""
    tables = [score_table(part, ["nse"]) for part in simulate_run(run, period, stores=False)]
    return middle(pd.concat(tables, ignore_index=True))
