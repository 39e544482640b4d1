"""The sections `training` and `evaluation`."""

from collections.abc import Collection, Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, model_validator

from mclstm.config.field_types import DEVICE, EXPONENT, RULES, Count, without_doubles
from mclstm.config.rhythm import Slot

__all__ = ["EvaluationConfig", "MetricName", "TrainingConfig"]

MetricName = Literal[
    "nse", "kge", "alpha-nse", "beta-nse", "beta-kge", "fhv", "flv", "fms", "peak-timing", "rmse", "mae"
]  # fmt: skip
METRICS: list[MetricName] = list(get_args(MetricName))
RivalName = Literal[
    "climatology", "last-week", "persistence", "regression", "regression-by-time", "share-of-inflow",
    "hbv-gradient", "hbv-evolution", "sac-sma-gradient", "sac-sma-evolution",
]  # fmt: skip


def whole(key: Any) -> Any:
    """`--set training.schedule.20=0.005` and JSON can only say "20"."""
    return int(key) if isinstance(key, str) and key.isascii() and key.isdigit() and len(key) < 19 else key


Rate = Annotated[float, Field(gt=0, le=10), EXPONENT]
Step = Annotated[int, Field(ge=0, le=1_000_000_000), BeforeValidator(whole)]

BEFORE_THE_LOOP = {
    "optimiser", "threads", "device", "scheme", "length", "warmup", "stride", "loss", "scored", "impute",
    "members", "peak", "start", "guide_weight",
}  # fmt: skip

ON_EVERY_RANK = {"batch_size", "seed", "clip", "weight_decay", "warmup_gradient"}


class PeakConfig(BaseModel, **RULES):
    """The last updates, in which the error of a peak counts more where it is simulated too low."""

    quantile: Annotated[float, Field(ge=0.5, lt=1), EXPONENT] = 0.97
    """Observations above this quantile of their site's training period are peaks."""
    weight: Annotated[float, Field(gt=0, le=100), EXPONENT] = 0.5
    """How much more such an error counts; 0.5 makes it one and a half times as large."""
    updates: Count = 300
    """The number of updates, at the end of the training; only their weights can become the best ones."""


class TrainingConfig(BaseModel, **RULES):
    """How windows are drawn, what is minimised, for how long, and how often the run is saved."""

    scheme: Literal["last", "sequence"] = "sequence"
    """last scores the last step of a window, as the paper; sequence every step after the warm-up."""
    length: Annotated[int, Field(ge=1, le=1_000_000)] = 730
    """The steps of a window."""
    warmup: Annotated[int, Field(ge=0, le=1_000_000)] = 365
    """The first steps of a window, which fill the cells and are not scored; only for the scheme sequence."""
    warmup_gradient: bool = True
    """Let the gradient flow through the warm-up; false stops it there, which about halves an update."""
    stride: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """The steps between the starts of two windows; null takes as many as are scored."""
    batch_size: Annotated[int, Field(ge=1, le=1_000_000)] = 256
    """The windows of an update."""
    epochs: Count | None = None
    """When to stop, in passes over the training windows."""
    updates: Count | None = None
    """When to stop, in updates; with epochs, whichever comes first."""
    learning_rate: Rate = 0.01
    """The step size of the optimiser."""
    schedule: Annotated[dict[Step, Rate], Field(max_length=1000)] = {}
    """New learning rates, by the epoch or update from which they hold, counted from 0."""
    schedule_by: Literal["epoch", "update"] = "epoch"
    """What the keys of the schedule count."""
    optimiser: Literal["adam"] = "adam"
    """The optimiser."""
    weight_decay: Annotated[float, Field(ge=0, le=1), EXPONENT] = 0.0
    """Decay of the weights."""
    average: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """The share of a moving average of the weights that an update leaves; 0.99 averages about 100 updates,
    and never more than a tenth of those done. The average is what is validated, evaluated and predicted with;
    0 uses the weights themselves."""
    clip: Annotated[float, Field(gt=0, le=1e9), EXPONENT] | None = 1.0
    """The largest norm of the gradient; null does not clip."""
    loss: Literal["mse", "nse"] = "mse"
    """The mean squared error, or the same divided by (σ + 0.1)² of each site, σ of its target."""
    peak: PeakConfig | None = None
    """The last updates weigh peaks that are simulated too low; null weighs all errors alike."""
    guide_weight: Annotated[float, Field(ge=0, le=1e6), EXPONENT] = 0.1
    """How much errors of `model.guided` targets count beside those of the others."""
    scored: Annotated[list[Slot], Field(max_length=1440), AfterValidator(without_doubles)] = []
    """The times of day that are scored in training and validation, such as "06:00" or "06:00-06:10"; targets
    at other times count as unknown there. Empty scores every time."""
    impute: Literal["mean-per-step", "mean"] | None = None
    """What stands for mass at times that are not scored, in training and validation: its mean at that time of
    day over the training period, or its mean over all times; null uses the mass itself. `mclstm evaluate` and
    `predict` use all mass."""
    early_stopping: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Stop after this many validations without a better one; null trains to the end."""
    validate_every: Count = 1
    """Epochs between two validations."""
    checkpoint_every: Count = 100
    """Updates between two checkpoints."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """The seed of weights and sample order."""
    members: Annotated[int, Field(ge=2, le=1000)] | None = None
    """Train so many models at once, with the seeds seed, seed + 1, ...; their mean is validated, evaluated
    and predicted. null trains one."""
    start: Annotated[str, Field(min_length=1, max_length=4096)] | None = None
    """The folder of a run or of a packed model: train on from its weights, with its scaling. Of a packed
    model the member with this seed begins. null starts from random weights."""
    threads: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Threads to compute with; fix it for bit-identical repeats. null leaves it to torch."""
    device: Annotated[str, Field(pattern=DEVICE)] = "cpu"
    """Where to train: cpu, cuda, a GPU by its number such as cuda:1, or auto for a GPU if there is one. A run
    may be resumed elsewhere; evaluation and prediction are done on the CPU."""

    @model_validator(mode="after")
    def an_end_and_a_score(self) -> "TrainingConfig":
        if self.epochs is None and self.updates is None:
            raise ValueError("does not say when to stop. Add epochs or updates.")
        if self.scheme == "sequence" and self.warmup >= self.length:
            raise ValueError(
                f"leaves no step to score: length {self.length}, warmup {self.warmup}. Lower warmup."
            )
        if self.scheme == "last" and not self.warmup_gradient:
            raise ValueError("has warmup_gradient: false, but no warm-up in the scheme last. Remove it.")
        if self.start is not None and self.members is not None:
            raise ValueError("has start, which is one model, and members. Train one run for each member.")
        if self.impute is not None and not self.scored:
            raise ValueError("has impute, which fills mass at times that are not scored. Add scored.")
        return self

    def for_the_loop(self) -> dict[str, Any]:
        """The keywords of the training loop, without those that choose the windows and the loss."""
        updates = 0 if self.peak is None else self.peak.updates
        return self.model_dump(exclude=BEFORE_THE_LOOP) | {"peak_updates": updates}

    def for_a_rank(self) -> dict[str, Any]:
        """The keywords of a process that helps another to train."""
        return self.model_dump(include=ON_EVERY_RANK)

    def for_the_loss(self, targets: Sequence[str], guided: Collection[str] = ()) -> dict[str, Any]:
        """The keywords of the loss: its name, what a peak is and counts, and what each target counts."""
        each = [self.guide_weight if name in guided else 1.0 for name in targets]
        shares = {"shares": each} if guided else {}
        peak = {} if self.peak is None else {"quantile": self.peak.quantile, "extra": self.peak.weight}
        return {"loss": self.loss, **shares, **peak}


class EvaluationConfig(BaseModel, **RULES):
    """What is computed from the predictions."""

    metrics: Annotated[list[MetricName], Field(min_length=1), AfterValidator(without_doubles)] = METRICS
    """The scores of each site."""
    restart: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Simulate afresh, from empty stores and with the warm-up, every so many steps; null runs through."""
    nonnegative: bool | None = None
    """Score a prediction below zero as zero; null does so for targets in the unit of a mass."""
    against: Annotated[list[RivalName], Field(max_length=20), AfterValidator(without_doubles)] = []
    """Simple models to fit on the training period and to score beside this one."""
