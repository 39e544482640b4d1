"""The card of a packed model, written from its model.json alone."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from mclstm.report.tables import markdown, safe

__all__ = ["card"]

CARD = """# {name}

{members}: {model} with {cells} cells. It predicts {targets} in steps of {step}, as the mean of its members.
The weights are safetensors files, one a member; everything else is in `model.json`.

## What it needs

{inputs}

Mass enters as it is; auxiliaries and attributes are standardised with the moments in `model.json`. Lowest and
highest are those of all data it was trained and tested on. What is predicted need not be given.{season}

## How to predict

    mclstm predict FOLDER --data DATA --out predictions.nc

FOLDER is where this card lies; DATA is a CSV, netCDF or Parquet file, a folder of CSV files, or a folder in
the layout of CAMELS-US, Caravan or NeuralHydrology. Other names and units are declared in a YAML file for
`--columns`:

    columns: {{{example}: my_column}}  # the model's name: yours
    units: {{my_column: {unit}}}  # of your columns, where they differ from the table

Attributes may come from a CSV with one row a site (`--attributes`). The result holds `simulated`, the lowest
and highest member, and where the mass went.

## Training

{sites} sites, {steps} steps from {first} to {last} (reader {reader}); the first file is `{source}`.
Periods: {periods}. Loss {loss}, scheme {scheme}, windows of {length} steps; of every member the weights that
were best in the validation period, or else the last. Made with {software}.

Digest of the data (SHA-256 over sites, dates and values): `{sha256}`.

## Scores

{scores}

Test period {test}, {test_sites} sites: the median over sites, quartiles in brackets; of a member, the mean
over members of each.

## Conservation certificate

{certificate}

## Limits of use

- The stores begin as the model's start says, usually empty: do not use the first {warmup} steps of a
  prediction, unless it goes on from a saved state (`--state-in`).
- Beyond the ranges above, or with inputs of another origin (other weather products, attributes defined
  otherwise), the scores above say nothing.
- It was trained and scored at the same sites in different years: expect less of it at sites it never saw.
{conserving}"""

CERTIFICATE = """What flows in is stored or flows out: inflow + stored before = outflow + stored after. The
residual of the worst site over the whole test period, relative to inflow and what was stored before, as it is
in float32:

{table}

The mean of members that conserve conserves: the residual in a prediction is that of the mean."""
NONE = "None: this model does not conserve mass, what it predicts need not be mass it was given."
BOUND = (
    "- It cannot predict more mass than it is given: where its inputs miss mass, so does the prediction.\n"
)

ROLES = {
    "mass": "mass, conserved",
    "aux": "auxiliary",
    "static": "attribute of a site",
    "target": "predicted",
}
STEPS = {"D": "a day", "h": "an hour"}  # others as pandas calls them
KINDS = {"single": "a member", "ensemble": "the ensemble"}
NAMES = {"nse": "NSE", "kge": "KGE", "beta-nse": "β-NSE", "alpha-nse": "α-NSE", "flv": "FLV", "fhv": "FHV"}


def card(about: Mapping[str, Any]) -> str:
    """Markdown: what it is, needs and predicts, how it was trained, how good it is, what it is not for."""
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
        season=_computed(columns),
        example=safe(columns["mass"][0]),
        unit=_unit(about, columns["mass"][0]),
        step=STEPS.get(data["step"], data["step"]),
        **{key: data[key] for key in ("sites", "steps", "sha256")},
        **{key: str(data[key]).removesuffix(" 00:00:00") for key in ("first", "last")},
        **{key: safe(data[key]) for key in ("reader", "source")},
        periods="; ".join(f"{name} {' to '.join(span)}" for name, span in config["periods"].items() if span),
        **{key: training[key] for key in ("loss", "scheme", "length")},
        software=", ".join(f"{name} {about['software'].get(name)}" for name in ("mclstm", "torch")),
        scores=markdown(_scores(test)),
        test=" to ".join(test["period"]),
        test_sites=test["sites"],
        certificate=CERTIFICATE.format(table=markdown(_residuals(about))) if conserving else NONE,
        warmup=training["warmup"] if training["scheme"] == "sequence" else training["length"] - 1,
        conserving=BOUND if conserving else "",
    )


def _computed(columns: Mapping[str, Any]) -> str:
    """What need not be given, because it follows from the rest."""
    text = " The time of the year is computed from the dates." if columns["day_of_year"] else ""
    if columns.get("antecedent"):
        steps = ", ".join(map(str, columns["antecedent"]))
        text += f" Means of mass and auxiliaries over {steps} steps are computed: give it so much before."
    if columns.get("pet") is None:
        return text
    latitude = columns["pet"]["latitude"]
    place = f"the attribute {safe(latitude)}" if isinstance(latitude, str) else f"the latitude {latitude:g}"
    return f"{text} Potential evapotranspiration is computed from temperatures and {place}."


def _inputs(about: Mapping[str, Any]) -> pd.DataFrame:
    """Every column with its unit and range, in the order of the roles."""
    variables = about["data"]["variables"]
    return pd.DataFrame(
        {
            "column": name,
            "unit": _unit(about, name),
            "is": word,
            "lowest": variables[name]["min"],
            "highest": variables[name]["max"],
        }
        for role, word in ROLES.items()
        for name in about["config"]["data"][role]
    )


def _unit(about: Mapping[str, Any], name: str) -> str:
    return safe(about["data"]["variables"][name]["units"]) or "not stated"


def _scores(test: Mapping[str, Any]) -> pd.DataFrame:
    kinds = {kind: word for kind, word in KINDS.items() if kind in test}
    return pd.DataFrame(
        {"score": shown} | {word: _spread(test[kind].get(metric)) for kind, word in kinds.items()}
        for metric, shown in NAMES.items()
    )


def _spread(found: Mapping[str, float] | None) -> str:
    if found is None:
        return "–"
    return f"{found['median']:.3f} ({found['low']:.3f} to {found['high']:.3f})"


def _residuals(about: Mapping[str, Any]) -> pd.DataFrame:
    residuals = about["conservation"]["residual"].items()
    return pd.DataFrame(
        {"member": seed, "largest relative residual": f"{value:.1e}"} for seed, value in residuals
    )
