"""The card of a packed model, written from its model.json alone."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from mclstm.data.sequences import Rhythm
from mclstm.report.markdown import markdown, safe

__all__ = ["card"]

CARD = """# {name}

{members}: {model} with {cells} cells. It predicts {targets} in steps of {step}, as the mean of its members.
The weights are safetensors files, one per member. Everything else is in `model.json`.

## What it needs

{inputs}

Mass is not scaled. Auxiliaries and attributes are standardised with the moments in `model.json`. The lowest
and highest values are those of the data for training and testing. Predicted columns may be absent.{computed}

## How to predict

    mclstm predict FOLDER --data DATA --out predictions.nc

FOLDER is the folder of this card, or the one above it: then all packed models in it predict together, with
the weights of its `weights.json` if there is one. DATA is a CSV, netCDF or Parquet file, a folder of CSV
files, or a folder in the layout of CAMELS-US, Caravan or NeuralHydrology. If your names or units differ,
state them in a YAML file and pass it with `--columns`:

    columns: {{{example}: my_column}}  # the model's name: your name
    units: {{my_column: {unit}}}  # of your columns, where they differ from the table

Attributes may come from a CSV with one row per site (`--attributes`). The result holds `simulated`, the
lowest and the highest member, and the mass ledger. A gap in an input is refused; `missing_mass` and
`missing_aux` in the same YAML file fill it.

## Training

{sites} sites, {steps} steps from {first} to {last} (reader {reader}); the first file is `{source}`.
Periods: {periods}. Loss {loss}, {windows}.
A member has its best weights by validation score, or the last ones where there was no validation. Made with
{software}.

Digest of the data (SHA-256 over sites, dates and values): `{sha256}`.

## Scores

{scores}

Test period {test}, {test_sites} sites. Each cell is the median over {by} with the quartiles in brackets. The
column of a member shows the mean over members.

## Conservation certificate

{certificate}
{notes}
## Limits of use

{start}
- The scores above do not hold outside the ranges above, or for inputs from other sources (other weather
  products, other definitions of attributes).
- It was trained and tested at the same sites in different years. Expect lower scores at other sites.
{limit}"""

CERTIFICATE = """Inflow is stored or flows out: inflow + stored before = outflow + stored after. The table
shows the residual of the worst site over the whole test period in float32, divided by inflow + stored before:

{table}

The mean of members that conserve mass conserves mass: the residual of a prediction is the mean residual."""
NO_CERTIFICATE = "None: this model does not conserve mass. Its predictions need not be mass that entered it."
START = """\
- The stores begin in the model's initial state, usually empty. Do not use the first {warmup} steps of a
  prediction, unless it continues from a saved state (`--state-in`)."""
SEQUENCES = """\
- The stores begin in the model's initial state, usually empty, in each {rhythm}. Steps outside of
  whole sequences are not predicted."""
LIMIT = "- It cannot predict more mass than enters it: where the inputs miss mass, so does the prediction.\n"

ROLES = {"mass": "mass, conserved", "aux": "auxiliary", "static": "attribute", "target": "predicted"}
STEPS = {"D": "a day", "h": "an hour"}  # other steps keep the name that pandas gives them
KINDS = {"single": "a member", "ensemble": "the ensemble"}
NAMES = {"nse": "NSE", "kge": "KGE", "beta-nse": "β-NSE", "alpha-nse": "α-NSE", "flv": "FLV", "fhv": "FHV"}


def card(about: Mapping[str, Any]) -> str:
    """The card in Markdown: inputs, how to predict, training, scores, conservation, limits.

    about: the content of model.json
    """
    config, data, test = about["config"], about["data"], about["test"]
    count, training, columns = len(about["members"]), config["training"], config["data"]
    conserving = about["conservation"]["conserving"]
    return CARD.format(
        name=safe(about["name"]),
        members="One member" if count == 1 else f"An ensemble of {count} members that differ in their seed",
        model=config["model"]["name"],
        cells=config["model"]["hidden_size"],
        targets=", ".join(f"{safe(name)} ({_unit(about, name)})" for name in columns["target"]),
        inputs=markdown(_inputs(about)),
        computed=_computed(columns),
        example=safe(columns["mass"][0]),
        unit=_unit(about, columns["mass"][0]),
        step=STEPS.get(data["step"], data["step"]),
        **{key: data[key] for key in ("sites", "steps", "sha256")},
        **{key: str(data[key]).removesuffix(" 00:00:00") for key in ("first", "last")},
        **{key: safe(data[key]) for key in ("reader", "source")},
        periods="; ".join(f"{name} {' to '.join(span)}" for name, span in config["periods"].items() if span),
        loss=training["loss"],
        windows=_windows(config),
        software=", ".join(f"{name} {about['software'].get(name)}" for name in ("mclstm", "torch")),
        scores=markdown(_scores(test)),
        test=" to ".join(test["period"]),
        test_sites=test["sites"],
        by="sites and targets" if len(columns["target"]) > 1 else "sites",
        certificate=CERTIFICATE.format(table=markdown(_residuals(about))) if conserving else NO_CERTIFICATE,
        notes="".join(f"\n## {safe(title)}\n\n{text}\n" for title, text in about.get("notes", {}).items()),
        start=_start(config),
        limit=LIMIT if conserving else "",
    )


def _windows(config: Mapping[str, Any]) -> str:
    """What the training saw at once."""
    if config.get("sequences") is not None:
        return f"whole sequences, each {Rhythm(**config['sequences'])}"
    return "scheme {scheme}, windows of {length} steps".format(**config["training"])


def _start(config: Mapping[str, Any]) -> str:
    """How a prediction begins, and which of its steps not to use."""
    if config.get("sequences") is not None:
        return SEQUENCES.format(rhythm=Rhythm(**config["sequences"]))
    training = config["training"]
    warmup = training["warmup"] if training["scheme"] == "sequence" else training["length"] - 1
    return START.format(warmup=warmup)


def _computed(columns: Mapping[str, Any]) -> str:
    """Sentences on the inputs that are computed from the others."""
    text = " The time of the year is computed from the dates." if columns["day_of_year"] else ""
    if any(columns.get(key) for key in ("time_of_day", "time_of_week", "weekend")):
        text += " The time of day and week is computed from the dates."
    if columns.get("antecedent"):
        steps = ", ".join(map(str, columns["antecedent"]))
        text += f" Means of mass and auxiliaries over {steps} steps are computed: begin that much earlier."
    if columns.get("vapour_pressure"):
        vapour = columns["vapour_pressure"]
        source = safe(vapour.get("dew_point") or vapour["tmin"])
        text += f" Vapour pressure ({safe(vapour['column'])}) is computed from {source}."
    if columns.get("pet") is None:
        return text
    latitude = columns["pet"]["latitude"]
    place = f"the attribute {safe(latitude)}" if isinstance(latitude, str) else f"the latitude {latitude:g}"
    return f"{text} Potential evapotranspiration is computed from temperatures and {place}."


def _inputs(about: Mapping[str, Any]) -> pd.DataFrame:
    """Every column with its unit and range, in the order of the roles."""
    rows = []
    for role, word in ROLES.items():
        for name in about["config"]["data"][role]:
            low, high = (about["data"]["variables"][name][key] for key in ("min", "max"))
            rows.append((name, _unit(about, name), word, low, high))
    return pd.DataFrame(rows, columns=["column", "unit", "is", "lowest", "highest"])


def _unit(about: Mapping[str, Any], name: str) -> str:
    return safe(about["data"]["variables"][name]["units"]) or "not stated"


def _scores(test: Mapping[str, Any]) -> pd.DataFrame:
    kinds = {kind: word for kind, word in KINDS.items() if kind in test}
    return pd.DataFrame(
        {"score": shown} | {word: _spread(test[kind].get(metric)) for kind, word in kinds.items()}
        for metric, shown in NAMES.items()
    )


def _spread(score: Mapping[str, float] | None) -> str:
    return "–" if score is None else "{median:.3f} ({low:.3f} to {high:.3f})".format(**score)


def _residuals(about: Mapping[str, Any]) -> pd.DataFrame:
    residuals = {seed: f"{value:.1e}" for seed, value in about["conservation"]["residual"].items()}
    return pd.DataFrame({"member": list(residuals), "largest relative residual": list(residuals.values())})
