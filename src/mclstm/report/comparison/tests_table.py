"""The claims of a result file as a table people can read: who is better than whom in what."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mclstm.evaluation.comparison import COMPARED
from mclstm.report.comparison.score_table import HEADS, label, ordered
from mclstm.report.tables import NOTHING, lined

__all__ = ["tests_table"]

PAIR = re.compile(r"(\S+) is better than (\S+) in (\S+)")


def tests_table(claims: Sequence[Mapping[str, Any]], subject: str) -> str:
    """Markdown: a line a rival, a column a metric, each `better`, `worse` or `same` with the p of the test.

    >>> won = {"claim": "mclstm is better than lstm in fhv", "test": "", "p": 0.02, "holds": True}
    >>> print(tests_table([won], "mclstm").splitlines()[-1])
    | LSTM single | – | – | – | better (0.020) | – | – |
    """
    found = {match.groups(): claim for claim in claims if (match := PAIR.fullmatch(claim["claim"]))}
    rivals = ordered({two for one, two, _ in found if one == subject})
    head = [f"{label(subject)} against", *(HEADS[metric] for metric in COMPARED)]
    lines = [
        [label(rival), *(_cell(found, subject, rival, metric) for metric in COMPARED)] for rival in rivals
    ]
    return lined(head, lines)


def _cell(found: Mapping[tuple[str, ...], Mapping[str, Any]], subject: str, rival: str, metric: str) -> str:
    won, lost = found.get((subject, rival, metric)), found.get((rival, subject, metric))
    if won is None:
        return NOTHING
    word = "better" if won["holds"] else "worse" if lost is not None and lost["holds"] else "same"
    p = won["p"] if lost is None else min(won["p"], lost["p"])
    return f"{word} ({'< 0.001' if p < 0.001 else format(p, '.3f')})"
