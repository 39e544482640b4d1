"""Ratios, targets, tables and the page, from invented rows with known answers."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mclstm_paper.bench.page import NO_RECORD, RECORD, draw, save_figure, whole
from mclstm_paper.bench.ratios import attainment, better_product, growth_exponent, limit, ratio
from mclstm_paper.bench.targets import SMALL, verdicts
from mclstm_paper.pages.fill_pages import BLOCKS, DRAWINGS, filled
from mclstm_paper.results import row as result_row

SIZES = {"B": 256, "T": 365, "M": 1, "A": 3, "S": 27, "K": 64}
MODELS = ("mclstm-native", "mclstm-torch", "mclstm-eager", "neuralhydrology", "lstm", "lstm-python")


def result(group: str, model: str, metric: str, values: list[float], **more: Any) -> dict[str, Any]:
    where = {"group": group, "part": "all", "threads": 1, "sizes": SIZES, "unit": "ms"}
    return result_row("a setting", model, metric, values, more.pop("paper", None), "quartiles") | where | more


def paper_rows(threads: int) -> list[dict[str, Any]]:
    ms = {"mclstm-native": 100.0, "mclstm-torch": 200.0, "neuralhydrology": 600.0, "lstm": 20.0}
    rates = {"FMA loop": 100.0, "torch matrix product": 85.0, "numpy matrix product": 90.0}
    rows = [result("paper", name, "gflops", [rate] * 2, threads=threads) for name, rate in rates.items()]
    for model in MODELS:
        for metric, factor in (("forward", 1.0), ("forward+backward", 4.0)):
            time = factor * ms.get(model, 300.0)
            counted = {} if model.startswith("lstm") else {"operations": 8.5e9 * factor}
            rows.append(result("paper", model, metric, [time, 2 * time], threads=threads, **counted))
    return rows


def growth_rows() -> list[dict[str, Any]]:
    rows = []
    for axis, power in (("B", 1.0), ("T", 1.3), ("K", 2.5), ("A", 0.5), ("M", 0.5)):
        for metric in ("forward", "forward+backward"):
            for at in (2, 4, 8):
                sizes = {"sizes": {**SIZES, axis: at}, "part": axis, "operations": 1e6 * at}
                rows.append(result("growth", "mclstm-native", metric, [float(at) ** power], **sizes))
    return rows + [
        result("growth", "mclstm-native", "update", [float(at)], part="E", members=at) for at in (1, 2, 4)
    ]


def content() -> dict[str, Any]:
    rows = [*paper_rows(1), *paper_rows(2), *growth_rows()]
    for task in SMALL:
        for model, ms in (("mclstm-eager", 10.0), ("mclstm", 1.1), ("mclstm, 100 members", 0.2)):
            rows.append(result("small", model, "update", [ms, ms], part=task))
    for model, ms in (("mclstm-eager", 3.0), ("mclstm-native", 2.0), ("lstm", 1.0)):
        rows += [
            result("single", model, metric, [ms], setting="K = 8")
            for metric in ("forward", "forward+backward")
        ]
    for steps, mb in ((365, 61.0), (1460, 211.0)):
        sizes = {"sizes": {**SIZES, "T": steps}, "stored": 50.0 * steps / 365}
        rows.append(result("memory", "mclstm-native", "peak memory", [mb], **sizes))
    rows.append(result("table", "mclstm-eager", "forward", [800.0, 900.0], paper=951.0))
    rows.append(result("table", "lstm-python", "forward", [400.0, 300.0], paper=205.0))
    rows.append(result("table", "mclstm-eager", "forward on a GPU", [0.0], paper=236.0) | {"value": None})
    machine = {"cpu": "a processor", "cores": 2, "flags": ["avx2"], "memory_gb": 24.0, "torch": "2.13.0"}
    machine |= {"blas": "MKL", "kernel": "kernel_avx2.so"}
    about = {"date": "2026-01-01", "commit": "abc", "machine": machine, "wall_seconds": 600.0}
    lost = {"group": "paper", "part": "all", "threads": 2, "model": "neuralhydrology", "reason": "not there"}
    return {
        "profile": "paper",
        "made": about,
        "rows": rows,
        "missing": [lost],
        "jobs": [{"group": "paper", "load_before": 0.1}],
    }


def judged() -> dict[str, tuple[float | None, bool | None]]:
    return {verdict.target: (verdict.value, verdict.holds) for verdict in verdicts(content()["rows"])}


def test_ratios_are_taken_round_by_round() -> None:
    slow, fast = result("a", "x", "m", [10.0, 300.0, 20.0]), result("a", "y", "m", [5.0, 100.0, 10.0])
    spread = ratio(slow, fast)
    assert spread is not None
    assert spread == (2.0, 2.0, 2.5), "the second round was slow for both"
    assert ratio(slow, None) is None is ratio(None, fast)


def without_the_loop() -> list[dict[str, Any]]:
    return [row for row in paper_rows(1) if row["model"] != "FMA loop"]


def test_the_limit_is_the_loop_and_without_it_the_better_product() -> None:
    everything = (limit(paper_rows(1)), limit(without_the_loop()), better_product(paper_rows(1)))
    names = [row and row["model"] for row in everything]
    assert names == ["FMA loop", "numpy matrix product", "numpy matrix product"]
    assert limit([]) is None is better_product(growth_rows())


def test_pages_and_targets_name_the_limit_they_use() -> None:
    shown, fallback = whole(content()), whole({**content(), "rows": without_the_loop()})
    assert (
        "The limit: float32 FMA loop, 100 GFLOP/s (best 100). Beside it: torch matrix product, 85.0" in shown
    )
    assert "The limit: float32 numpy matrix product, 90.0 GFLOP/s (best 90.0). Beside it: torch" in fallback
    assert "of the better product" in shown
    assert "of the better product" not in fallback, "it would repeat the column before it"
    assert "percent of the numpy matrix product's rate, forward" in fallback
    for rows, name in ((paper_rows(1), "FMA loop"), (without_the_loop(), "numpy matrix product")):
        words = [text.get_text() for text in draw({**content(), "rows": rows}).subfigs[0].legends[0].texts]
        assert words[-1].endswith(f"at the rate of the {name}")


def test_attainment_is_the_rate_over_that_of_the_limit() -> None:
    row, rate = (
        result("a", "x", "m", [10.0, 20.0], operations=8e8),
        result("a", "p", "gflops", [100.0, 50.0]),
    )
    share = attainment(row, rate)
    assert share is not None
    assert share.value == pytest.approx(0.8)


def test_targets_are_judged_by_the_numbers() -> None:
    verdict = judged()
    one, both = "`native` times as fast as neuralhydrology, ", ", threads: "
    assert verdict[f"{one}forward{both}1"] == (6.0, True)
    assert verdict[f"{one}forward{both}2"] == (6.0, False)
    assert verdict[f"{one}forward and backward{both}2"] == (6.0, True)
    assert verdict["`torch` times as fast as neuralhydrology, forward, threads: 1"] == (3.0, True)
    assert verdict["time of `native` / time of `nn.LSTM`, forward"] == (5.0, True)
    value, holds = verdict["`native`, percent of the FMA loop's rate, forward"]
    assert (value, holds) == (pytest.approx((85.0 + 42.5) / 2), False)
    assert verdict["`native`, MB above the inputs, forward and backward"] == (61.0, True)
    assert verdict["`native`, growth of memory with T / growth of the stored cells"] == (1.0, True)
    assert verdict["addition, K = 10: 100 members, times as fast per seed"] == (50.0, True)
    value, holds = verdict["recurrent arithmetic, K = 2: one seed, times as fast"]
    assert (value, holds) == (pytest.approx(10 / 1.1), False)
    assert verdict["one sequence, times as fast as the eager loop at the worst K, forward"] == (1.5, True)
    assert verdict["exponent of the growth with B, forward"] == (pytest.approx(1.0), True)
    assert verdict["exponent of the growth with T, forward"] == (pytest.approx(1.3), False)


def test_a_verdict_becomes_a_claim_of_the_results_file() -> None:
    first, *_, last = verdicts(content()["rows"])
    text = "`native` times as fast as neuralhydrology, forward, threads: 1"
    test = "at least 5; median of the rounds"
    assert first.claim() == {"claim": text, "test": test, "p": None, "holds": True, "value": 6.0}
    assert last.wanted == "0.9 to 1.1"


def test_what_was_not_measured_is_neither_met_nor_missed() -> None:
    assert {(verdict.value, verdict.holds) for verdict in verdicts([])} == {(None, None)}
    assert growth_exponent(growth_rows()[:1], "B", "mclstm-native", "forward") is None


def test_the_terminal_shows_all_groups_and_what_is_missing() -> None:
    shown = whole(content())
    for words in (
        "| mclstm-native",
        "met",
        "missed",
        "951",
        "| 2.50 ",  # of 800 / 400 and 900 / 300, round by round
        "| 4.64 ",  # 951 / 205
        "not measured",
        "neuralhydrology is missing: not there",
    ):
        assert words in shown
    once = whole({**content(), "rows": [r | {"values": r["values"][:1]} for r in paper_rows(1)]})
    assert re.search(r"mclstm-native .*\| 85 % +\| 94 % +\|", once), "of 100 GFLOP/s, and of 90"
    nothing = whole({**content(), "rows": [], "missing": []})
    assert "##" not in nothing.replace("## Targets", "")
    assert "Targets" not in whole({**content(), "profile": "quick"})
    assert "Every candidate ran." in nothing


def test_blocks_of_the_page_come_from_the_record(tmp_path: Path) -> None:
    names = [name for name in BLOCKS if name.startswith("runtime-")]
    assert len(names) == 10
    page = "\n".join(f"<!-- {name} -->\nold\n<!-- /{name} -->" for name in names)
    assert filled(page, tmp_path).count(NO_RECORD) == len(names)
    assert DRAWINGS["runtime.svg"](tmp_path) is None
    (tmp_path / RECORD).parent.mkdir(parents=True)
    (tmp_path / RECORD).write_text(json.dumps(content()))
    new = filled(page, tmp_path)
    assert NO_RECORD not in new
    assert "old" not in new
    assert "figures/runtime.svg" in new
    assert (DRAWINGS["runtime.svg"](tmp_path) or b"").startswith(b"<?xml")
    assert "| exponent of the growth with T, forward " in new
    assert filled(new, tmp_path) == new


def test_the_documents_have_every_block() -> None:
    text = (Path(__file__).parents[3] / "docs" / "runtime.md").read_text()
    for name in BLOCKS:
        if name.startswith("runtime-"):
            assert f"<!-- {name} -->" in text


def test_the_figure_shows_candidates_limit_and_sweeps() -> None:
    figure = draw(content())
    assert len(figure.axes) == 2 + 6
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == list(MODELS[::-1])
    dashed = [line for line in figure.axes[0].lines if line.get_linestyle() == "--"]
    assert [line.get_xdata()[0] for line in dashed] == [85.0, 340.0], "operations at 100 GFLOP/s"
    assert [text.get_text() for text in figure.axes[3].texts] == ["1.30"]
    assert [label.get_text() for label in figure.axes[3].get_xticklabels()] == ["2", "4", "8"]


def test_a_figure_of_nothing_is_still_a_file(tmp_path: Path) -> None:
    save_figure(content() | {"rows": []}, tmp_path / "new" / "empty.svg")
    assert (tmp_path / "new" / "empty.svg").read_bytes().startswith(b"<?xml")
