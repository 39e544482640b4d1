"""The config of every model of the hydrology experiment, by protocol, scheme and profile."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mclstm.data.readers.camels_us import root_of
from mclstm.errors import ConfigError
from mclstm_paper.hydrology.basins import THIRTY
from mclstm_paper.hydrology.switches import (
    ATTRIBUTES_26,
    LAST_DAY_SCORED,
    OUTPUT_GATE_STARTS_OPEN,
    SCHEDULE_EPOCH_EARLY,
    STATE_NORMALISED_OVER_BATCH,
)
from mclstm_paper.options import Options

__all__ = [
    "ATTRIBUTES",
    "EXTRA",
    "MODELS",
    "PERIODS",
    "PREFIX",
    "Scale",
    "basins_of",
    "config_of",
    "data_of",
    "require_stated",
    "scheme_of",
    "split_of",
    "training_of",
]

Scheme = Literal["sequence", "last"]
PREFIX = "hydrology-"  # of the names of the runs; tables leave it out

ATTRIBUTES = (
    "elev_mean", "slope_mean", "area_gages2", "frac_forest", "lai_max", "lai_diff", "gvf_max", "gvf_diff",
    "soil_depth_pelletier", "soil_depth_statsgo", "soil_porosity", "soil_conductivity", "max_water_content",
    "sand_frac", "silt_frac", "clay_frac", "carbonate_rocks_frac", "geol_permeability", "p_mean", "pet_mean",
    "p_seasonality", "frac_snow", "aridity", "high_prec_freq", "high_prec_dur", "low_prec_freq",
    "low_prec_dur",
)  # fmt: skip
PERIODS = {
    "train": ["1999-10-01", "2008-09-30"],
    "validation": ["1980-10-01", "1989-09-30"],
    "test": ["1989-10-01", "1999-09-30"],
}
# The final design of the paper's appendix, and its LSTM. The paper states the cells and the forget bias of
# the LSTM but no dropout, so there is none; see `lstm-dropout` below.
MODELS: dict[str, dict[str, Any]] = {
    "mclstm": {
        "name": "mclstm",
        "redistribution": "dynamic",
        "redistribution_norm": "relu",
        "input_norm": "sigmoid",
        "gates_see": ["aux", "state", "mass"],
        "stay": None,
        "output_bias": -3.0,
    },
    "lstm": {"name": "lstm", "forget_bias": 3.0},
}
# Models beyond the paper; `hybrid` is the library's own, with its defaults.
KINDS: dict[str, dict[str, Any]] = MODELS | {"hybrid": {"name": "hybrid"}}
EPOCHS, DROPS = 30, (20, 25)  # as in the paper; training by updates drops the rate at the same fractions
RATES = (0.01, 0.005, 0.001)
FORCING = "maurer_extended"  # as in the paper


class Scale(NamedTuple):
    """The size of a profile."""

    cells: dict[str, int]
    batch_size: int
    updates: int  # of the scheme `sequence`
    members: int
    validate_every: int  # epochs of the scheme `sequence`
    checkpoint_every: int


HYBRID = Scale({"hybrid": 16}, 64, 5000, 10, 6, 100)
RIVAL = HYBRID._replace(cells={"lstm": 128})
SCALES = {
    "paper": Scale({"mclstm": 64, "lstm": 128}, 256, 1500, 10, 12, 20),
    "quick": Scale({"mclstm": 16, "lstm": 32, "hybrid": 16}, 64, 200, 2, 1000, 100),
}


class Extra(NamedTuple):
    """A further model: one of MODELS, with some keys of its sections changed."""

    kind: str
    training: dict[str, Any]
    paper: Scale = SCALES["paper"]  # the size of the profile `paper`
    model: Mapping[str, Any] = {}
    data: Mapping[str, Any] = {}


# With this share the average covers about the last tenth of the updates.
STEADY: dict[str, Any] = {"average": 0.998, "schedule": {}}
# The same for small batches, which are noisier.
SLOW: dict[str, Any] = {"average": 0.999, "learning_rate": 0.005, "schedule": {}}


def falling(first: float, last: float, begin: int, end: int, steps: int = 20) -> dict[int, float]:
    """A schedule that falls evenly from `first`, until the update `begin`, to `last` at the update `end`.

    >>> falling(0.005, 0.001, 100, 200, steps=2)
    {150: 0.003, 200: 0.001}
    """
    parts = range(1, steps + 1)
    return {begin + (end - begin) * n // steps: round(first + (last - first) * n / steps, 9) for n in parts}


# The rate falls over the second half; peaks count more in the last fifth.
STEERED: dict[str, Any] = {
    "average": 0.995, "learning_rate": 0.005, "schedule": falling(0.005, 0.001, 2500, 4900),
    "peak": {"quantile": 0.97, "weight": 0.5, "updates": 1000},
}  # fmt: skip
EXTRA: dict[str, Extra] = {
    "mclstm-full-gradient": Extra("mclstm", {"warmup_gradient": True}),
    "lstm-full-gradient": Extra("lstm", {"warmup_gradient": True}),
    # As in the studies whose expertise the paper "largely relied on" (Kratzert et al. 2019).
    "lstm-dropout": Extra("lstm", {}, model={"dropout": 0.4}),
    # Potential evapotranspiration among the auxiliaries, from temperatures and latitude.
    "mclstm-pet": Extra("mclstm", {}, data={"pet": {}}),
    # Half the cells, more updates at one rate, averaged weights: docs/hydrology.md, "Going further".
    "mclstm-tuned": Extra("mclstm", STEADY, Scale({"mclstm": 32}, 256, 2000, 10, 4, 20)),
    "lstm-tuned": Extra("lstm", STEADY, Scale({"lstm": 128}, 256, 1500, 10, 4, 20)),
    # A quarter of the batch, three times the updates, half the rate.
    "mclstm-small-batches": Extra("mclstm", SLOW, Scale({"mclstm": 32}, 64, 6000, 10, 4, 100)),
    # Gates also see means of the past days. 4,000 updates: the validation score fell in a longer trial.
    "mclstm-antecedent": Extra(
        "mclstm", SLOW, Scale({"mclstm": 32}, 64, 4000, 10, 4, 100), data={"antecedent": [7, 30, 90]}
    ),
    # An LSTM that reads everything steers the gates of 16 cells.
    "hybrid": Extra("hybrid", STEERED, HYBRID),
    # The same without radiation and vapour pressure, which few archives have.
    "hybrid-temperature": Extra("hybrid", STEERED, HYBRID, data={"aux": ["tmax", "tmin"]}),
    # Rivals trained exactly as the hybrid: an LSTM, and one that is told not to create water.
    "lstm-steered": Extra("lstm", STEERED, RIVAL, model={"dropout": 0.4}),
    "lstm-balance": Extra("lstm", STEERED, RIVAL, model={"dropout": 0.4, "balance_penalty": 10.0}),
}


def scheme_of(options: Options) -> Scheme:
    """How windows are scored: the option, else what the protocol says."""
    if options.scheme is not None:
        return options.scheme
    return "last" if LAST_DAY_SCORED.on(options.protocol) else "sequence"


def split_of(options: Options) -> str:
    """The period to score: the test years, unless they are to be left alone."""
    return "validation" if options.no_test else "test"


def require_stated(experiment: str, options: Options) -> None:
    """Refuse the published protocol for an experiment without published code."""
    if options.protocol != "stated":
        raise ConfigError(
            f"{experiment} has no published code to follow. Leave out --protocol {options.protocol}."
        )


def config_of(name: str, options: Options, member: int) -> dict[str, Any]:
    """The config of a member as nested dictionaries; its seed is its number."""
    extra, protocol = EXTRA.get(name, Extra(name, {})), options.protocol
    kind, scale = extra.kind, extra.paper if options.profile == "paper" else SCALES["quick"]
    model = KINDS[kind] | {"hidden_size": options.cells or scale.cells[kind]} | dict(extra.model)
    if kind == "mclstm" and STATE_NORMALISED_OVER_BATCH.on(protocol):
        model["state_norm"] = "batch"
    if kind == "mclstm" and OUTPUT_GATE_STARTS_OPEN.on(protocol):
        model["output_bias"] = 3.0
    left_out = {"p_seasonality"} if ATTRIBUTES_26.on(protocol) else set()
    static = [attribute for attribute in ATTRIBUTES if attribute not in left_out]
    return {
        "name": PREFIX + name,
        "data": data_of(options, basins_of(options), static) | dict(extra.data),
        "periods": PERIODS,
        "model": model,
        "training": training_of(options, scale) | extra.training | {"seed": member},
        "evaluation": {"restart": 1 if scheme_of(options) == "last" else None},
    }


def basins_of(options: Options) -> tuple[str, ...]:
    """The basins a user names, else thirty for a quick look; none stands for all in the data."""
    if options.basins is not None:
        return options.basins
    return THIRTY if options.profile == "quick" else ()


def data_of(options: Options, sites: Sequence[str], static: Sequence[str]) -> dict[str, Any]:
    """CAMELS-US: precipitation in mm/day is the mass; without sites, all basins are used."""
    if options.data is None:
        raise ConfigError(
            "The hydrology experiments need --data, the folder of CAMELS-US: docs/hydrology.md."
        )
    return {
        "path": str(options.data.resolve()),
        "reader": reader_of(options.data),
        "sites": list(sites),
        "mass": ["prcp"],
        "aux": ["srad", "tmax", "tmin", "vp"],
        "static": list(static),
        "target": ["discharge"],
    }


def reader_of(data: Path) -> str:
    """CAMELS-US; with the paper's forcings where the folder holds several products."""
    root = root_of(data)
    products = [] if root is None else [folder.name for folder in (root / "basin_mean_forcing").glob("*/")]
    return f"camels_us/{FORCING}" if len(products) > 1 and FORCING in products else "camels_us"


def training_of(options: Options, scale: Scale) -> dict[str, Any]:
    """Windows, batches, duration and learning rates."""
    shared = {
        "batch_size": scale.batch_size,
        "learning_rate": RATES[0],
        "clip": 1.0,
        "loss": "nse",
        "checkpoint_every": scale.checkpoint_every,
    }
    if scheme_of(options) == "last":
        # One validation, at the end: the weights are those of the last epoch, as the paper says.
        windows = {"scheme": "last", "length": 365, "validate_every": EPOCHS}
    else:
        # Without the gradient of the warm-up an update costs 56 %. Validation NSE of 30 basins, 3 seeds:
        # 0.736, 0.705, 0.739 without it, 0.724, 0.732, 0.737 with it (tried by hand, not recorded).
        windows = {"scheme": "sequence", "length": 545, "warmup": 365, "warmup_gradient": False}
        windows |= {"validate_every": scale.validate_every}
    return shared | windows | duration(options, scale)


def duration(options: Options, scale: Scale) -> dict[str, Any]:
    """When to stop and when the rate falls: by epochs as in the paper, or by the same shares of updates."""
    early = int(SCHEDULE_EPOCH_EARLY.on(options.protocol))
    epochs = [drop - early for drop in DROPS]
    if scheme_of(options) == "last" and options.profile == "paper" and options.updates is None:
        return {
            "epochs": EPOCHS,
            "schedule": dict(zip(epochs, RATES[1:], strict=True)),
            "schedule_by": "epoch",
        }
    updates = options.updates or scale.updates
    falls = [updates * drop // EPOCHS for drop in epochs]
    return {
        "updates": updates,
        "schedule": dict(zip(falls, RATES[1:], strict=True)),
        "schedule_by": "update",
    }
