"""A simulation with restarts equals windows run by hand, each from empty stores."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

from mclstm import pipeline
from mclstm.config import check_config
from mclstm.data.windows import span
from mclstm.evaluation.metrics import nse
from mclstm.evaluation.restarts import simulate_with_restarts
from mclstm.run import load_run
from mclstm.training.state import load_weights
from support.small_run import brook, brook_config, brooks


def run_of(folder: Path, restart: int | None, **model: str) -> Path:
    """Two sites, the second of which ends early, trained a little."""
    table = brooks(brook(folder / "brook.csv"), ["first", "second"])
    short = (table["site"] == "second") & (table["date"] > "2001-08-20")
    table[~short].to_csv(folder / "brook.csv", index=False)
    raw = brook_config(folder / "brook.csv", updates=2)
    raw["data"]["site"] = "site"
    raw["evaluation"] = {"restart": restart}
    raw["model"] |= model
    return pipeline.train(check_config(raw), folder / "runs", quiet=True).path


@pytest.mark.parametrize("restart", [1, 6, 25])
def test_every_piece_is_a_window_of_its_own(tmp_path: Path, restart: int) -> None:
    loaded = load_run(run_of(tmp_path, restart))
    period, warmup = span(loaded.series, ("2001-07-01", "2001-08-28"), "test"), 4
    found = simulate_with_restarts(loaded.model, loaded.data, loaded.series, period, warmup, restart)[
        "simulated"
    ]
    for row in (0, 1):
        inside = np.flatnonzero(loaded.data.covered[row])
        for step in range(period[0], min(period[1], inside[-1] + 1)):
            begin = step - (step - period[0]) % restart - warmup
            x, a = (value[row, begin : step + 1].unsqueeze(1) for value in (loaded.data.x, loaded.data.a))
            with torch.no_grad():
                y = loaded.model(x, a, loaded.data.static[[row]]).y[-1, 0, 0].item()
            assert found[row, step - period[0]].item() == pytest.approx(y, rel=1e-5)
        assert np.isnan(found[row, inside[-1] + 1 - period[0] :]).all()


def test_with_a_batch_norm_the_batches_are_those_of_the_published_evaluation(tmp_path: Path) -> None:
    """neuralhydrology evaluates basin by basin, days in order, in batches as large as those of training."""
    path = run_of(tmp_path, 1, state_norm="batch")
    loaded = load_run(path)
    load_weights(loaded.folder.weights(), loaded.model, loaded.model_hash)
    found = pipeline.evaluate(path, figures=False).predictions["simulated"]
    (first, after), warmup = span(loaded.series, ("2001-07-01", "2001-08-28"), "test"), 4
    size = loaded.config.training.batch_size
    assert size == 6
    for row in (0, 1):
        end = min(after, np.flatnonzero(loaded.data.covered[row])[-1] + 1)
        for at in range(first, end, size):
            days = range(at, min(at + size, end))
            windows = [
                torch.stack([value[row, day - warmup : day + 1] for day in days], dim=1)
                for value in (loaded.data.x, loaded.data.a)
            ]
            with torch.no_grad():
                y = loaded.model.eval()(*windows, loaded.data.static[[row] * len(days)]).y[-1, :, 0]
            np.testing.assert_allclose(found[row, at - first : at - first + len(days)], y, rtol=1e-5)


def test_scores_are_of_the_restarts_and_the_balance_of_the_continuous_run(tmp_path: Path) -> None:
    through, pieces = (run_of(make(tmp_path / str(restart)), restart) for restart in (None, 6))
    files = {}
    for run in (through, pieces):
        pipeline.evaluate(run, figures=False)
        with xr.open_dataset(run / "evaluation/test/predictions.nc", engine="h5netcdf") as file:
            files[run] = file.load()
    np.testing.assert_array_equal(files[pieces]["continuous"], files[through]["simulated"])
    assert not np.allclose(files[pieces]["continuous"], files[pieces]["simulated"], equal_nan=True)
    scores = pd.read_csv(pieces / "evaluation/test/metrics.csv")
    simulated, observed = (files[pieces][name].to_numpy()[0] for name in ("simulated", "observed"))
    assert scores["nse"][0] == pytest.approx(nse(simulated, observed))
    balances = [(run / "evaluation/test/mass_balance.csv").read_bytes() for run in (through, pieces)]
    assert balances[0] == balances[1]


def make(folder: Path) -> Path:
    folder.mkdir()
    return folder
