"""One thread a worker, the same random numbers in every test, real data where it lies beside the clone."""

import os
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings

# A clone lies beside ../shared; a worktree may lie one folder deeper.
BESIDE = [top / "shared" / "data" for top in Path(__file__).resolve().parents[1:3]]
os.environ.setdefault("MCLSTM_DATA", str(next((place for place in BESIDE if place.is_dir()), "")))

settings.register_profile(
    "suite", max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
settings.register_profile("long", settings.get_profile("suite"), max_examples=10_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
