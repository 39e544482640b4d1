"""Which model is better, as claims of a result file, and which old claims a new comparison leaves true."""

import re
from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pandas as pd

from mclstm.evaluation.comparison import ModelScores, pairwise_tests
from mclstm.report.comparison.score_section import OTHER_MODELS, outcomes_of
from mclstm_paper.hydrology.page import CONSERVING, PAIR
from mclstm_paper.hydrology.printed import FHV_P
from mclstm_paper.results import SIGNIFICANT, Claim, Row, claim

__all__ = ["SUBJECTS", "claims_between", "claims_of", "model_of", "models_by_site", "still_true"]

TEST = "Wilcoxon signed-rank, 2 x one-sided p, |value - perfect| of {} sites"
# Whoever is among the models is compared with all others: our best, and those that the paper's sentences are
# about, or that stand for them.
SUBJECTS = ("hybrid-weighted-ensemble", "mclstm-ensemble", "mclstm-mixed-ensemble")
ALL = re.compile(r"(\S+) is better in (\S+) than every ")
MEANS = re.compile(r"(-weighted)?-ensemble$")  # the end of the name of a model's mean over members


def claims_between(models: Sequence[ModelScores]) -> list[Claim]:
    """What the tests between some models say of each subject among them; once of a pair of subjects."""
    tests, names = pairwise_tests(models), {model.name for model in models}
    every = (one for subject in SUBJECTS if subject in names for one in claims_of(tests, subject))
    return list({one["claim"]: one for one in every}.values())


def models_by_site(rows: Sequence[Row]) -> list[ModelScores]:
    """The models whose scores at single sites are in the rows of one setting, as `ModelScores`.

    >>> about = {"model": "hbv-upper", "values": [0.5, 0.7]}
    >>> nse, kge = about | {"metric": "nse", "sites": ["a", "b"]}, about | {"metric": "kge"}
    >>> models_by_site([nse, kge])[0].frames[0].columns.tolist()
    ['nse', 'kge']
    """
    sites = {row["model"]: row["sites"] for row in rows if "sites" in row}
    return [
        ModelScores(name, (scores_at(index, mine),), CONSERVING.get(name))
        for name, index in sites.items()
        for mine in [[row for row in rows if row["model"] == name]]
    ]


def scores_at(sites: Sequence[str], rows: Sequence[Row]) -> pd.DataFrame:
    """The rows of a model that have a value for each site: index site, columns metrics."""
    columns = {row["metric"]: row["values"] for row in rows if len(row["values"]) == len(sites)}
    return pd.DataFrame(columns, index=list(sites), dtype=np.float64)


def claims_of(tests: pd.DataFrame, subject: str) -> list[Claim]:
    """What the tests say of one model: against each other one, both ways, and the paper's two sentences.

    In these two our other conserving models are no rivals: the paper has one model of its own.
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
    conserving, every = "mass-conserving model of others", "LSTM and every model of others"
    return [
        *pairs,
        *against_all(f"{subject} is better in nse than every {conserving}, by site", nse),
        *against_all(f"{subject} is better in fhv than every {every}, by site (the paper: p = {FHV_P})", fhv),
    ]


def against_all(text: str, p: Sequence[float]) -> list[Claim]:
    """One claim about all rivals: it holds where every single one does, so its p is the largest."""
    return [tested(text, f"the largest p of {len(p)} such tests", max(p))] if p else []


def tested(text: str, test: str, p: float) -> Claim:
    return claim(text, test, p, p < SIGNIFICANT)


def still_true(old: Sequence[Claim], new: Sequence[Claim], changed: Collection[str]) -> Iterator[Claim]:
    """The old claims that neither new ones nor models with other scores replace."""
    again = {subject_of(one["claim"]) for one in new}
    others = {model_of(name) for name in changed}
    for one in old:
        subject = subject_of(one["claim"])
        if subject not in again and not {model_of(name) for name in subject} & others:
            yield one


def subject_of(text: str) -> frozenset[str]:
    """What a claim is about: two models in one metric, all rivals of a model in one, or its own words.

    >>> subject_of("hybrid is better than lstm in nse") == subject_of("lstm is better than hybrid in nse")
    True
    >>> sorted(subject_of("lstm is better in fhv than every other")), sorted(subject_of("mclstm closes"))
    (['fhv', 'lstm'], ['mclstm closes'])
    """
    match = PAIR.fullmatch(text) or ALL.match(text)
    return frozenset(match.groups() if match else (text,))


def model_of(name: str) -> str:
    """The model whose members or mean a name stands for.

    >>> model_of("hybrid-weighted-ensemble"), model_of("mclstm-tuned")
    ('hybrid', 'mclstm-tuned')
    """
    return MEANS.sub("", name)
