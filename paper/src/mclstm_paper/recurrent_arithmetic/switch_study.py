"""Which of four switches between the protocols costs the success: subtraction with all combinations."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from mclstm.report.markdown import markdown
from mclstm_paper.number_format import budget, rate
from mclstm_paper.pages.sections import read
from mclstm_paper.protocols import PROTOCOLS
from mclstm_paper.recurrent_arithmetic.models import FLIPPED, FLIPS
from mclstm_paper.results import Row
from mclstm_paper.statistics import proportion_test

__all__ = ["Runs", "combinations_of", "effects", "switch_study"]

OPERATION = "subtraction"
TEXT, CODE = "text", "code"
NOT_YET = "Not run yet: `make record-skill` trains the combinations of switches."


class Runs(NamedTuple):
    """The runs with one combination of switches."""

    row: Row  # of their success
    budget: str  # seeds and updates


Combination = frozenset[str]  # the switches, names of FLIPS, that are as in the published code


def switch_study(root: Path) -> str:
    """A line per combination, those that succeed first, and what each switch does over all of them."""
    known = dict(combinations_of(root))
    if not known:
        return NOT_YET
    ordered = sorted(known.items(), key=lambda item: (-item[1].row["value"], len(item[0]), sorted(item[0])))
    lines = [
        {flip: CODE if flip in code else TEXT for flip in FLIPS}
        | {"solved": rate(runs.row), "seeds × updates": runs.budget}
        for code, runs in ordered
    ]
    return f"{markdown(pd.DataFrame(lines))}\n\n" + "\n".join(effects(known))


def combinations_of(root: Path) -> Iterator[tuple[Combination, Runs]]:
    """The combinations that were run, from the result files of both protocols."""
    for protocol in PROTOCOLS:
        for name, models in (("", {"mclstm": ()}), ("-variants", FLIPPED)):
            rows = (read(root, f"recurrent-arithmetic/{protocol}{name}.json") or {"rows": []})["rows"]
            mine = [row for row in rows if row["setting"] == OPERATION]
            for row in mine:
                if row["metric"] == "success" and row["model"] in models:
                    flipped = {flip for flip, switch in FLIPS.items() if switch in models[row["model"]]}
                    code = flipped if protocol == "stated" else set(FLIPS) - flipped
                    yield frozenset(code), Runs(row, budget(mine, row["model"]))


def effects(known: Mapping[Combination, Runs]) -> Iterator[str]:
    """For each switch: solved runs as the text and as the code has it, over combinations known both ways.

    >>> runs = {frozenset(): 0, frozenset({"sight"}): 9}
    >>> known = {code: Runs({"n": 20, "value": solved / 20}, "") for code, solved in runs.items()}
    >>> list(effects(known))
    ['* sight: solved as in the text 0 of 20, as in the code 9 of 20 (proportion test, p = 0.0025)']
    """
    for flip in FLIPS:
        pairs = [(code, code | {flip}) for code in known if flip not in code and code | {flip} in known]
        sides = [[known[pair[side]].row for pair in pairs] for side in (0, 1)]
        (text, many), (code, more) = (together(rows) for rows in sides)
        if pairs:
            p = proportion_test((text, many), (code, more)).p
            words = f"{TEXT} {text} of {many}, as in the {CODE} {code} of {more}"
            yield f"* {flip}: solved as in the {words} (proportion test, p = {p:.2g})"


def together(rows: Sequence[Row]) -> tuple[int, int]:
    """Solved runs and all runs of several rows."""
    return sum(round(row["value"] * row["n"]) for row in rows), sum(row["n"] for row in rows)
