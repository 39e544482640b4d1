"""Which of four switches between the protocols costs the success: subtraction with all combinations."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from mclstm.report.markdown import NOTHING, markdown
from mclstm_paper.number_format import budget, rate
from mclstm_paper.pages.sections import read
from mclstm_paper.protocols import PROTOCOLS, Protocol
from mclstm_paper.recurrent_arithmetic.models import FLIPPED, FLIPS
from mclstm_paper.results import Row
from mclstm_paper.seed_rows import paired
from mclstm_paper.statistics import binomial_test

__all__ = ["Runs", "combinations_of", "effects", "switch_study"]

OPERATION = "subtraction"
MODELS = {"mclstm": (), **FLIPPED}  # with the switches in which they differ from their protocol
TEXT, CODE = "text", "code"
NOT_YET = "Not run yet: `make record-skill` trains the combinations of switches."


class Runs(NamedTuple):
    """The runs with one combination of switches."""

    row: Row  # of their success
    budget: str  # seeds and updates
    reading: Mapping[str, Any] | None = None  # the gates of one of them


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
        | outlets(runs.reading)
        for code, runs in ordered
    ]
    return f"{markdown(pd.DataFrame(lines))}\n\n" + "\n".join(effects(known))


def combinations_of(root: Path) -> Iterator[tuple[Combination, Runs]]:
    """The combinations that were run, from the result files of both protocols."""
    for protocol in PROTOCOLS:
        readings = read(root, f"recurrent-arithmetic/{protocol}-reading.json") or {}
        for name in ("", "-variants"):
            content = read(root, f"recurrent-arithmetic/{protocol}{name}.json") or {"rows": []}
            mine = [row for row in content["rows"] if row["setting"] == OPERATION]
            for row in mine:
                if row["metric"] == "success" and row["model"] in MODELS:
                    reading = readings.get(f"{row['model']}, {OPERATION}")
                    yield as_in_code(row["model"], protocol), Runs(row, budget(mine, row["model"]), reading)


def as_in_code(model: str, protocol: Protocol) -> Combination:
    """The switches of a model that are as in the published code.

    >>> sorted(as_in_code("mclstm-other-sight", "published"))
    ['identity', 'input-gate', 'start']
    """
    flipped = {flip for flip, switch in FLIPS.items() if switch in MODELS[model]}
    return frozenset(flipped if protocol == "stated" else set(FLIPS) - flipped)


def outlets(reading: Mapping[str, Any] | None) -> dict[str, str]:
    """How far the outlets of the cells that count are open, and by how much the output layer makes up for it.

    >>> outlets({"o": [[0.02, 1.0], [0.9, 0.0]], "head": [-1.2, 0.0]})
    {'leak on the way': '2.0 %', 'open at the end': '90.0 %', 'factor': '1.20'}
    """
    if reading is None:
        return dict.fromkeys(("leak on the way", "open at the end", "factor"), NOTHING)
    factors = [abs(factor) for factor in reading["head"]]
    counts = [cell for cell, factor in enumerate(factors) if factor > max(factors) / 2]
    leak, opened = max(reading["o"][0][k] for k in counts), min(reading["o"][1][k] for k in counts)
    shares = {"leak on the way": f"{100 * leak:.1f} %", "open at the end": f"{100 * opened:.1f} %"}
    return shares | {"factor": f"{max(factors):.2f}"}


def effects(known: Mapping[Combination, Runs]) -> Iterator[str]:
    """For each switch: pairs of runs with the same seed and the others alike; how many solve the task.

    The runs of a seed resemble each other, so the test compares seeds by how many of their runs solve it. The
    five combinations of the published protocol draw new evaluations each time; see `FRESH_EVALUATION`.

    >>> runs = {frozenset(): [0, 0, 0], frozenset({"sight"}): [1, 1, 0]}
    >>> known = {code: Runs({"values": solved}, "") for code, solved in runs.items()}
    >>> list(effects(known))
    ['* sight: solved as in the text 0, as in the code 2 of 3 (sign test over 3 seeds, p = 0.5)']
    """
    for flip in FLIPS:
        pairs = [(code, code | {flip}) for code in known if flip not in code and code | {flip} in known]
        solved = [paired(known[text].row, known[code].row) for text, code in pairs]
        if solved:
            text, code = (np.sum(side, axis=0) for side in zip(*solved, strict=True))
            p, runs = sign_test(int((code > text).sum()), int((text > code).sum())), len(solved) * len(code)
            words = f"in the {TEXT} {text.sum():.0f}, as in the {CODE} {code.sum():.0f} of {runs}"
            yield f"* {flip}: solved as {words} (sign test over {len(code)} seeds, p = {p:.2g})"


def sign_test(more: int, less: int) -> float:
    """The p of those that differ: as many of either kind are expected; none differ: 1."""
    return binomial_test(more, more + less).p if more + less else 1.0
