"""A warning where a model fits its training years far better than the years after them."""

import warnings

from mclstm.data.windows import span
from mclstm.errors import DataWarning
from mclstm.from_config import warmup_of
from mclstm.run import Run, median_nse
from mclstm.training.state import load_weights

__all__ = ["warn_of_overfitting"]

PARTED = 0.2  # of NSE; by chance alone two periods of a few years differ by half as much


def warn_of_overfitting(run: Run) -> None:
    """Warn where the scores of training and validation part, each by the weights that evaluation uses."""
    validation, warmup = run.config.periods.pair("validation"), warmup_of(run.config)
    if validation is None:
        return
    load_weights(run.folder.weights(), run.model, run.model_hash)
    first, after = span(run.series, run.config.periods.train_pair, "train")
    # The first steps of the data were never scored in training: the stores were still empty.
    trained = (min(max(first, warmup), after - 1) if run.config.sequences is None else first), after
    periods = trained, span(run.series, validation, "validation")
    scores = [median_nse(run, period) for period in periods]
    if scores[0] - scores[1] > PARTED:
        warnings.warn(
            f"the training period has an NSE of {scores[0]:.2f}, validation one of {scores[1]:.2f}: "
            "the model has learned its training years by heart, or the years differ. Train on more years or "
            "sites, or lower model.hidden_size or training.updates.",
            DataWarning,
            stacklevel=2,
        )
