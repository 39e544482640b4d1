"""Weather for process models: generated years, and the file of Snow-17 and SAC-SMA that CAMELS comes with."""

import numpy as np
import pandas as pd
import torch

from mclstm.models.process.calibration import physical
from mclstm.models.process.process_model import Forcing, Parameters, ProcessModel, season_of
from support.shared_data import shared


def generated(days: int, basins: int, dtype: torch.dtype = torch.float64, mean: float = 5.0) -> Forcing:
    """Rain on every other day, a warm and a cold season around the mean temperature."""
    source = torch.Generator().manual_seed(1)
    season = torch.sin(2 * torch.pi * (torch.arange(days, dtype=dtype)[:, None] - 80) / 365)
    amount = torch.rand(days, basins, generator=source, dtype=dtype)
    rain = (40 * amount**4) * (torch.rand(days, basins, generator=source, dtype=dtype) < 0.5)
    noise = torch.randn(days, basins, generator=source, dtype=dtype)
    pet = (2 + 2 * season).expand(days, basins)
    return Forcing(rain, mean + 12 * season + 4 * noise, pet, season)


def constant(days: int, rain: float, temperature: float, pet: float = 0.0) -> Forcing:
    """The same weather every day, of one basin, at midsummer."""
    columns = (torch.full((days, 1), value, dtype=torch.float64) for value in (rain, temperature, pet, 1.0))
    return Forcing(*columns)


def drawn(model: ProcessModel, *shape: int, dtype: torch.dtype = torch.float64) -> Parameters:
    """Random parameters within their ranges, each of this shape."""
    source = torch.Generator().manual_seed(2)
    return physical(model, torch.rand(len(model.bounds), *shape, generator=source, dtype=dtype))


def middle(model: ProcessModel, **changed: float) -> Parameters:
    """The middle of every range, of one basin, but for the named parameters."""
    share = torch.full((len(model.bounds), 1), 0.5, dtype=torch.float64)
    return physical(model, share) | {
        name: torch.tensor([value], dtype=torch.float64) for name, value in changed.items()
    }


def model_output() -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """The columns of the file, each (T, 1) float32, and the season (T, 1) of its days."""
    table = pd.read_csv(shared("snow17/01031500_05_model_output.txt.gz"), sep=r"\s+")
    dates = pd.to_datetime({"year": table["YR"], "month": table["MNTH"], "day": table["DY"]})
    columns = {
        str(name): torch.tensor(table[name].to_numpy(np.float32))[:, None] for name in table.columns[4:]
    }
    day = torch.tensor(dates.dt.day_of_year.to_numpy(np.float32))
    return columns, season_of(day)[:, None]
