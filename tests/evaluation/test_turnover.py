"""The turnover of a simulation is that of its flows, and figures order their cells by it."""

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

from mclstm.data.scaling import moments
from mclstm.data.windows import tensors
from mclstm.evaluation import turnover
from mclstm.evaluation.simulate import simulate
from mclstm.models.mass_model import MassModel, build_hybrid, build_mass
from mclstm.models.output import Moments, Sizes
from mclstm.report.cells import fullest
from mclstm.report.hydrograph import storage_layers
from mclstm.report.site_series import site_series

DAYS = 40


def rain() -> xr.Dataset:
    source = np.random.default_rng(2)
    time = pd.date_range("2001-01-01", periods=DAYS)
    series = xr.Dataset(coords={"site": ("site", ["A", "B"]), "time": ("time", time)}, attrs={"step": "D"})
    for name, role in (("rain", "mass"), ("warm", "aux"), ("flow", "target")):
        values = source.gamma(0.5, 4.0, (2, DAYS))
        series[name] = (("site", "time"), values, {"role": role, "units": "mm/day"})
    series["rain_filled"] = (("site", "time"), np.zeros((2, DAYS), dtype=bool))
    return series


def plain() -> MassModel:
    torch.manual_seed(1)
    return build_mass(Sizes(1, 1, 0, ["flow"]), None, hidden_size=5, stay=0.6)


def predicted(model: MassModel, series: xr.Dataset) -> xr.Dataset:
    data = tensors(series, moments(series), torch.float32)
    return simulate(model, data, series, (0, DAYS), 0).predictions


def test_turnover_is_mass_held_by_mass_passed_on() -> None:
    series, model = rain(), plain()
    data = tensors(series, moments(series), torch.float32)
    flows = model.layer.flows(data.x.transpose(0, 1), data.a.transpose(0, 1))
    stays = torch.diagonal(flows.transfers, dim1=-2, dim2=-1)
    gone = (flows.transfers.sum(-1) - stays + flows.h).double().sum(0)
    expected = (flows.c[1:].double().sum(0) / gone).detach().numpy()
    np.testing.assert_allclose(predicted(model, series)["turnover"], expected, rtol=1e-5)


def test_some_steps_tell_nearly_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    series, model = rain(), plain()
    whole = predicted(model, series)["turnover"]
    monkeypatch.setattr(turnover, "STEPS", 20)
    np.testing.assert_allclose(predicted(model, series)["turnover"], whole, rtol=0.3)


def test_the_gates_of_a_hybrid_are_those_of_its_memory() -> None:
    torch.manual_seed(0)
    model = build_hybrid(Sizes(1, 1, 0, ["flow"]), Moments([1.0], [2.0], [1.0], [1.0]), hidden_size=3)
    series = rain()
    data = tensors(series, moments(series), torch.float32)
    x, a = (value.transpose(0, 1) for value in (data.x, data.a))
    held, passed = model.train(False).trace(x, a, data.static).throughput(DAYS)
    np.testing.assert_allclose(predicted(model, series)["turnover"], held / passed, rtol=1e-6)


def test_figures_show_the_fastest_cell_first() -> None:
    predictions = predicted(plain(), rain())
    stores = site_series(predictions, "A").stores
    assert stores is not None
    days = predictions["turnover"].sel(site="A").to_numpy()
    assert fullest(stores) == np.argsort(days).tolist() != sorted(fullest(stores))
    labels = [label for label, _, _ in storage_layers(stores)]
    others = [cell for cell in np.argsort(days).tolist() if cell != stores.losses_cell]
    assert [int(label.split()[1].rstrip(",")) for label in labels[:-1]] == others
    assert labels[0].endswith((" d", " h"))
    old = site_series(predictions.drop_vars("turnover"), "A").stores
    assert old is not None
    assert fullest(old) == [0, 1, 2, 3, 4]
