"""The sections of our config from the keys of neuralhydrology's."""

import re
from typing import Any

from mclstm.config.neuralhydrology.given import Given, day, rates
from mclstm.config.neuralhydrology.keys import DATASETS, LOSSES, METRICS, MODELS
from mclstm.config.neuralhydrology.sites import basins, located
from mclstm.data.checks.guess import MASS_NAMES, listed
from mclstm.errors import ConfigError

__all__ = ["camels", "data_of", "floor_of", "metrics_of", "model_of", "name_of", "periods_of", "training_of"]

SPLITS = ("train", "validation", "test")
FLOW = {"qobs(mm/d)": "discharge"}  # what the CAMELS reader calls it


def name_of(given: Given) -> str:
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", str(given.take("experiment_name", "imported"))).strip("._-")
    return plain[:64] or "imported"


def data_of(given: Given, changed: dict[str, str]) -> dict[str, Any]:
    dataset = str(given.need("dataset")).lower()
    if dataset not in DATASETS:
        raise ConfigError(f"{given.where}: there is no reader for the dataset {dataset!r} here. "
                          f"Export it in the layout of one of {', '.join(DATASETS)}.")  # fmt: skip
    products = given.names("forcings")
    if dataset == "camels_us" and len(products) > 1:
        raise ConfigError(
            f"{given.where}: only one of the forcings {listed(products)} can be used at a time. "
            "Leave the others out."
        )
    dynamic, mass = given.names("dynamic_inputs"), given.names("mass_inputs")
    columns = {
        "mass": mass or rain(dynamic, given),
        "aux": dynamic,
        "target": given.names("target_variables", "target_variable"),
    }
    if dataset == "camels_us":
        columns = {role: [camels(name) for name in names] for role, names in columns.items()}
    if not mass:
        changed["data.mass"] = "names the precipitation, which the LSTM scales as any other input"
    columns["aux"] = [name for name in columns["aux"] if name not in columns["mass"]]
    static = given.names("static_attributes", "camels_attributes", "static_inputs")
    reader = f"camels_us/{products[0]}" if dataset == "camels_us" and products else DATASETS[dataset]
    path = located(str(given.need("data_dir")), given.where)
    files = {split: given.take(f"{split}_basin_file") for split in SPLITS}
    return {
        "path": str(path),
        "reader": reader,
        "sites": basins(files, given.where),
        **columns,
        "static": static,
    }


def camels(name: str) -> str:
    """`PRCP(mm/day)_maurer` is `prcp` in our reader, whatever the product spells.

    >>> camels("PRCP(mm/day)"), camels("tmax(C)_maurer_extended"), camels("QObs(mm/d)")
    ('prcp', 'tmax', 'discharge')
    """
    return FLOW.get(name.lower(), name.partition("(")[0].lower())


def rain(dynamic: list[str], given: Given) -> list[str]:
    """The precipitation among the inputs of a model that does not name its mass."""
    found = [name for name in dynamic if camels(name) in MASS_NAMES]
    if not found:
        raise ConfigError(
            f"{given.where} names no mass_inputs and none of its inputs looks like precipitation: "
            f"{listed(dynamic)}. Add mass_inputs."
        )
    return found[:1]


def periods_of(given: Given) -> dict[str, list[str]]:
    periods = {}
    for split in SPLITS:
        ends = [given.take(f"{split}_{end}_date") for end in ("start", "end")]
        if any(isinstance(end, list) and len(end) > 1 for end in ends):
            raise ConfigError(
                f"{given.where}: {split} has several periods, and only one can be given here. Choose one."
            )
        dates = [
            day(end[0] if isinstance(end, list) else end, given.where) for end in ends if end is not None
        ]
        if len(dates) == 2:
            periods[split] = dates
    return periods


def model_of(given: Given, changed: dict[str, str]) -> dict[str, Any]:
    name = str(given.need("model")).lower()
    if name not in MODELS:
        raise ConfigError(
            f"{given.where}: there is no model {name!r} here. Choose one of {', '.join(MODELS)}."
        )
    size, bias = given.need("hidden_size"), given.take("initial_forget_bias")
    if MODELS[name] == "lstm":
        head, activation = given.take("head", "regression"), given.take("output_activation", "linear")
        if str(head).lower() != "regression" or str(activation).lower() != "linear":
            raise ConfigError(f"{given.where}: the LSTM here predicts by a linear regression, not by head "
                              f"{head!r} with activation {activation!r}. Leave both out.")  # fmt: skip
        start = {"hidden_size": size, "forget_bias": float(bias or 0.0)}
        return {"name": "lstm", **start, "dropout": given.take("output_dropout", 0.0)}
    changed["model.state_norm"] = (
        "sample: the gates see their own sample's state; `batch` mixes samples as there"
    )
    changed["model.redistribution_norm"] = "relu, guarded: a row without a positive entry keeps its mass"
    return {
        "name": "mclstm", "hidden_size": size, "redistribution": "dynamic", "redistribution_norm": "relu",
        "input_norm": "sigmoid", "gates_see": ["aux", "state", "mass"], "stay": None,
        "output_bias": float(bias or 0.0),
    }  # fmt: skip


def training_of(given: Given, changed: dict[str, str]) -> dict[str, Any]:
    length, last = given.need("seq_length"), given.take("predict_last_n", 1)
    if not isinstance(length, int) or not isinstance(last, int):
        raise ConfigError(f"{given.where}: seq_length or predict_last_n is no whole number. Correct it.")
    loss, optimiser = str(given.take("loss", "mse")), str(given.take("optimizer", "adam"))
    if loss.lower() not in LOSSES or optimiser.lower() != "adam":
        raise ConfigError(f"{given.where}: loss {loss!r} with optimizer {optimiser!r} are not known here. "
                          "Choose MSE or NSE, and Adam.")  # fmt: skip
    rate, schedule = rates(given.take("learning_rate", 0.001), given.where)
    training: dict[str, Any] = {
        "scheme": "last" if last == 1 else "sequence", "length": length, "stride": 1,
        "batch_size": given.need("batch_size"), "epochs": given.need("epochs"), "learning_rate": rate,
        "schedule": schedule, "schedule_by": "epoch", "clip": given.take("clip_gradient_norm"),
        "loss": LOSSES[loss.lower()], "seed": given.take("seed", 0),
    }  # fmt: skip
    if last > 1:
        training["warmup"] = length - last
    if given.take("validate_every") is not None:
        training["validate_every"] = given.take("validate_every")
    if given.take("early_stopping", False):
        training["early_stopping"] = given.need("patience_early_stopping")
        changed["training.early_stopping"] = "counts validations by median NSE, not by loss"
    if schedule:
        changed["training.schedule"] = "counts epochs from 0: epoch 10 there is 9 here"
    changed["checkpoints"] = "the epoch with the best validation is used, where there is a validation period"
    return training


def metrics_of(given: Given) -> tuple[list[str], dict[str, str]]:
    """Our names of the metrics, and those that we do not have."""
    wanted = given.take("metrics", [])
    flat = [wanted] if isinstance(wanted, str) else wanted if isinstance(wanted, list) else []
    ours = {name.lower(): value for name, value in METRICS.items()}
    unknown = [str(name) for name in flat if str(name).lower() not in {**ours, "all": ""}]
    lost = {"metrics": f"{', '.join(unknown)} cannot be computed here"} if unknown else {}
    return list(dict.fromkeys(ours[str(name).lower()] for name in flat if str(name).lower() in ours)), lost


def floor_of(given: Given) -> bool:
    """Whether flows below zero count as zero: there for the targets that a list names, else for none."""
    return bool(given.take("clip_targets_to_zero"))
