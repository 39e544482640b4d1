"""A model as `open_model` gives it, without training: random weights and the moments of generated data."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
import xarray as xr
from torch import Tensor

from mclstm.config import check_config
from mclstm.data.scaling import moments
from mclstm.data.windows import tensors
from mclstm.deploy.stepper import Stepper
from mclstm.deploy.trained_model import TrainedModel
from mclstm.from_config import build
from mclstm.models.output import Output
from mclstm.series_from_config import read_series

LATITUDES = (47.0, -33.5, 68.0, 5.0)
UNITS = {"rain": "mm/h", "flow": "mm/h", "tmax": "degC", "tmin": "degC"}


class Opened(NamedTuple):
    """A model, the series it was scaled by, and the attributes of its sites."""

    model: TrainedModel
    series: xr.Dataset
    attributes: dict[str, list[float]]
    columns: dict[str, np.ndarray]  # (site, time) of mass and auxiliaries

    @property
    def sites(self) -> list[str]:
        return [str(site) for site in self.series["site"].to_numpy()]

    def stepper(self, **options: Any) -> Stepper:
        return Stepper(self.model, self.sites, self.attributes, **options)

    def inputs(self, step: int) -> dict[str, np.ndarray]:
        """What a stepper takes at a step of the series."""
        return {name: values[:, step] for name, values in self.columns.items()}

    def tensors(self, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
        """x (T, B, M), a (T, B, A), static (B, S) of the whole series."""
        data = tensors(self.series, self.model.moments, dtype)
        x, a = (value.transpose(0, 1).contiguous() for value in (data.x, data.a))
        return x, a, data.static

    @torch.no_grad()
    def whole(self, dtype: torch.dtype = torch.float32) -> Output:
        """One call over all steps."""
        (member,) = self.model.members.values()
        member.train(False)
        output: Output = member(*self.tensors(dtype))
        return output


def opened(
    folder: Path,
    model: dict[str, Any],
    *,
    sites: int = 3,
    steps: int = 400,
    step: str = "h",
    warmer: float = 0.0,
    **data: Any,
) -> Opened:
    """Rain in a third of the steps, temperatures, a flow that nobody looks at; attributes of every site."""
    source = np.random.default_rng(0)
    names = [f"site {at}" for at in range(sites)]
    rows = {
        "date": np.tile(pd.date_range("2001-01-01", periods=steps, freq=step), sites),
        "site": np.repeat(names, steps),
        "rain": source.gamma(0.5, 4.0, sites * steps) * (source.random(sites * steps) < 0.3),
        "tmax": warmer + 15 + 5 * source.standard_normal(sites * steps),
        "flow": source.random(sites * steps),
    }
    rows["tmin"] = rows["tmax"] - 10 * source.random(sites * steps)
    pd.DataFrame(rows).to_csv(folder / "sites.csv", index=False)
    attributes = {"height": [100.0 * (at + 1) for at in range(sites)], "north": list(LATITUDES[:sites])}
    pd.DataFrame({"site": names, **attributes}).to_csv(folder / "attributes.csv", index=False)
    first, last = (str(rows["date"][at])[:16] for at in (0, steps - 1))
    raw = {
        "name": "sites",
        "data": {
            "path": str(folder / "sites.csv"), "attributes": str(folder / "attributes.csv"), "mass": ["rain"],
            "aux": ["tmax", "tmin"], "static": ["height"], "target": ["flow"], "units": UNITS,
        } | data,
        "periods": {"train": [first, str(rows["date"][steps // 2])[:16]], "test": [last, last]},
        "model": model,
        "training": {"updates": 1},
    }  # fmt: skip
    config = check_config(raw)
    series = read_series(config, require_target=True)
    known = moments(series)
    module, fingerprint = build(config, known)
    units = {str(name): str(item.attrs["units"]) for name, item in series.data_vars.items()}
    trained = TrainedModel(
        config=config, moments=known, members={"": module}, model_hash=fingerprint, step=series.attrs["step"],
        units=units,
    )  # fmt: skip
    needed = [*config.data.static, *config.data.only_read]
    given = (*config.data.mass, *config.data.read_as_aux)
    columns = {name: series[name].to_numpy() for name in given}
    return Opened(trained, series, {name: attributes[name] for name in needed}, columns)
