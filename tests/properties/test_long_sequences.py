"""Twenty thousand steps, outlets open and closed: the ledger drifts by less than one rounding a step."""

import pytest
import torch

from mclstm.experiments.long_run import drift


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("redistribution", ["constant", "dynamic"])
def test_drift_stays_below_eps_times_steps(dtype: torch.dtype, closed: bool, redistribution: str) -> None:
    steps = 20_000
    curve = drift(steps, dtype, closed=closed, redistribution=redistribution, seeds=4)
    assert len(curve.steps) > 5
    for step, error in zip(curve.steps, curve.worst, strict=True):
        assert error <= torch.finfo(dtype).eps * step
