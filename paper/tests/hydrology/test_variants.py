"""Every variant and every ablation: it builds, learns, and conserves or says that it does not."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mclstm import from_config as configured
from mclstm.cli.main import main
from mclstm.config import check_config
from mclstm.config.same_model import conserving
from mclstm.data.scaling import Moment
from mclstm.data.windows import Batch
from mclstm.ops.ledger import ledger
from mclstm.training.loss import Importance
from mclstm.training.update import one_update
from mclstm_paper.hydrology import ablation, variants
from mclstm_paper.hydrology.printed import ABLATION
from mclstm_paper.options import Options, Plan
from mclstm_paper.results import Row

OPTIONS = Options(data=Path("/camels"), cells=6)
CONFIGS: dict[str, dict[str, Any]] = {
    **{f"variant {name}": variants.config_of(name, OPTIONS, 0) for name in variants.VARIANTS},
    **{
        f"ablation {name}": ablation.config_of(name, "01022500", OPTIONS, 0)
        for name in ablation.CONFIGURATIONS
    },
}
# Which part of the whole is no book-keeping any more; of all others every drop must be found again.
LEAKS = {"variant mclstm-input-scaling", "variant mclstm-both-scalings"} | {
    f"ablation mclstm-minus-{part}" for part in ("input", "output", "redistribution")
}
HEADS = {f"variant mclstm-{name}" for name in ("evapotranspiration", "output-scaling", "both-scalings")}


def batch(static: int) -> Batch:
    x, a = torch.rand(40, 5, 1), torch.randn(40, 5, 4)
    return Batch(torch.arange(5), torch.zeros(5), x, a, torch.randn(5, static), torch.rand(20, 5, 1))


@pytest.mark.parametrize("name", CONFIGS)
def test_it_builds_learns_and_conserves_or_says_that_it_does_not(name: str) -> None:
    config = check_config(CONFIGS[name])
    columns = [column for part in configured.inputs(config).values() for column in part]
    model, _ = configured.build(config, dict.fromkeys(columns, Moment(0.0, 1.0)))
    given = batch(len(config.data.static))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(2):
        assert one_update(model, optimiser, given, Importance(torch.ones(5, 1)), 0.01, 1.0, 20).finite
    with torch.no_grad():
        out = model(given.x, given.a, given.static)
    if name.split()[1] == "lstm":
        assert not model.conserving
        assert not conserving(config)
        return
    error = ledger(given.x, out.h, out.c).error.max().item()  # against the mass that was given
    assert model.conserving is (name not in LEAKS)
    assert (error < 1e-6) is model.conserving
    # What is predicted is mass only behind a head that adds up what flowed out.
    assert conserving(config) is (name not in LEAKS | HEADS)
    first = 1 if config.model.trash_cell else 0
    counted = out.h[..., first:].sum(-1)
    assert torch.allclose(out.y[..., 0], counted) is (name not in HEADS)


def test_the_list_is_the_appendixs() -> None:
    """One variant for every paragraph of it, one configuration for every line of the ablation's table."""
    changes = {key for _, change in variants.VARIANTS.values() for key in change}
    assert changes == {
        "aux_memory", "head", "evapotranspiration", "trash_cell", "input_scaling", "redistribution",
        "redistribution_norm", "input_norm", "gates_see",
    }  # fmt: skip
    final = variants.config_of("mclstm", OPTIONS, 0)["model"]
    norms = {config["model"].get("redistribution_norm") for config in CONFIGS.values()} - {None}
    assert norms == {"softmax", "sigmoid", "relu"}
    assert (final["redistribution_norm"], final["input_norm"]) == ("relu", "sigmoid")
    assert [ABLATION[name] for name in ablation.CONFIGURATIONS] == [0.635, 0.650, 0.603, 0.55, -4.229]


def test_variants_side_by_side(camels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.txt").write_text("11141280\n")
    sizes = ["--basins", str(tmp_path / "one.txt"), "--updates", "2", "--cells", "3", "--quiet"]
    words = ["experiment", "hydrology-variants", "--data", str(camels), *sizes, "--out", str(tmp_path)]
    chosen = ["--models", "mclstm,mclstm-input-scaling,lstm", "--results", str(tmp_path / "results")]
    assert main([*words, *chosen]) == 0
    shown = capsys.readouterr().out
    assert "| final design" in shown
    content = json.loads((tmp_path / "results/hydrology/variants.json").read_text())
    assert content["experiment"] == "hydrology-variants"
    rows = {(row["model"], row["metric"]): row for row in content["rows"]}
    assert rows["mclstm", "mass-error"]["value"] < 1e-5
    assert rows["mclstm", "nse"]["conserving"]
    assert rows["mclstm-input-scaling", "mass-error"]["value"] > 1e-5
    assert not rows["mclstm-input-scaling", "nse"]["conserving"]
    assert ("lstm", "mass-error") not in rows
    assert {row["setting"] for row in rows.values()} == {"1 basins"}
    assert all(row["seeds"] == [0] for row in rows.values())


def test_the_ablation_runs_and_says_what_is_missing(
    camels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "one.txt").write_text("11141280\n")
    sizes = ["--basins", str(tmp_path / "one.txt"), "--updates", "2", "--cells", "3", "--seeds", "2"]
    words = ["experiment", "hydrology-ablation", "--data", str(camels), *sizes, "--out", str(tmp_path)]
    assert main([*words, "--results", str(tmp_path / "results"), "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert "| MC-LSTM - redis." in shown
    assert "1 basins, each trained alone; 2 repetitions; 3 cells, 2 updates of 16 windows." in shown
    content = json.loads((tmp_path / "results/hydrology/ablation-stated.json").read_text())
    rows = {(row["model"], row["metric"]): row for row in content["rows"]}
    for name in ablation.CONFIGURATIONS:
        error = rows[name, "mass-error"]
        assert error["seeds"] == [0, 1]
        assert (error["n"], error["runs"]) == (2, 2)
        kept = error["value"] is not None and error["value"] < 1e-5
        assert kept is error["conserving"] is ("minus" not in name)
    assert len(content["claims"]) == 2 * (3 + 1 + 2)
    assert {
        claim["test"].removeprefix("Wilcoxon signed-rank, one-sided, ") for claim in content["claims"]
    } == {
        "1 basins, medians of 2",
        "2 pairs of basin and seed",
    }


def test_the_published_ablation_starts_with_open_outlets_and_nothing_else_differs() -> None:
    for name in ablation.CONFIGURATIONS:
        stated, published = (
            ablation.config_of(name, "01022500", OPTIONS._replace(protocol=protocol), 0)
            for protocol in ("stated", "published")
        )
        assert (stated["model"].pop("output_bias"), published["model"].pop("output_bias")) == (-3.0, 3.0)
        assert stated == published


def result(nse: float, error: float = 0.0) -> dict[str, Any]:
    return {"scores": {"nse": [nse]}, "validation": nse, "mass_errors": [error], "continuous": [nse]}


def ablated(scores: dict[str, list[list[float]]], basins: tuple[str, ...] = ("a", "b")) -> list[Row]:
    """Rows of an ablation with these scores by basin and repetition; NaN is a training that failed."""
    seeds = len(next(iter(scores.values()))[0])
    options = Options(data=Path("/camels"), basins=basins, seeds=seeds, models=tuple(scores))
    results = {
        ablation.job_name(name, basin, seed): {"failed": "NaN"} if math.isnan(score) else result(score)
        for name, lines in scores.items()
        for basin, line in zip(basins, lines, strict=True)
        for seed, score in enumerate(line)
    }
    return ablation.rows(Plan(options), results)


def test_the_table_is_the_mean_over_basins_of_medians_over_repetitions() -> None:
    (row, *_) = ablated({"mclstm": [[0.5, 0.9, 0.6], [0.2, 0.1, 0.3]]})
    assert row["value"] == pytest.approx((0.6 + 0.2) / 2)
    assert row["high"] - row["value"] == pytest.approx(np.std([0.6, 0.2], ddof=1))
    assert (row["n"], row["runs"], row["failed"], row["paper"]) == (3, 6, 0, 0.635)
    (row, *_) = ablated({"mclstm": [[math.nan, 0.9, 0.7], [math.nan] * 3]})
    assert row["value"] == pytest.approx(0.8)
    assert row["failed"] == 4


def test_a_failed_training_counts_as_worst_and_claims_follow_the_scores() -> None:
    good = [[0.5, 0.51, 0.52], [0.6, 0.61, 0.62]]
    worse = [[0.4, 0.39, 0.38], [0.5, 0.48, 0.47]]
    rows = ablated({"mclstm": good, "mclstm-minus-input": worse, ablation.MINUS_R: [[math.nan] * 3] * 2})
    claims = {claim["claim"]: claim for claim in ablation.claims(rows)}
    about = "mclstm-minus-input scores lower than mclstm"
    assert claims[f"{about} at these basins"]["p"] == 1 / 64  # the six pairs all have one sign: 2 ** -6
    assert claims[f"{about} at these basins"]["holds"]
    assert claims[about]["p"] == 1 / 4  # of two basins: 2 ** -2, however many repetitions there are
    assert not claims[about]["holds"]
    last = "mclstm-minus-redistribution scores lower than mclstm-minus-input at these basins"
    assert claims[last]["holds"]
    backwards = ablated({"mclstm": worse, "mclstm-minus-input": good})
    assert not any(claim["holds"] for claim in ablation.claims(backwards))


def test_five_basins_that_agree_are_just_enough() -> None:
    good = [[0.5 + 0.1 * at, 0.6 + 0.1 * at] for at in range(5)]
    worse = [[score - 0.01 * (at + 1) for score in line] for at, line in enumerate(good)]
    rows = ablated({"mclstm": good, "mclstm-minus-output": worse}, basins=("a", "b", "c", "d", "e"))
    first, _ = ablation.claims(rows)
    assert (first["p"], first["holds"]) == (1 / 32, True)
