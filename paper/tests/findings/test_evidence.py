"""Verdicts on claims: from tests, numbers and orders in result files, and what is not settled."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mclstm_paper.findings.evidence import (
    HOLDS,
    Bound,
    by_tests,
    first_of,
    number,
    order,
    shares_below_one,
    standing_in,
)
from mclstm_paper.findings.page_of_findings import findings, line
from mclstm_paper.findings.paper_claims import CLAIMS
from mclstm_paper.protocols import PROTOCOLS
from mclstm_paper.results import claim, row

ROOT = Path(__file__).parents[3]


def results(folder: Path, claims: Sequence[Any] = (), rows: Sequence[Any] = ()) -> Path:
    (folder / "stated.json").write_text(json.dumps({"claims": list(claims), "rows": list(rows)}))
    return folder


def test_a_claim_holds_where_all_its_tests_do(tmp_path: Path) -> None:
    both = [
        claim("mclstm beats lstm", "Wilcoxon", 0.01, True),
        claim("mclstm beats nau", "Wilcoxon", 0.2, False),
    ]
    rows = [row("all", "mclstm", "mse", [1.0] * 20)]
    found = [by_tests("{protocol}.json", pattern)(results(tmp_path, both, rows), "stated")
             for pattern in ("mclstm beats lstm", "mclstm beats", "lstm beats")]  # fmt: skip
    assert found[0] == ("holds", "p = 0.01", "Wilcoxon", 20)
    text = "1 of 2; p = 0.2 where it fails; the opposite is not significant either"
    assert found[1] == ("not settled", text, "Wilcoxon", 20)
    both[1]["p"] = 0.98
    refuted = by_tests("{protocol}.json", "mclstm beats")(results(tmp_path, both, rows), "stated")
    assert refuted == ("does not hold", "1 of 2; p = 0.98 where it fails", "Wilcoxon", 20)
    assert found[2] is None
    assert by_tests("{protocol}.json", "mclstm")(tmp_path, "published") is None


def test_a_failure_after_fewer_updates_settles_nothing(tmp_path: Path) -> None:
    failed = [claim("mclstm solves it", "proportion", None, False)]
    rows = [row("addition", "mclstm", "success", [0.0] * 5) | {"trained": 200}]
    evidence = by_tests("{protocol}.json", "mclstm", updates=dict.fromkeys(PROTOCOLS, 2000))
    found = evidence(results(tmp_path, failed, rows), "stated")
    assert found == ("not settled", "trained for 200 of the paper's 2,000 updates", "proportion", 5)
    rows[0]["trained"] = 2000
    assert evidence(results(tmp_path, failed, rows), "stated").verdict == "does not hold"
    failed[0]["holds"], rows[0]["trained"] = True, 200
    assert evidence(results(tmp_path, failed, rows), "stated").verdict == "holds"


def test_a_failure_after_fewer_repetitions_settles_nothing(tmp_path: Path) -> None:
    failed = [claim("mclstm beats it", "Wilcoxon", 0.96, False)]
    rows = [row("addition", "mclstm", "nse", [0.5] * 3)]
    evidence = by_tests("{protocol}.json", "mclstm", repetitions=9)
    text = "p = 0.96; 3 of 9 repetitions are trained"
    assert evidence(results(tmp_path, failed, rows), "stated") == ("not settled", text, "Wilcoxon", 3)
    rows[0]["n"] = 9
    assert evidence(results(tmp_path, failed, rows), "stated").verdict == "does not hold"


def test_what_holds_at_a_few_basins_alone_settles_nothing(tmp_path: Path) -> None:
    wide = claim("mclstm beats it", "5 basins", 0.06, False)
    here = claim("mclstm beats it at these basins", "45 pairs", 1e-7, True)
    rows = [row("5 basins", "mclstm", "nse", [0.5] * 9) | {"failed": 4, "runs": 45}]
    evidence = by_tests("{protocol}.json", "mclstm beats it$")
    more = "4 of 45 trainings failed and count as worst"
    text = f"p = 0.06; at these basins p <= 1e-07, too few to speak of others; {more}"
    assert evidence(results(tmp_path, [wide, here], rows), "stated") == ("not settled", text, "5 basins", 9)
    here["holds"] = False
    found = evidence(results(tmp_path, [wide, here], rows), "stated")
    assert found.text == f"p = 0.06; the opposite is not significant either; {more}"


def test_what_is_unlike_is_said(tmp_path: Path) -> None:
    for rivals, ours, verdict, more in (
        (9, 5, "holds", ""), (5, 9, "not settled", "the rival had less training; ")
    ):  # fmt: skip
        unlike = f"which was trained for {rivals} updates instead of {ours}"
        claims = [claim(f"mclstm solves more than nau, {unlike}", "t", 0.01, True)]
        found = by_tests("{protocol}.json", "mclstm")(results(tmp_path, claims), "stated")
        assert (found.verdict, found.text) == (verdict, f"p = 0.01; {more}{unlike}")


def test_a_number_beside_a_bound(tmp_path: Path) -> None:
    rows = [
        row("a", "mclstm", "nse", [0.7, 0.8]),
        row("a", "lstm", "nse", [0.6, 0.6]),
        row("a", "one", "nse", [0.9]),
    ]
    folder = results(tmp_path, rows=rows)
    for bound, verdict in (
        (Bound("at least", 0.74), "holds"), (Bound("at most", 0.74), "does not hold"),
    ):  # fmt: skip
        assert number("{protocol}.json", ("mclstm", "a", "nse"), bound)(folder, "stated").verdict == verdict
    assert [Bound("nearer to 0 than", 0.8).holds(value) for value in (0.75, -0.75, 0.85, -0.85)] == [
        True,
        True,
        False,
        False,
    ]
    assert number("{protocol}.json", ("gru", "a", "nse"), Bound("at least", 0))(folder, "stated") is None


def test_a_number_of_less_training_settles_nothing_and_counts_can_be_shares(tmp_path: Path) -> None:
    rows = [row("a", "lstm", "success", [0.0] * 5) | {"trained": 200}, row("a", "nalu", "nan", [0.0] * 5)]
    rows[1]["value"] = 4
    folder = results(tmp_path, rows=rows)
    cell, none = ("lstm", "a", "success"), Bound("at most", 0)
    early = number("{protocol}.json", cell, none, updates=dict.fromkeys(PROTOCOLS, 2000))(folder, "stated")
    assert early == ("not settled", "0, asked: at most 0; trained for 200 of the paper's 2,000 updates",
                     "no test: the numbers side by side", 5)  # fmt: skip
    assert (
        number("{protocol}.json", cell, none, updates=dict.fromkeys(PROTOCOLS, 200))(folder, "stated").verdict
        == "holds"
    )
    share = number("{protocol}.json", ("nalu", "a", "nan"), Bound("at least", 0.9), share=True)
    assert share(folder, "stated")[:2] == ("does not hold", "0.8, asked: at least 0.9")


def test_an_order_needs_every_seed(tmp_path: Path) -> None:
    seeds = {"mclstm": [0.70, 0.75, 0.80], "low": [0.5, 0.6, 0.65], "near": [0.6, 0.72, 0.78], "one": [0.9]}
    folder = results(tmp_path, rows=[row("a", model, "nse", values) for model, values in seeds.items()])

    def found(*models: str, **options: bool) -> tuple[str, str]:
        measured = order("stated.json", "a", "nse", *models, **options)(folder, "stated")
        assert measured is not None
        return measured.verdict, measured.text

    assert found("mclstm", "low") == ("holds", "0.75 against 0.6")
    assert found("low", "mclstm") == ("does not hold", "0.6 against 0.75")
    assert found("mclstm", "low", "near") == (
        "not settled",
        "0.75 against 0.6, 0.72; the seeds of both overlap",
    )
    assert found("mclstm", "near", no_gain=True)[0] == "holds"
    assert found("near", "mclstm", no_gain=True)[0] == "not settled"  # it may well gain something
    assert found("low", "mclstm", no_gain=True)[0] == "does not hold"
    assert found("mclstm", "one")[0] == "not settled"
    assert order("stated.json", "a", "nse", "mclstm", "low")(folder, "published") is None
    missing, known = (order("stated.json", "a", "nse", "mclstm", name) for name in ("gru", "low"))
    assert missing(folder, "stated") is None
    assert first_of(missing, known)(folder, "stated") == known(folder, "stated")


def test_what_stands_for_another_model_cannot_refute_a_claim(tmp_path: Path) -> None:
    rows = [row("a", "small", "nse", [0.7, 0.8])]
    folder = results(tmp_path, rows=rows)
    bounds = (Bound("at least", 0.9), Bound("at least", 0.5))
    above, below = (number("{protocol}.json", ("small", "a", "nse"), bound) for bound in bounds)
    found = standing_in(above, "half the size")(folder, "stated")
    assert found is not None
    assert (found.verdict, found.text) == ("not settled", "0.75, asked: at least 0.9; half the size")
    assert standing_in(below, "half the size")(folder, "stated") == below(folder, "stated")
    assert standing_in(below, "half the size")(tmp_path / "nothing", "stated") is None
    worse = standing_in(below, "half the size", weakens=HOLDS)(folder, "stated")  # of a claim that it is bad
    assert worse == ("not settled", "0.75, asked: at least 0.5; half the size", *below(folder, "stated")[2:])


def test_a_bound_that_is_passed_is_no_bound(tmp_path: Path) -> None:
    for worst, verdict in ((0.9, "holds"), (1.1, "does not hold")):
        (tmp_path / "shares.json").write_text(
            json.dumps({"configurations": 7, "native": worst, "torch": 0.1})
        )
        found = shares_below_one("shares.json", "configurations")(tmp_path, "stated")
        assert (found.verdict, found.n) == (verdict, 7)


def test_every_claim_of_the_paper_has_evidence_that_reads_the_results() -> None:
    assert len(CLAIMS) >= 40
    assert len({one.text for one in CLAIMS}) == len(CLAIMS)
    silent = [one.text for one in CLAIMS if not any(one.evidence(ROOT / "results", p) for p in PROTOCOLS)]
    assert set(silent) <= {"R has to depend on time.", "The gates have to see the precipitation."}


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda one: one.text[:40])
def test_tests_that_prove_exist(claim: Any) -> None:
    last = line(claim, ROOT / "results")[-1]
    if last.startswith("`paper/tests"):
        assert (ROOT / last.strip("`")).is_file()


def test_the_page_counts_verdicts(tmp_path: Path) -> None:
    text = findings(ROOT)
    assert text.startswith(f"{len(CLAIMS)} claims. Stated: ")
    assert "Stated: " in findings(tmp_path)  # proofs need no results


def test_failures_and_single_seeds_settle_nothing(tmp_path: Path) -> None:
    worse = [claim("mclstm-minus scores lower than mclstm", "Wilcoxon", 0.03, True)]
    rows = [row("5 basins", "mclstm-minus", "nse", [0.1] * 9) | {"runs": 45}]
    for failed, verdict in ((45, "not settled"), (23, "not settled"), (22, "holds")):
        rows[0]["failed"] = failed
        found = by_tests("{protocol}.json", "mclstm-minus")(results(tmp_path, worse, rows), "stated")
        assert (found.verdict, found.text) == (
            verdict,
            f"p = 0.03; {failed} of 45 trainings failed and count as worst",
        )
    alone = results(tmp_path, rows=[row("a", "one", "nse", [0.9])])
    one = number("{protocol}.json", ("one", "a", "nse"), Bound("at least", 0.5))
    assert one(alone, "stated").verdict == "not settled"
