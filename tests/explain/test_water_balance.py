"""Where the water went: terms that add up, ratios by hand, Budyko's numbers."""

import numpy as np
import pandas as pd
import pytest

from mclstm.explain.water_balance import (
    agreement,
    balance_table,
    budyko,
    long_term,
    mean_balance,
    water_balance,
)
from report.predictions import made, without_stores
from support.flows import flows


def test_the_terms_of_a_year_add_up_to_its_inflow() -> None:
    predictions = made(("A", "B"), steps=731)
    table = water_balance(balance_table(predictions), predictions)
    assert list(table.columns) == [
        "inflow", "left as flow", "left as losses", "change of storage", "residual", "relative error",
    ]  # fmt: skip
    years = 731 / 365.25
    np.testing.assert_allclose(table["inflow"], predictions["inflow"].sum("time") / years)
    np.testing.assert_allclose(table["left as flow"], predictions["simulated"].sum("time") / years)
    parts = table[["left as flow", "left as losses", "change of storage", "residual"]].sum(axis=1)
    np.testing.assert_allclose(parts, table["inflow"])
    assert (table["residual"].abs() < 1e-9 * table["inflow"]).all()


def test_a_model_without_stores_leaves_the_rest_unaccounted() -> None:
    predictions = without_stores(made(("A",), steps=400))
    table = water_balance(balance_table(predictions), predictions)
    assert list(table.columns) == ["inflow", "left as flow", "residual"]
    assert table["residual"].iloc[0] == pytest.approx(table["inflow"].iloc[0] - table["left as flow"].iloc[0])


def test_the_balance_of_an_ensemble_adds_up_and_keeps_the_largest_error() -> None:
    one = pd.DataFrame({"inflow": [10.0], "residual": [0.2], "relative error": [1e-9]}, index=["A"])
    two = pd.DataFrame({"inflow": [10.0], "residual": [0.4], "relative error": [5e-6]}, index=["A"])
    both = mean_balance([one, two])
    assert both.loc["A"].tolist() == pytest.approx([10.0, 0.3, 5e-6])
    assert one["relative error"].iloc[0] == 1e-9  # the members' tables stay as they were


def test_budykos_numbers() -> None:
    phi = np.array([0.5, 1.0, 2.0, 4.0])
    # sqrt(phi tanh(1/phi) (1 - exp(-phi))), by hand: 0.5 * 0.964028 * 0.393469 = 0.189658
    assert budyko(phi)[0] == pytest.approx(np.sqrt(0.189658), abs=1e-5)
    assert budyko(phi)[1] == pytest.approx(np.sqrt(0.761594 * 0.632121), abs=1e-5)
    assert (budyko(phi) < np.minimum(phi, 1)).all()  # below both limits: energy and water
    assert (np.diff(budyko(phi)) > 0).all()
    assert budyko(np.array([50.0]))[0] == pytest.approx(1.0, abs=1e-3)


def test_long_term_ratios_count_only_days_with_everything() -> None:
    data = flows(("A", "B", "C"))
    data["observed"][0, 10:50] = np.nan
    table = long_term(data, pd.Series({"A": 3.0, "B": 6.0}))
    assert list(table.index) == ["A", "B"]  # C has no PET
    known = np.isfinite(data["observed"].to_numpy()[0])
    rain, flow = (data[name].to_numpy()[0][known].mean() for name in ("inflow", "observed"))
    here = table.loc["A"]
    assert here["runoff ratio observed"] == pytest.approx(flow / rain)
    assert here["evaporative index observed"] == pytest.approx(1 - flow / rain)
    assert here["aridity"] == pytest.approx(3.0 / rain)
    assert here["budyko"] == pytest.approx(budyko(np.array([3.0 / rain]))[0])
    simulated = data["simulated"].to_numpy()[0][known].mean()
    assert here["runoff ratio simulated"] == pytest.approx(simulated / rain)


def test_agreement_by_hand() -> None:
    table = pd.DataFrame(
        {"runoff ratio simulated": [0.2, 0.5, 0.9], "runoff ratio observed": [0.3, 0.5, 1.1]}
    )
    found = agreement(table)
    assert found["rmse"] == pytest.approx(np.sqrt((0.01 + 0 + 0.04) / 3))
    assert found["bias"] == pytest.approx(-0.1)
    assert (found["observed above 1"], found["simulated above 1"]) == (1, 0)


def test_an_ensemble_of_different_models_still_adds_up() -> None:
    stores = {"inflow": 100.0, "left as flow": 40.0, "left as losses": 50.0, "change of storage": 10.0}
    one = pd.DataFrame([stores | {"residual": 0.0, "relative error": 1e-9}])
    other = pd.DataFrame([{"inflow": 100.0, "left as flow": 70.0, "change of storage": 20.0}])
    mixed = mean_balance([one, other.assign(**{"residual": 10.0, "relative error": 0.1})]).iloc[0]
    left = mixed.filter(like="left as ").sum()
    assert mixed["inflow"] == left + mixed["change of storage"] + mixed["residual"]
    assert (mixed["left as losses"], mixed["relative error"]) == (25.0, 0.1)
    free = mean_balance([one, pd.DataFrame([{"inflow": 100.0, "left as flow": 60.0, "residual": 40.0}])])
    assert free.iloc[0].to_dict() == {"inflow": 100.0, "left as flow": 50.0, "residual": 50.0}


def test_books_of_before_call_losses_trash_unless_a_target_has_that_name() -> None:
    predictions = made(("A",), steps=30)
    books = balance_table(predictions).rename(columns={"outflow losses": "outflow trash"})
    assert "left as losses" in water_balance(books, predictions)
    predictions["simulated"].attrs["long_name"] = "simulated trash"
    assert "left as trash" in water_balance(books, predictions)
