"""A config of neuralhydrology becomes one of ours; every key without a counterpart is named.

`import_nh` translates, `as_yaml` writes the result with notes on what differs.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple, get_args

import yaml

from mclstm.config.load import check_config, unshared
from mclstm.config.neuralhydrology_keys import DATASETS, LOSSES, MODELS, UNNEEDED, WITHOUT, NHConfig
from mclstm.config.safe_yaml import read_yaml
from mclstm.config.training import MetricName
from mclstm.data.column_names import MASS_NAMES
from mclstm.data.columns import listed
from mclstm.errors import ConfigError

__all__ = ["Imported", "as_yaml", "camels", "import_nh"]

SPLITS = ("train", "validation", "test")
FLOW = {"qobs(mm/d)": "discharge"}  # what the CAMELS reader calls it


class Imported(NamedTuple):
    """Our config as nested dictionaries, and notes on the keys of the other: a reason by key."""

    config: dict[str, Any]
    lost: dict[str, str]  # changes the run and has no counterpart
    unneeded: dict[str, str]
    changed: dict[str, str]  # has a counterpart that differs on purpose


def import_nh(path: Path) -> Imported:
    """Read a config.yml, or the folder of a run that holds one, and translate it.

    Raises ConfigError where no valid config of ours can say what the file says.
    """
    file = path / "config.yml" if path.is_dir() else path
    values = read_yaml(file).values
    if not isinstance(values, dict):
        raise ConfigError(f"{file} holds no keys. Give a config of neuralhydrology.")
    nh = NHConfig(unshared(values), file)
    differences: dict[str, str] = {}
    evaluation, unknown = evaluation_of(nh)
    config = {
        "name": name_of(nh),
        "data": data_of(nh, differences),
        "periods": periods_of(nh),
        "model": model_of(nh, differences),
        "training": training_of(nh, differences),
        "evaluation": evaluation,
    }
    rest = [key for key in nh.values if key not in nh.used]
    lost = {key: WITHOUT.get(key, "has no counterpart here") for key in rest if key not in UNNEEDED} | unknown
    try:
        check_config(config)
    except ConfigError as error:
        first = str(error).splitlines()[0].removeprefix("config, ")
        raise ConfigError(f"{file} cannot become a config of mclstm: {first}") from None
    return Imported(config, lost, {key: UNNEEDED[key] for key in rest if key in UNNEEDED}, differences)


def as_yaml(imported: Imported, source: str) -> str:
    """The config as YAML, with all notes as comments above it."""
    notes = {
        "Has no counterpart, so that this run will differ:": imported.lost,
        "Differs on purpose:": imported.changed,
        "Is not needed here:": imported.unneeded,
    }
    lines = [f"# From {source}, by mclstm import-nh."]
    for title, reasons in notes.items():
        if reasons:
            lines += [f"# {title}", *(f"#   {key}: {reason}" for key, reason in reasons.items())]
    options: Any = {"sort_keys": False, "allow_unicode": True, "width": 100, "default_flow_style": None}
    return "\n".join([*lines, yaml.safe_dump(imported.config, **options)])


def name_of(nh: NHConfig) -> str:
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", str(nh.take("experiment_name", "imported"))).strip("._-")
    return plain[:64] or "imported"


def data_of(nh: NHConfig, differences: dict[str, str]) -> dict[str, Any]:
    dataset = str(nh.need("dataset")).lower()
    if dataset not in DATASETS:
        known = ", ".join(DATASETS)
        raise ConfigError(f"{nh.file}: no reader for the dataset {dataset!r}. Export it as one of {known}.")
    products = nh.names("forcings")
    if dataset == "camels_us" and len(products) > 1:
        raise ConfigError(f"{nh.file}: only one of the forcings {listed(products)} can be used. Choose one.")
    dynamic, mass = nh.names("dynamic_inputs"), nh.names("mass_inputs")
    columns = {
        "mass": mass or rain(dynamic, nh),
        "aux": dynamic,
        "target": nh.names("target_variables", "target_variable"),
    }
    if dataset == "camels_us":
        columns = {role: [camels(name) for name in names] for role, names in columns.items()}
    if not mass:
        differences["data.mass"] = "names the precipitation, which the LSTM scales as any other input"
    columns["aux"] = [name for name in columns["aux"] if name not in columns["mass"]]
    static = nh.names("static_attributes", "camels_attributes", "static_inputs")
    reader = f"camels_us/{products[0]}" if dataset == "camels_us" and products else DATASETS[dataset]
    sites = nh.basins(*(f"{split}_basin_file" for split in SPLITS))
    return {"path": str(nh.path("data_dir")), "reader": reader, "sites": sites, **columns, "static": static}


def camels(name: str) -> str:
    """The name in our reader: `PRCP(mm/day)_maurer` is `prcp`, in whatever spelling of the products.

    >>> camels("PRCP(mm/day)"), camels("tmax(C)_maurer_extended"), camels("QObs(mm/d)")
    ('prcp', 'tmax', 'discharge')
    """
    return FLOW.get(name.lower(), name.partition("(")[0].lower())


def rain(dynamic: list[str], nh: NHConfig) -> list[str]:
    """The precipitation among the inputs of a model that does not name its mass."""
    rains = [name for name in dynamic if camels(name) in MASS_NAMES]
    if not rains:
        inputs = listed(dynamic)
        raise ConfigError(f"{nh.file}: no input looks like precipitation among {inputs}. Add mass_inputs.")
    return rains[:1]


def periods_of(nh: NHConfig) -> dict[str, list[str]]:
    periods = {}
    for split in SPLITS:
        ends = [nh.take(f"{split}_{end}_date") for end in ("start", "end")]
        if any(isinstance(end, list) and len(end) > 1 for end in ends):
            raise ConfigError(f"{nh.file}: {split} has several periods, but can have one here. Choose one.")
        dates = [nh.iso_date(end[0] if isinstance(end, list) else end) for end in ends if end is not None]
        if len(dates) == 1:
            raise ConfigError(f"{nh.file}: {split} has a start or an end, but not both. Add the other one.")
        if dates:
            periods[split] = dates
    return periods


def model_of(nh: NHConfig, differences: dict[str, str]) -> dict[str, Any]:
    name = str(nh.need("model")).lower()
    if name not in MODELS:
        raise ConfigError(f"{nh.file}: there is no model {name!r} here. Choose one of {', '.join(MODELS)}.")
    size, bias = nh.need("hidden_size"), nh.take("initial_forget_bias")
    if MODELS[name] == "lstm":
        head, activation = nh.take("head", "regression"), nh.take("output_activation", "linear")
        if str(head).lower() != "regression" or str(activation).lower() != "linear":
            both = f"head {head!r} with activation {activation!r}"
            raise ConfigError(f"{nh.file}: the LSTM here has a linear head, not {both}. Leave both out.")
        start = {"hidden_size": size, "forget_bias": float(bias or 0.0)}
        return {"name": "lstm", **start, "dropout": nh.take("output_dropout", 0.0)}
    differences["model.state_norm"] = "sample: gates see the state of their own sample; batch mixes samples"
    differences["model.redistribution_norm"] = "relu, guarded: a row without a positive entry keeps its mass"
    return {
        "name": "mclstm", "hidden_size": size, "redistribution": "dynamic", "redistribution_norm": "relu",
        "input_norm": "sigmoid", "gates_see": ["aux", "state", "mass"], "stay": None,
        "output_bias": float(bias or 0.0),
    }  # fmt: skip


def training_of(nh: NHConfig, differences: dict[str, str]) -> dict[str, Any]:
    length, last = nh.need("seq_length"), nh.take("predict_last_n", 1)
    if not isinstance(length, int) or not isinstance(last, int):
        raise ConfigError(f"{nh.file}: seq_length or predict_last_n is no whole number. Correct it.")
    loss, optimiser = str(nh.take("loss", "mse")), str(nh.take("optimizer", "adam"))
    if loss.lower() not in LOSSES or optimiser.lower() != "adam":
        both = f"loss {loss!r} with optimizer {optimiser!r}"
        raise ConfigError(f"{nh.file}: {both} is not known here. Choose MSE or NSE, and Adam.")
    rate, schedule = learning_rates(nh)
    training: dict[str, Any] = {
        "scheme": "last" if last == 1 else "sequence", "length": length, "stride": 1,
        "batch_size": nh.need("batch_size"), "epochs": nh.need("epochs"), "learning_rate": rate,
        "schedule": schedule, "schedule_by": "epoch", "clip": nh.take("clip_gradient_norm"),
        "loss": LOSSES[loss.lower()], "seed": nh.take("seed", 0),
    }  # fmt: skip
    if last > 1:
        training["warmup"] = length - last
    if nh.take("validate_every") is not None:
        training["validate_every"] = nh.take("validate_every")
    if nh.take("early_stopping", False):
        training["early_stopping"] = nh.need("patience_early_stopping")
        differences["training.early_stopping"] = "counts validations by median NSE, not by loss"
    if schedule:
        differences["training.schedule"] = "counts epochs from 0: epoch 10 there is 9 here"
    differences["checkpoints"] = "the epoch with the best validation is used, if there is a validation period"
    return training


def evaluation_of(nh: NHConfig) -> tuple[dict[str, Any], dict[str, str]]:
    """The section, and a note on metrics that have no counterpart."""
    names = nh.take("metrics", [])
    names = [names] if isinstance(names, str) else names
    flat = [str(name) for name in names] if isinstance(names, list) else []
    ours = [name.lower() for name in flat if name.lower() in get_args(MetricName)]
    unknown = [name for name in flat if name.lower() not in (*ours, "all")]
    lost = {"metrics": f"{', '.join(unknown)} cannot be computed here"} if unknown else {}
    metrics = {"metrics": list(dict.fromkeys(ours))} if ours else {}
    # There, flows below zero count as zero for the targets that a list names, else for none.
    return {**metrics, "nonnegative": bool(nh.take("clip_targets_to_zero"))}, lost


def learning_rates(nh: NHConfig) -> tuple[Any, dict[int, Any]]:
    """The first learning rate, and the later ones by epoch. Epochs count from 1 there and from 0 here.

    >>> learning_rates(NHConfig({"learning_rate": {"0": 0.01, "20": 0.005}}, Path("config.yml")))
    (0.01, {19: 0.005})
    """
    value = nh.take("learning_rate", 0.001)
    if not isinstance(value, dict):
        return value, {}
    steps = {int(epoch): rate for epoch, rate in value.items() if str(epoch).isdigit()}
    if 0 not in steps or len(steps) != len(value):
        raise ConfigError(f"{nh.file}, learning_rate: needs a number, or numbers by epoch from 0 on.")
    return steps[0], {epoch - 1: rate for epoch, rate in sorted(steps.items()) if epoch > 0}
