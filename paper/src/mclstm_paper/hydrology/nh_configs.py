"""Configs of neuralhydrology for the same basins, weather, attributes and periods as ours, without paths."""

from typing import Any

from mclstm_paper.hydrology.models import ATTRIBUTES, FORCING, PERIODS

__all__ = ["THEIRS", "nh_config"]

SHARED: dict[str, Any] = {
    "dataset": "camels_us", "head": "regression", "optimizer": "Adam", "loss": "NSE", "clip_gradient_norm": 1,
    "device": "cpu", "seed": 0, "num_workers": 0, "epochs": 1, "log_interval": 1000, "log_n_figures": 0,
    "log_tensorboard": False, "save_weights_every": 1_000_000, "verbose": 0, "metrics": ["NSE"],
    "output_activation": "linear", "initial_forget_bias": 3, "target_variables": ["QObs(mm/d)"],
    "forcings": [FORCING], "static_attributes": sorted(ATTRIBUTES),
}  # fmt: skip
WEATHER = ["srad(W/m2)", "tmax(C)", "tmin(C)", "vp(Pa)"]
RAIN = "prcp(mm/day)"
PLAIN = {"centering": "none", "scaling": "none"}
# The config of the paper's authors, and that of Kratzert et al. (2019) for the LSTM.
MASS: dict[str, Any] = {
    "model": "mclstm", "hidden_size": 64, "learning_rate": {0: 0.01}, "mass_inputs": [RAIN],
    "dynamic_inputs": WEATHER, "custom_normalization": {RAIN: PLAIN, "QObs(mm/d)": PLAIN},
}  # fmt: skip
FREE: dict[str, Any] = {
    "model": "cudalstm", "hidden_size": 256, "output_dropout": 0.4, "learning_rate": {0: 0.001},
    "dynamic_inputs": [RAIN, *WEATHER],
}  # fmt: skip
LAST_DAY = {"seq_length": 365, "predict_last_n": 1, "batch_size": 256}
# As ours are trained, which is what makes a window cheap.
SEQUENCES = {"seq_length": 545, "predict_last_n": 180, "batch_size": 64}
THEIRS = {
    "nh-mclstm": MASS | LAST_DAY,
    "nh-mclstm-sequences": MASS | SEQUENCES,
    "nh-lstm": FREE | LAST_DAY,
    "nh-lstm-sequences": FREE | SEQUENCES,
}


def nh_config(name: str, cells: int | None) -> dict[str, Any]:
    """The config of a training; cells: instead of the usual hidden size."""
    periods = {
        f"{part}_{end}_date": day_of(date)
        for part, dates in PERIODS.items()
        for end, date in zip(("start", "end"), dates, strict=True)
    }
    size = {} if cells is None else {"hidden_size": cells}
    return SHARED | THEIRS[name] | size | periods | {"experiment_name": name}


def day_of(date: str) -> str:
    """A date as neuralhydrology writes it.

    >>> day_of("2008-09-30")
    '30/09/2008'
    """
    return "/".join(reversed(date.split("-")))
