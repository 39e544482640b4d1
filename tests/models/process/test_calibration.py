"""Both searches find better parameters for every basin, each by itself, from the days that count."""

import numpy as np
import pytest
import torch

from mclstm.evaluation.metrics import nse
from mclstm.models.process.calibration import CALIBRATIONS, efficiency
from mclstm.models.process.hbv import HBV
from mclstm.models.process.process_model import Forcing, flow
from support.weather import drawn, generated

BUDGET = {
    "gradient": {"starts": 2, "updates": 10, "rate": 0.4},
    "evolution": {"generations": 20, "population": 16},
}
FEW = {"gradient": {"starts": 2, "updates": 2}, "evolution": {"generations": 3, "population": 6}}
METHODS = pytest.mark.parametrize("method", CALIBRATIONS)
DAYS, WARMUP = 120, 40


@pytest.fixture(scope="module")
def basins() -> tuple[Forcing, torch.Tensor]:
    """Three basins whose flow HBV itself made; the first days do not count."""
    forcing = generated(DAYS, 3, torch.float32, mean=12.0)
    with torch.no_grad():
        observed = flow(HBV, drawn(HBV, 3, dtype=torch.float32), forcing)
    observed[:WARMUP] = torch.nan
    return forcing, observed


@METHODS
def test_finds_parameters_in_their_ranges(method: str, basins: tuple[Forcing, torch.Tensor]) -> None:
    forcing, observed = basins
    fit = CALIBRATIONS[method](HBV, forcing, observed, **BUDGET[method])
    with torch.no_grad():
        random = efficiency(flow(HBV, drawn(HBV, 20, 3, dtype=torch.float32), forcing), observed)
    assert (fit.nse > random.max(0).values - 0.1).all()
    assert (fit.nse > random.median(0).values + 0.1).all()
    for name, (low, high, _) in HBV.bounds.items():
        assert ((low <= fit.parameters[name]) & (fit.parameters[name] <= high)).all(), name
    with torch.no_grad():
        again = efficiency(flow(HBV, fit.parameters, forcing), observed)
    torch.testing.assert_close(again, fit.nse, rtol=1e-4, atol=1e-5)


@METHODS
def test_a_basin_is_calibrated_by_itself(method: str, basins: tuple[Forcing, torch.Tensor]) -> None:
    """Other observations of the last basin leave the parameters of the others as they are."""
    forcing, observed = basins
    changed = observed.clone()
    changed[:, 2] = changed[:, 2].flip(0).nan_to_num(1.0)
    fits = [CALIBRATIONS[method](HBV, forcing, values, **FEW[method]) for values in (observed, changed)]
    for name in HBV.bounds:
        first, second = (fit.parameters[name] for fit in fits)
        assert torch.equal(first[:2], second[:2]), name
    assert any(not torch.equal(*(fit.parameters[name][2:] for fit in fits)) for name in HBV.bounds)


def test_efficiency_is_the_nse_of_every_column() -> None:
    source = np.random.default_rng(0)
    simulated, observed = source.random((50, 2, 3)), source.random((50, 3))
    observed[source.random((50, 3)) < 0.2] = np.nan
    values = efficiency(torch.from_numpy(simulated), torch.from_numpy(observed))
    expected = [[nse(simulated[:, c, n], observed[:, n]) for n in range(3)] for c in range(2)]
    np.testing.assert_allclose(values.numpy(), expected, rtol=1e-12)
