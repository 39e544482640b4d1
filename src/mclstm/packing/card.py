"""The card of a packed model, written from its model.json alone."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from mclstm.report.tables import markdown, safe

__all__ = ["card"]

ROLES = {
    "mass": "mass, conserved",
    "aux": "auxiliary",
    "static": "attribute, one a site",
    "target": "predicted",
}
NAMES = {"nse": "NSE", "kge": "KGE", "beta-nse": "β-NSE", "alpha-nse": "α-NSE", "flv": "FLV", "fhv": "FHV"}


def card(about: Mapping[str, Any]) -> str:
    """Markdown: what it is, needs, predicts, was trained on, how good it is, where it must not be used."""
    parts = [_what(about), _needs(about), _use(about), _training(about), _scores(about), _certificate(about)]
    return "\n\n".join([*parts, _limits(about)]) + "\n"


def _what(about: Mapping[str, Any]) -> str:
    model, members = about["config"]["model"], len(about["members"])
    count = "One member" if members == 1 else f"An ensemble of {members} members that differ in their seed"
    targets = _listed(about, "target")
    return (
        f"# {safe(about['name'])}\n\n{count}: {model['name']} with {model['hidden_size']} cells, which predicts "
        f"{targets} in steps of {about['data']['step'] or 'the data'}. "
        "The prediction is the mean of the members. Weights are safetensors, everything else is in `model.json`."
    )


def _needs(about: Mapping[str, Any]) -> str:
    rows = [
        {
            "column": name,
            "unit": variable["units"] or "not stated",
            "is": ROLES[variable["role"]],
            "lowest": variable["min"],
            "highest": variable["max"],
        }
        for name, variable in about["data"]["variables"].items()
        if name in _columns(about)
    ]
    season = "\n\nThe time of the year is computed from the dates."
    return (
        f"## What it needs\n\n{markdown(pd.DataFrame(rows))}\n\n"
        "Mass enters as it is; auxiliaries and attributes are standardised with the moments in `model.json`. "
        "Lowest and highest are those of all its data, the test period included. "
        f"What is predicted need not be given.{season if about['config']['data']['day_of_year'] else ''}"
    )


def _use(about: Mapping[str, Any]) -> str:
    return (
        "## How to predict\n\n    mclstm predict FOLDER --data DATA --out predictions.nc\n\n"
        "FOLDER is the one this card lies in; DATA is a CSV, netCDF or Parquet file, or a folder in the layout "
        "of CAMELS-US, Caravan or NeuralHydrology. Columns with other names and units are declared in a file, "
        "`--columns FILE` (columns: the model's name, then yours; units: of your columns), attributes "
        "in `--attributes FILE`. The result holds `simulated`, the lowest and highest member, and the ledger."
    )


def _training(about: Mapping[str, Any]) -> str:
    data, periods, training = about["data"], about["config"]["periods"], about["config"]["training"]
    spans = [f"{name} {' to '.join(period)}" for name, period in periods.items() if period]
    software = ", ".join(
        f"{name} {version}" for name, version in about["software"].items() if name in ("mclstm", "torch")
    )
    return (
        f"## Training\n\n{data['sites']} sites, {data['steps']} steps from {data['first']} to {data['last']}, "
        f"read as {safe(data['reader'])}, the first file `{safe(data['source'])}`. "
        f"Periods: {'; '.join(spans)}. "
        f"Loss {training['loss']}, scheme {training['scheme']}, windows of {training['length']} steps; "
        f"the weights of each member are the best in the validation period, if there is one. Made with {software}.\n\n"
        f"Digest of the data (SHA-256 over sites, dates and values): `{data['sha256']}`."
    )


def _scores(about: Mapping[str, Any]) -> str:
    test = about["test"]
    kinds = {"single": "a member", "ensemble": "the ensemble"}
    rows = [
        {"score": NAMES[metric]} | {kinds[kind]: _spread(test[kind].get(metric)) for kind in kinds if kind in test}
        for metric in NAMES
    ]
    return (
        f"## Scores\n\n{markdown(pd.DataFrame(rows))}\n\n"
        f"Test period {' to '.join(test['period'])}, {test['sites']} sites: median over sites, quartiles "
        "in brackets; of a member, the mean over members of each."
    )


def _certificate(about: Mapping[str, Any]) -> str:
    found = about["conservation"]
    if not found["conserving"]:
        return (
            "## Conservation\n\nThis model does not conserve mass: what it predicts need not be mass it was given."
        )
    rows = [
        {"member": seed, "largest relative residual": f"{value:.1e}"}
        for seed, value in found["residual"].items()
    ]
    return (
        "## Conservation certificate\n\n"
        "What flows in is stored or flows out: inflow + stored before = outflow + stored after. The residual, "
        "relative to inflow and what was stored before, of the worst site over the whole test period, float32:\n\n"
        f"{markdown(pd.DataFrame(rows))}\n\n"
        "The mean of members that conserve conserves, too: the residual in a prediction is that of the mean."
    )


def _limits(about: Mapping[str, Any]) -> str:
    training = about["config"]["training"]
    warmup = training["warmup"] if training["scheme"] == "sequence" else training["length"] - 1
    conserving = (
        "- It cannot predict more mass than it is given: where inputs miss mass, so does the prediction.\n"
        if about["conservation"]["conserving"]
        else ""
    )
    return (
        "## Limits of use\n\n"
        f"- The stores begin as the model's start says, usually empty: do not use the first {warmup} steps of a "
        "prediction, unless it goes on from a saved state (`--state-in`).\n"
        "- Beyond the ranges above, and with inputs of another origin than those of the training (other weather "
        "products, attributes defined otherwise), the scores above say nothing.\n"
        f"{conserving}"
        "- Trained and scored on the same sites in different years: expect less of it at sites it never saw."
    )


def _columns(about: Mapping[str, Any]) -> list[str]:
    return [name for role in ROLES for name in about["config"]["data"][role]]


def _listed(about: Mapping[str, Any], role: str) -> str:
    variables = about["data"]["variables"]
    names = about["config"]["data"][role]
    return ", ".join(f"{safe(name)} ({safe(variables[name]['units'] or 'unit not stated')})" for name in names)


def _spread(found: Mapping[str, float] | None) -> str:
    if found is None:
        return "–"
    return f"{found['median']:.3f} ({found['low']:.3f} to {found['high']:.3f})"
