"""One thread a worker, and the same random numbers in every test."""

import os

import pytest
import torch
from hypothesis import HealthCheck, settings

settings.register_profile(
    "suite", max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
settings.register_profile("long", settings.get_profile("suite"), max_examples=10_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
