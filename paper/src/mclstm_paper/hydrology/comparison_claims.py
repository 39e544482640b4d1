"""Which model is better, as claims of a result file, and which old claims a new comparison leaves true."""

import re
from collections.abc import Collection, Iterator, Sequence

import pandas as pd

from mclstm.report.comparison.score_section import OTHER_MODELS, outcomes_of
from mclstm_paper.hydrology.page import CONSERVING, PAIR
from mclstm_paper.hydrology.printed import FHV_P
from mclstm_paper.results import SIGNIFICANT, Claim, claim

__all__ = ["claims_of", "model_of", "still_true"]

TEST = "Wilcoxon signed-rank, 2 x one-sided p, |value - perfect| of {} sites"
MEANS = re.compile(r"(-weighted)?-ensemble$")  # the end of the name of a model's mean over members


def claims_of(tests: pd.DataFrame, subject: str) -> list[Claim]:
    """What the tests say of one model: against each other one, both ways, and the paper's two sentences.

    The two are about the models of other people, and LSTMs. Our other conserving models are no rivals there.
    tests: what `pairwise_tests` gives
    """
    outcomes = outcomes_of(tests, subject)
    sites = {
        (row["other"] if row["model"] == subject else row["model"], row["metric"]): row["sites"]
        for row in tests.to_dict("records")
        if subject in (row["model"], row["other"])
    }
    pairs = [
        tested(f"{one} is better than {two} in {metric}", TEST.format(sites[rival, metric]), p)
        for (rival, metric), (better, worse) in outcomes.items()
        for one, two, p in ((subject, rival, better), (rival, subject, worse))
    ]
    theirs = {
        key: p for key, (p, _) in outcomes.items() if key[0] in OTHER_MODELS or not CONSERVING.get(key[0])
    }
    nse = [p for (rival, metric), p in theirs.items() if metric == "nse" and CONSERVING.get(rival)]
    fhv = [p for (_, metric), p in theirs.items() if metric == "fhv"]
    whole = "than every {} with scores by site"
    return [
        *pairs,
        *against_all(f"{subject} is better in nse {whole.format('mass-conserving model')}", nse),
        *against_all(f"{subject} is better in fhv {whole.format('model')} (the paper: p = {FHV_P})", fhv),
    ]


def against_all(text: str, p: Sequence[float]) -> list[Claim]:
    """One claim about all rivals: it holds where every single one does, so its p is the largest."""
    return [tested(text, f"the largest p of {len(p)} such tests", max(p))] if p else []


def tested(text: str, test: str, p: float) -> Claim:
    return claim(text, test, p, p < SIGNIFICANT)


def still_true(old: Sequence[Claim], new: Sequence[Claim], changed: Collection[str]) -> Iterator[Claim]:
    """The old claims that neither new ones nor models with other scores replace."""
    texts = {one["claim"] for one in new}
    compared = {model_of(name) for one in new for name in compared_in(one["claim"])}
    others = {model_of(name) for name in changed}
    for one in old:
        named = {model_of(name) for name in compared_in(one["claim"])}
        again = bool(named) and named <= compared
        if one["claim"] not in texts and not again and not named & others:
            yield one


def compared_in(text: str) -> tuple[str, ...]:
    """The models that a claim compares, by the names it uses; none for other claims.

    >>> compared_in("hybrid is better than lstm in nse"), compared_in("lstm is better in fhv than every one")
    (('hybrid', 'lstm'), ('lstm',))
    """
    if pair := PAIR.fullmatch(text):
        return pair[1], pair[2]
    return (text.split()[0],) if " is better in " in text else ()


def model_of(name: str) -> str:
    """The model whose members or mean a name stands for.

    >>> model_of("hybrid-weighted-ensemble"), model_of("mclstm-tuned")
    ('hybrid', 'mclstm-tuned')
    """
    return MEANS.sub("", name)
