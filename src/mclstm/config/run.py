"""The whole config of a run, and what must hold between its sections."""

from typing import Annotated

from pydantic import BaseModel, Field, model_validator

from mclstm.config.data import DataConfig, PeriodsConfig
from mclstm.config.model import ModelConfig
from mclstm.config.training import EvaluationConfig, TrainingConfig
from mclstm.config.values import NAME, RULES

__all__ = ["Config"]


class Config(BaseModel):
    """A run of mclstm from file to scores."""

    model_config = RULES

    name: Annotated[str, Field(pattern=NAME, max_length=64)]
    """The name of the run, part of the path of its folder."""
    data: DataConfig
    """Where the data is and what its columns mean."""
    periods: PeriodsConfig
    """Which dates are used for what."""
    model: ModelConfig
    """What is trained."""
    training: TrainingConfig
    """How it is trained."""
    evaluation: EvaluationConfig = EvaluationConfig()
    """What is computed from the predictions."""

    @model_validator(mode="after")
    def what_early_stopping_needs(self) -> "Config":
        if self.training.early_stopping is not None and self.periods.validation is None:
            raise ValueError("stops early without periods.validation. Add it, or remove early_stopping.")
        return self
