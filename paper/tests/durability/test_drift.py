"""Twenty thousand steps, outlets open and closed: the ledger drifts by less than one rounding per step."""

import pytest
import torch

from mclstm_paper.durability.drift import drift


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("redistribution", ["static", "dynamic"])
@pytest.mark.parametrize(("backend", "seeds"), [("reference", 1), ("auto", 8)])
def test_drift_stays_below_eps_times_steps(
    dtype: torch.dtype, closed: bool, redistribution: str, backend: str, seeds: int
) -> None:
    curve = drift(
        20_000, dtype, closed=closed, redistribution=redistribution, seeds=seeds, backend=backend
    )  # fmt: skip
    assert len(curve.steps) > 5
    for step, error in zip(curve.steps, curve.worst, strict=True):
        assert error <= torch.finfo(dtype).eps * step
