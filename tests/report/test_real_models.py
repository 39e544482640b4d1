"""What the models really give is what the figures and tables expect."""

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

from mclstm.data.read import from_frames
from mclstm.data.scaling import Moment
from mclstm.data.site_tables import Roles
from mclstm.data.windows import tensors
from mclstm.evaluation.score_tables import score_table
from mclstm.evaluation.simulate import simulate
from mclstm.models import MODELS
from mclstm.models.output import Moments, Sizes
from mclstm.report.comparison.balance_section import mass_balance, side_by_side
from mclstm.report.markdown import markdown
from mclstm.report.run_figures import FIGURES, draw_figures

MODEL_OPTIONS = {
    "mclstm": {"hidden_size": 2},
    "mclstm-scaled": {"hidden_size": 3, "input_scaling": True},
    "mclstm-mcfc": {"hidden_size": 3, "head": "mcfc"},
    "mclstm-linear": {"hidden_size": 3, "head": "linear"},
    "lstm": {"hidden_size": 3},
}


def predicted(name: str) -> xr.Dataset:
    rng = np.random.default_rng(0)
    dates = pd.date_range("2001-01-01", periods=60)
    columns = {name: rng.gamma(0.5, 4.0, 60) for name in ("rain", "warmth", "flow")}
    roles = Roles(mass=("rain",), aux=("warmth",), target=("flow",))
    units = {"rain": "mm/day", "flow": "mm/day"}
    series = from_frames({"A": pd.DataFrame(columns, index=dates)}, roles, units=units)
    moments = Moments([2.0], [3.0], [2.0], [1.0])
    model = MODELS[name.split("-")[0]](Sizes(1, 1, 0, ["flow"]), moments, **MODEL_OPTIONS[name])
    data = tensors(series, {"warmth": Moment(2.0, 3.0)}, torch.float32)
    return simulate(model, data, series, (20, 60), warmup=20).predictions


@pytest.mark.parametrize("name", MODEL_OPTIONS)
def test_figures_of_real_predictions(name: str) -> None:
    names = [figure for figure, _ in draw_figures(predicted(name), ["A"])]
    assert names == [f"{figure}-A" for figure in FIGURES if name != "lstm" or figure != "cells"]


def test_tables_of_real_predictions() -> None:
    predictions = {name: predicted(name) for name in ("mclstm", "lstm")}
    scores = side_by_side({name: score_table(each, ["nse", "kge"]) for name, each in predictions.items()})
    books = side_by_side({name: mass_balance(each) for name, each in predictions.items()}, over="mean")
    assert abs(books.loc["unaccounted", "mclstm"]) < 1e-5 * books.loc["inflow", "mclstm"]
    printed = markdown(pd.concat([scores, books]))
    assert [line.split("|")[1].strip() for line in printed.splitlines()[2:]] == [
        "nse", "kge", "inflow", "left as flow", "left as losses", "change of storage", "unaccounted",
    ]  # fmt: skip
