"""Numbers that a page says in a sentence, not in a table: they are those of the result files."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from mclstm.evaluation.comparison import wilcoxon_test
from mclstm_paper.bench.ratios import find, ratio
from mclstm_paper.hnn.other_draws import WORST
from mclstm_paper.hnn.task import SETTINGS as SERIES
from mclstm_paper.pendulum.inputs import FREQUENCIES
from mclstm_paper.pendulum.motion import DT, POINTS
from mclstm_paper.pendulum.settings import recipe
from mclstm_paper.pendulum.task import SETTINGS, TUNING
from mclstm_paper.recurrent_arithmetic.printed import PRINTED as RECURRENT
from mclstm_paper.recurrent_arithmetic.switch_study import combinations_of
from mclstm_paper.seed_rows import paired
from mclstm_paper.statistics import proportion_test
from mclstm_paper.traffic.experiment import LIMIT, SCALES
from mclstm_paper.traffic.floors import TRIED

ROOT = Path(__file__).parents[3]


def page(name: str) -> str:
    """A page as one line."""
    return re.sub(r"\s+", " ", (ROOT / "docs" / f"{name}.md").read_text())


def row(file: str, model: str, setting: str, metric: str) -> dict[str, Any]:
    rows: list[dict[str, Any]] = json.loads((ROOT / "results" / file).read_text())["rows"]
    (match,) = [r for r in rows if (r["model"], r["setting"], r["metric"]) == (model, setting, metric)]
    return match


def claim(file: str, text: str) -> dict[str, Any]:
    claims: list[dict[str, Any]] = json.loads((ROOT / "results" / file).read_text())["claims"]
    return next(c for c in claims if c["claim"] == text)


def solved(model: str, operation: str) -> tuple[int, int]:
    values = row("recurrent-arithmetic/published.json", model, operation, "success")["values"]
    return int(sum(values)), len(values)


def against_the_paper(model: str, operation: str) -> float:
    theirs = RECURRENT[model][operation][0]
    return proportion_test(solved(model, operation), (round(100 * theirs), 100)).p


def test_how_many_seeds_of_the_addition_problem_never_begin_to_learn() -> None:
    limit = row("addition/published.json", "constant", "reference", "mse")["value"]
    errors = row("addition/published.json", "mclstm", "reference", "mse")["values"]
    stuck = sum(error > 0.9 * limit for error in errors)
    p = stats.fisher_exact([[stuck, 100 - stuck], [10, 90]]).pvalue
    assert f"({stuck} of our {len(errors)}; about ten would explain the paper's mean)" in page("addition")
    assert f"{stuck} against 10 of a hundred is no significant" in page("addition")
    assert f"(Fisher's exact test: p = {p:.2f})" in page("addition")


def test_five_networks_of_the_sum_of_digits_are_told_apart_by_nothing() -> None:
    rows = [row("mnist-sum/published.json", m, "length 1000", "success") for m in ("mclstm", "nau")]
    wins = [int(sum(rate["values"])) for rate in rows]
    p = stats.fisher_exact([[won, 5 - won] for won in wins]).pvalue
    assert f"{wins[0]} of 5 against {wins[1]} of 5 at length 1000" in page("mnist-sum")
    assert f"(Fisher's exact test: p = {p:.2f})" in page("mnist-sum")


def test_what_a_penalty_on_the_cells_does_to_the_plain_sum() -> None:
    regime, file = "seq length 10000", "addition/stated-variants.json"
    pair = [row(file, model, regime, "mse") for model in ("mclstm-sum-l2", "mclstm-sum")]
    assert f"nothing significant (p = {wilcoxon_test(*paired(*pair)).p:.2f})" in page("addition")


def test_rates_beside_the_papers() -> None:
    text = page("recurrent-arithmetic")
    solves, runs = solved("mclstm", "multiplication")
    p = against_the_paper("mclstm", "multiplication")
    assert f"multiplication in {100 * solves // runs} % of {runs} runs" in text
    assert f"(two-sided proportion test: p = {p:.1g})" in text
    sums = [100 * solves // runs for solves, runs in (solved("nau", o) for o in ("addition", "subtraction"))]
    assert "{} and {} % of 20 runs".format(*sums) in text


@pytest.mark.parametrize(("operation", "places"), [("addition", 1), ("subtraction", 2)])
def test_whether_nau_differs_from_the_papers(operation: str, places: int) -> None:
    assert f"p = {against_the_paper('nau', operation):.{places}f}" in page("recurrent-arithmetic")


def test_who_is_told_apart_from_the_lstms_in_hydrology() -> None:
    text, file, hybrid = page("hydrology"), "hydrology/stated.json", "hybrid-weighted-ensemble"
    words = {3: "three", 5: "five", 8: "eight", 10: "ten"}

    def better(one: str, two: str, metric: str = "nse") -> float:
        return float(claim(file, f"{one} is better than {two} in {metric}")["p"])

    def number(model: str) -> str:
        return words[row(file, model, "447 basins", "nse")["n"]]

    ours, published, simple = (
        f"{name}-ensemble" for name in ("lstm-steered", "lstm-kratzert2019", "ealstm-kratzert2019")
    )
    assert f"{number('hybrid').title()} hybrids cannot be told from {number(ours)} LSTMs by their NSE" in text
    assert f"nor from the {number(published)} published ones" in text
    assert (
        min(better(*pair) for lstm in (ours, published) for pair in ((hybrid, lstm), (lstm, hybrid))) > 0.05
    )
    assert "In peaks, KGE and variance they are better than all of these and the EA-LSTMs, and in low" in text
    for rival in (ours, published, simple):
        assert max(better(hybrid, rival, metric) for metric in ("fhv", "kge", "alpha-nse")) < 0.05
    assert max(better(hybrid, lstm, "flv") for lstm in (ours, published)) < 0.05
    missed = 0.763 - row(file, hybrid, "447 basins", "nse")["value"]
    assert f"The aim of 0.763, the paper's LSTM, is missed by {missed:.3f}" in text
    beside = 0.763 - row(file, ours, "447 basins", "nse")["value"]
    assert f"comes within {beside:.3f} of the paper's" in text


def test_what_the_mclstms_before_the_hybrids_were_worth() -> None:
    text, file = page("hydrology"), "hydrology/stated.json"

    def better(one: str, two: str) -> float:
        return float(claim(file, f"{one}-ensemble is better than {two}-ensemble in nse")["p"])

    same, ea = (
        min(better("mclstm-mixed", rival), better(rival, "mclstm-mixed"))
        for rival in ("lstm-tuned", "ealstm-kratzert2019")
    )
    assert min(same, ea) > 0.05
    assert f"as good as three LSTMs of the same short training (p = {same:.2f})" in text
    assert f"eight published EA-LSTMs (p = {ea:.2f})" in text


def test_what_the_validation_years_promise() -> None:
    """The largest and the smallest difference to the test years of all ensembles of the recipe."""
    recipe = json.loads((ROOT / "results/hydrology/recipe.json").read_text())["rows"]
    lost = [
        one["value"] - row("hydrology/stated.json", one["model"], "447 basins", "nse")["value"]
        for one in recipe
        if (one["setting"], one["metric"]) == ("447 basins, validation", "nse") and "ensemble" in one["model"]
    ]
    text = (
        f"Ensembles lose {min(lost):.3f} to {max(lost):.3f} from validation to test. Weighted ones lose most"
    )
    assert text in page("hydrology")


def test_what_weights_at_each_basin_gain() -> None:
    file = "hydrology/stated.json"
    for model, gains in (("hybrid", True), ("hybrid-temperature", True), ("lstm-steered", False)):
        plain, weighted = (
            row(file, f"{model}{kind}-ensemble", "447 basins", "nse") for kind in ("", "-weighted")
        )
        p = stats.wilcoxon(weighted["values"], plain["values"], alternative="greater").pvalue
        assert (p < 0.001) == gains
        assert (round(weighted["value"] - plain["value"], 3) in (0.003, 0.004)) == gains
    assert "the weights gain 0.003 to 0.004 with the hybrids (p < 0.001), and nothing with the LSTMs" in page(
        "hydrology"
    )


def test_what_calibration_at_each_basin_is_worth() -> None:
    def nse(model: str, file: str = "process", setting: str = "447 basins") -> float:
        return float(row(f"hydrology/{file}.json", model, setting, "nse")["value"])

    text, unseen = page("hydrology"), nse("hybrid", "unseen", "447 basins never seen, random folds")
    hbv, sac = max(nse("hbv-gradient"), nse("hbv-evolution")), nse("sac-sma-evolution")
    below = [nse(f"hbv-{search}") - unseen for search in ("gradient", "evolution")]
    assert "never seen a basin is {:.3f} to {:.3f} below that of HBV".format(*sorted(below)) in text
    assert f"its {unseen:.3f} misses the aim of 0.69" in text
    assert unseen < 0.69, "the aim is missed"
    for model in ("hbv", "sac-sma"):
        assert nse(f"{model}-evolution") > nse(f"{model}-gradient"), "evolution finds better parameters"
    assert f"better than the published one by {sac - nse('sac-sma', 'stated'):.2f}" in text
    assert f"our HBV worse than the published best by {nse('hbv-upper', 'stated') - hbv:.2f}" in text
    below = [nse("hybrid-weighted-ensemble", "stated") - value for value in (hbv, sac)]
    assert [round(value, 1) for value in below] == [0.1, 0.1], "about 0.1 below the hybrids"


def test_what_a_year_of_flow_brings_beside_nine() -> None:
    before, one, nine = (
        row("hydrology/fine-tuning.json", "hybrid", f"30 basins, {when}", "nse")["value"]
        for when in ("before", "1 year", "9 years")
    )
    assert 0.5 < (one - before) / (nine - before) < 0.65
    assert "own flow brings more than half of the NSE that nine years bring" in page("hydrology")


def test_how_low_the_low_flows_of_the_lstms_are() -> None:
    text, file = page("hydrology"), "hydrology/stated.json"
    first, tuned, steered = (
        row(file, f"lstm{kind}", "447 basins", "flv") for kind in ("", "-tuned", "-steered")
    )
    assert f"The first LSTM ({first['value']:.0f}) and `lstm-tuned` ({tuned['value']:.0f})" in text
    assert f"Over all basins the median is {steered['value']:.0f}; the paper's LSTM has 13.6" in text
    dry = row(file, "lstm-steered", "447 basins", "zero-flow-sites")["value"] / 447
    assert 0.3 < dry < 0.37, "a third of the basins"


def test_to_what_the_books_of_the_basins_close() -> None:
    for model, said in (
        ("hybrid", "2.8e-8 in the worst of 447 basins and of the ten hybrids"),
        ("mclstm-mixed", "8.6e-8 for `mclstm-mixed`"),
    ):
        about = claim("hydrology/stated.json", f"{model} closes the mass balance of every site to 1e-05")
        error = re.sub("e-0", "e-", re.findall(r"\d\.\de-\d+", about["test"])[-1])
        assert error in said
        assert said in page("hydrology")


def test_the_eager_model_over_a_loop_of_an_lstm() -> None:
    rows = json.loads((ROOT / "results/runtime/stated.json").read_text())["rows"]
    ratios = []
    for threads in (1, 2):
        where = {"group": "table", "metric": "forward", "threads": threads}
        pair = [find(rows, model=model, **where) for model in ("mclstm-eager", "lstm-python")]
        spread = ratio(*pair)
        assert spread is not None
        ratios.append(f"{spread.value:.3g}")
    theirs = [one["paper"] for one in pair if one is not None]
    text = page("runtime")
    assert "takes {} times as long as our loop of an LSTM ({} on two threads)".format(*ratios) in text
    assert f"the paper's took {theirs[0] / theirs[1]:.1f} times as long as its own" in text


def test_how_fast_the_curves_and_the_pendulums_turn() -> None:
    text, period = page("pendulum"), round(2 * (POINTS - 1) / np.gcd.reduce(FREQUENCIES))
    steps = [50 * np.pi / (POINTS - 1), *(2 * DT * np.sqrt(9.81 / length) for length in (1.0, 0.75))]
    curve, long, short = (f"{step:.4f}" for step in steps)
    turns = (
        f"the curve f = 50 turns by {curve} rad per step; the energies of a pendulum of 1 m turn by {long}"
    )
    assert f"{turns}, those of 0.75 m by {short}." in text
    assert f"they repeat after {period} steps" in text


def test_what_the_recipes_of_the_pendulum_were_chosen_from() -> None:
    trials = json.loads((ROOT / "results/pendulum/trials.json").read_text())["trials"]
    means = {
        one["changes"]["outlet_start"]: one["mean"]
        for one in trials
        if (one["model"], one["protocol"], one["sets"]) == ("mclstm", "stated", 12)
    }
    assert f"{means[-5.0]:.2g} from -5 and {means[-8.0]:.2g} from -8" in page("pendulum")
    assert f"There are {len(TUNING)} of them" in page("pendulum")
    assert f"paper's {len(SETTINGS)} data sets" in page("pendulum")
    starts = [
        recipe(model, "stated").outlet_start for model in ("mclstm", "mclstm-invariant", "mclstm-clock")
    ]
    assert starts == [-5.0, -8.0, -8.0]


def test_half_of_the_total_is_better_on_most_pendulums() -> None:
    for protocol in ("stated", "published"):
        model, floor = (row(f"pendulum/{protocol}.json", m, "all", "mse") for m in ("mclstm", "half-total"))
        pairs = list(zip(model["values"], floor["values"], strict=True))
        assert sum(ours > theirs for ours, theirs in pairs) > len(pairs) / 2
        clock = row(f"pendulum/{protocol}.json", "mclstm-clock", "all", "mse")
        invariant = row(f"pendulum/{protocol}.json", "mclstm-invariant", "all", "mse")
        assert max(clock["value"], invariant["value"]) < 0.1 * floor["value"]
    text = page("pendulum")
    assert "Half of the true total for each energy, without any phase, is better on most sets" in text
    assert (
        "Both means are more than an order of magnitude below every floor that does not know the form" in text
    )


def test_how_many_series_without_friction_are_not_learned_to_their_end() -> None:
    text, file = page("hamiltonian"), "hnn/published.json"
    count = {5: "Five", 6: "Six", 7: "Seven"}[row(file, "mclstm", "all", "mse")["unfinished"]]
    assert f"{count} of the {len(SERIES)} series never reach their whole training part" in text
    assert f"That is {len(SERIES)} series." in text
    leak, without, floor = (
        row(f"hnn/{protocol}.json", model, "all", "mse")["value"]
        for protocol, model in (("published", "mclstm"), ("stated", "mclstm"), ("stated", "half-total"))
    )
    assert leak < floor < without
    draws = json.loads((ROOT / "results/hnn/draws.json").read_text())["mclstm with the leak"]
    assert draws[0]["mean"] == pytest.approx(leak, rel=0.01)
    assert draws[0]["unfinished"] == row(file, "mclstm", "all", "mse")["unfinished"]
    assert max(draw["finished"] for draw in draws) < 6e-4 / 2 < 6e-4 < max(draw["mean"] for draw in draws)
    assert sum(draw["mean"] <= 6e-4 for draw in draws) == 1
    assert "One of the five draws is below the target of 6e-4" in text
    assert f"The other {len(SERIES) - draws[0]['unfinished']} are far below the target" in text
    assert "with the nine sine curves in its place it is worse than half of the total" in text


def test_what_another_start_makes_of_the_worst_series() -> None:
    text, errors = page("hamiltonian"), row("hnn/stated.json", "hnn", "all", "mse")["values"]
    content = json.loads((ROOT / "results/hnn/draws.json").read_text())
    (again,) = (one["mse"] for one in content["hnn on its worst series"])
    assert errors.index(max(errors)) == WORST
    others = (sum(errors) - max(errors)) / (len(errors) - 1)
    assert plain(f"gives {max(errors):.2g}; the mean of the other {len(errors) - 1} is {others:.1e}") in text
    mean = (sum(errors) - max(errors) + again) / len(errors)
    assert plain(f"has an error of {again:.1e}, with which the mean would be {mean:.1e}") in text


def plain(text: str) -> str:
    """Small numbers as people write them: 3.3e-5."""
    return text.replace("e-0", "e-")


def test_who_wins_on_flights() -> None:
    def scores(reading: str, metric: str) -> dict[str, float]:
        rows = json.loads((ROOT / "results/traffic/stated.json").read_text())["rows"]
        return {
            r["model"]: r["value"]
            for r in rows
            if r["setting"] == f"flights-{reading}" and r["metric"] == metric
        }

    for reading in ("sparse-step", "sparse-overall"):
        for metric in ("rmse", "rmse total", "rmse stock"):
            values = scores(reading, metric)
            assert min(values, key=values.__getitem__) == "mclstm-timeless"
    dense = scores("dense", "rmse")
    first, second, third, *_ = sorted(dense, key=dense.__getitem__)
    assert (first, {second, third}) == ("regression-timeless", {"regression", "regression-by-time"})
    sparse = scores("sparse-step", "rmse")
    assert 0.6 * sparse["lstm"] < sparse["mclstm-timeless"] < sparse["mclstm"] < sparse["lstm"]
    networks = ("mclstm", "lstm", "lstm-harmonics", "lstm-timeless")
    assert all(1.005 < dense[model] / dense[first] < 1.02 for model in networks)  # "about a percent"
    text = page("traffic")
    assert "the regressions have the lowest RMSE, the one without a clock first" in text
    shares, best = [], []
    for reading in ("sparse-step", "sparse-overall"):
        values = scores(reading, "rmse")
        shares.append(f"{values['mclstm-timeless'] / values['lstm']:.2f}")
        best.append(f"{dense[first] / values['lstm']:.2f}")
    assert "Our aim of 0.6 of LSTM's RMSE is missed**: it is {} and {} of it".format(*shares) in text
    assert "with every step observed leaves {} and {} of these LSTMs' RMSE".format(*best) in text


def test_how_much_the_flights_were_trained_and_may_cost() -> None:
    text, trained = page("traffic"), row("traffic/stated.json", "mclstm", "flights-dense", "rmse")
    days = 365 - 365 // 4
    epochs = trained["trained"] // -(-round(0.85 * days) // 32)
    assert f"{trained['runs']} runs of {trained['trained']} updates, {epochs} epochs of these days" in text
    runs, updates = SCALES["paper"]
    assert f"with {runs} runs of {updates:,} updates" in text
    assert f"limit of this experiment is {LIMIT // 3600} core-hours" in text
    assert f"up to {TRIED[-1]} steps, is chosen on validation days" in text


def test_what_more_updates_bring_on_validation_days() -> None:
    trials = json.loads((ROOT / "results/traffic/updates.json").read_text())["trials"]
    gains = {(one["reading"], one["model"]): 1 - np.divide(*map(np.mean, reversed(one["rmse"].values())))
             for one in trials}  # fmt: skip
    for (reading, model), gain in gains.items():
        if reading == "dense":
            assert -0.005 < gain < 0.025
        else:
            assert (gain > 0.005) == (model == "mclstm-timeless")
    assert "no network anything from sparse days, but for `mclstm-timeless`" in page("traffic")
    assert "From dense days the networks learn 0 to 2 % more" in page("traffic")


def test_the_regressions_win_on_the_transport_page() -> None:
    for metric, sign in (("nse", -1), ("rmse", 1), ("mae", 1)):
        for target in ("pooled", "total"):
            models = ("this model", "regression", "regression-by-time")
            ours, *theirs = (row("examples/transport.json", m, target, metric)["value"] for m in models)
            assert all(sign * each < sign * ours for each in theirs)
    assert "better than the model in every pooled score and in the total" in page("transport")


def test_what_is_said_of_traces_is_in_their_records() -> None:
    ages, flights = (
        json.loads((ROOT / f"results/trace/{name}.json").read_text()) for name in ("ages", "flights")
    )
    assert "In the middle basin two thirds of the flow is younger than 70 days" in page("trace")
    assert np.median([row["young"] for row in ages["basins"]]) == pytest.approx(2 / 3, abs=0.03)
    assert "**Snow makes water older**" in page("trace")
    assert ages["contrast"]["median"]["snow"] > ages["contrast"]["median"]["rain"]
    assert max(ages["contrast"][name]["p"] for name in ("median", "young")) < 0.001
    assert "worse than the rule" in page("trace")
    assert flights["share error"] > flights["share error, all alike"]
    assert flights["minutes error"] > flights["minutes error, all alike"]
    assert max(flights["arrivals r"]) < flights["arrivals r, all alike"]


def test_which_switches_decide_whether_subtraction_is_solved() -> None:
    known = {code: runs.row["values"][:20] for code, runs in combinations_of(ROOT)}  # the seeds all have
    assert len(known) == 16
    both = {code: sum(values) for code, values in known.items() if {"sight", "start"} <= code}
    assert sum(sum(values) for values in known.values()) == sum(both.values())
    assert f"both as in the code, {sum(both.values()):.0f} of {20 * len(both)} runs solve it" in page(
        "recurrent-arithmetic"
    )
    gate = [sum(solved for code, solved in both.items() if ("input-gate" in code) == side) for side in (0, 1)]
    assert 0.45 < gate[0] / gate[1] < 0.6, "an input gate that sees the marker costs half"
    near = [sum(solved for code, solved in both.items() if ("identity" in code) == side) for side in (0, 1)]
    assert 0.8 < near[0] / near[1] < 1.25, "how close R starts to the identity makes no difference"


def test_what_the_text_alone_solves_of_recurrent_arithmetic() -> None:
    file = "recurrent-arithmetic/stated.json"
    solved = [
        row(file, "mclstm", operation, "success")
        for operation in ("addition", "subtraction", "multiplication")
    ]
    assert [(round(one["value"] * one["n"]), one["n"]) for one in solved] == [(8, 20), (0, 20), (0, 20)]
    assert {one["trained"] for one in solved} == {2_000_000}
    assert "8 of 20 runs solve addition, and none the others" in page("findings")
    assert "solves addition in 8 of 20 runs, in 7.3e5 updates in the median" in page("recurrent-arithmetic")
    assert round(row(file, "mclstm", "addition", "updates")["value"], -4) == 730_000
