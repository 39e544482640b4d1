"""Three runs on three real basins, two members of an MC-LSTM and an LSTM, for comparisons of models."""

from pathlib import Path
from typing import Any

import pytest
import xarray as xr

from mclstm import pipeline
from mclstm.config import check_config
from mclstm.config.same_model import find_runs
from mclstm.report.comparison.model_groups import grouped
from support.shared_data import camels_us

SITES = ["01031500", "06221400", "11476600"]


def config(data: Path, model: dict[str, Any], seed: int) -> dict[str, Any]:
    return {
        "name": "camels",
        "data": {"path": str(data), "reader": "camels_us", "sites": SITES, "mass": ["prcp"],
                 "aux": ["srad", "tmax", "tmin", "vp"], "static": ["aridity"], "target": ["discharge"]},
        "periods": {"train": ["1999-10-01", "2001-09-30"], "validation": ["1985-10-01", "1989-09-30"],
                    "test": ["1989-10-01", "1999-09-30"]},
        "model": model,
        "training": {"length": 400, "warmup": 200, "batch_size": 4, "updates": 2, "seed": seed, "threads": 1},
    }  # fmt: skip


def train_basins(root: Path, patch: pytest.MonkeyPatch) -> None:
    """Train and evaluate runs/camels/* below a folder, and put a simulation into simulations/SAC_SMA.nc."""
    patch.setenv("MCLSTM_CACHE", str(root / "cache"))
    data = camels_us(root / "camels_us")
    mass = {"name": "mclstm", "hidden_size": 5, "gates_see": ["aux", "state", "mass"]}
    for model, seed in ((mass, 0), (mass, 1), ({"name": "lstm", "hidden_size": 4}, 0)):
        run = pipeline.train(check_config(config(data, model, seed)), root / "runs", quiet=True)
        pipeline.evaluate(run.path, figures=False)
    (root / "simulations").mkdir()
    first = members(root, "mclstm")[0] / "evaluation/test/predictions.nc"
    (root / "simulations" / "SAC_SMA.nc").write_bytes(first.read_bytes())


def members(root: Path, model: str) -> list[Path]:
    return [run.path for run in grouped(find_runs([root / "runs" / "camels"]))[model]]


def flows_of(run: Path) -> xr.Dataset:
    with xr.open_dataset(run / "evaluation/test/predictions.nc", engine="h5netcdf") as file:
        return file.load()
