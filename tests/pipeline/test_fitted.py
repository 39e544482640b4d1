"""A model of `fit`: warm-up not scored, saved and loaded, drawn; lengths that fit the table."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import mclstm
from mclstm.errors import CheckpointError, ConfigError, DataError
from mclstm.evaluation.metrics import nse
from mclstm.training import checkpoint
from support.small_run import brook


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    path = brook(tmp_path_factory.mktemp("fitted") / "brook.csv")
    return pd.read_csv(path, index_col="date", parse_dates=True)


def fit(table: pd.DataFrame, **options: Any) -> mclstm.Fitted:
    settings: dict[str, Any] = {"hidden_size": 3, "updates": 3, "batch_size": 4}
    return mclstm.fit(table, mass="rain", aux="temperature", target="flow", **settings | options)


@pytest.fixture(scope="module")
def river(table: pd.DataFrame) -> mclstm.Fitted:
    return fit(table)


def test_lengths_fit_a_short_table(river: mclstm.Fitted, table: pd.DataFrame) -> None:
    """A quarter of 240 days fills the stores; before, nothing but an error came of so short a table."""
    assert river.warmup == 60
    assert fit(table, length=30).warmup == 20
    assert fit(table, warmup=7).warmup == 7
    with pytest.raises(ConfigError, match="length: needs a whole number"):
        fit(table, length="long")


def test_the_warm_up_is_not_scored(river: mclstm.Fitted, table: pd.DataFrame) -> None:
    simulated, observed = river.predict(table).to_numpy(), table["flow"].to_numpy()
    assert river.score(table)["nse"] == nse(simulated[60:], observed[60:])
    assert river.score(table, warmup=0)["nse"] == nse(simulated, observed)
    with pytest.raises(DataError, match="the table has 60 steps, and the first 60 only fill the stores"):
        river.score(table[:60])


def test_it_is_shown_in_one_short_line(river: mclstm.Fitted, table: pd.DataFrame) -> None:
    assert repr(river) == "Fitted(mclstm, 3 cells: rain, temperature -> flow)"
    assert repr(fit(table, members=2)) == "Fitted(mclstm, 3 cells, 2 members: rain, temperature -> flow)"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"members": 2, "gates_see": ("aux", "state", "mass")},
        {"model": "lstm", "weekend": True},
        {"sequences": {"each": "week", "begin": "Mon 00:00"}},
    ],
    ids=["one", "members", "lstm", "sequences"],
)
def test_a_loaded_model_is_the_saved_one(
    options: dict[str, Any], table: pd.DataFrame, tmp_path: Path
) -> None:
    fitted = fit(table, **options)
    fitted.save(tmp_path / "river.safetensors")
    loaded = mclstm.Fitted.load(tmp_path / "river.safetensors")
    pd.testing.assert_series_equal(loaded.predict(table), fitted.predict(table))
    assert repr(loaded) == repr(fitted)
    assert (loaded.warmup, loaded.rhythm, list(loaded.seeds)) == (
        fitted.warmup,
        fitted.rhythm,
        list(fitted.seeds),
    )


def test_files_that_are_no_models_are_refused(river: mclstm.Fitted, tmp_path: Path) -> None:
    path = tmp_path / "river.safetensors"
    with pytest.raises(CheckpointError, match="Cannot read"):
        mclstm.Fitted.load(path)
    checkpoint.save(path, {"weights.w": torch.ones(2)}, {"update": 7})
    with pytest.raises(CheckpointError, match=r"was not written by Fitted.save"):
        mclstm.Fitted.load(path)
    river.save(path)
    tensors, about = checkpoint.load(path)
    about["fitted"]["options"]["hidden_size"] = 4
    checkpoint.save(path, tensors, about)
    with pytest.raises(CheckpointError, match="another model"):
        mclstm.Fitted.load(path)


def test_a_network_as_an_option_cannot_be_saved(table: pd.DataFrame, tmp_path: Path) -> None:
    fitted = fit(table)._replace(options={"hidden_size": 3, "redistribution": torch.nn.Identity()})
    with pytest.raises(ConfigError, match="an option of the model cannot be saved"):
        fitted.save(tmp_path / "river.safetensors")
    assert not (tmp_path / "river.safetensors").exists()


def test_it_draws_a_hydrograph(river: mclstm.Fitted, table: pd.DataFrame, tmp_path: Path) -> None:
    figure = river.plot(table)
    assert len(figure.axes) >= 4
    figure.savefig(tmp_path / "river.png")
    assert (tmp_path / "river.png").stat().st_size > 10_000
    assert river.plot(table[["rain", "temperature"]]).axes


def test_hours_have_a_warm_up_of_hours() -> None:
    hours = pd.date_range("2001-01-01", periods=400, freq="h")
    rain = np.random.default_rng(0).gamma(0.3, 1.0, 400)
    table = pd.DataFrame(
        {"rain": rain, "flow": np.convolve(rain, 0.1 * 0.9 ** np.arange(50))[:400]}, index=hours
    )
    fitted = mclstm.fit(table, mass="rain", target="flow", hidden_size=2, updates=1)
    assert fitted.warmup == 100


@pytest.mark.parametrize(
    ("change", "message"),
    {
        "rain per hour": ({"rain": 1 / 24}, "DataFrame: what flows .* Bring mass and target to one unit; "),
        "a budget": ({"rain": 1 / 24}, r"or declare budget=\[0, \d+\] if it is right\.$"),
    }.values(),
)  # fmt: skip
def test_remedies_are_what_fit_can_do(table: pd.DataFrame, change: dict[str, float], message: str) -> None:
    days = pd.date_range("2001-01-01", periods=800)
    years = pd.DataFrame(np.tile(table.to_numpy(), (4, 1))[:800], days, columns=table.columns)
    with pytest.raises(DataError, match=message):
        fit(years.assign(**{name: years[name] * factor for name, factor in change.items()}))


def test_what_fit_says_of_a_table_names_no_site_and_no_option(
    river: mclstm.Fitted, table: pd.DataFrame
) -> None:
    with pytest.warns(mclstm.errors.DataWarning) as said:
        river.predict(table.assign(temperature=table["temperature"] + 273.15))
    assert str(said[0].message).startswith("DataFrame, column temperature: its mean is")
    assert str(said[0].message).endswith("probably kelvin instead of degC. Correct the values.")
    with pytest.raises(DataError, match=r"^the DataFrame is not indexed by dates\."):
        fit(table.reset_index())
    with pytest.raises(DataError, match=r"^DataFrame, column rain, .* Put NaN in its place, or correct"):
        fit(table.assign(rain=table["rain"].where(table.index != "2001-03-01", -999.0)))


@pytest.mark.parametrize(
    ("name", "near"), {"lr": "learning_rate", "hidden": "hidden_size", "n_members": "members"}.items()
)
def test_arguments_that_do_not_exist_are_answered_with_the_nearest(
    table: pd.DataFrame, name: str, near: str
) -> None:
    with pytest.raises(ConfigError, match=f"^fit, {name}: there is no such argument. Did you mean '{near}'"):
        fit(table, **{name: 3})
