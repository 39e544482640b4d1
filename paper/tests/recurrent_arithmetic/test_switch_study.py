"""The table of combined switches puts the runs of both protocols where they belong."""

import json
from pathlib import Path

from mclstm_paper.recurrent_arithmetic.models import FLIPPED, FLIPS
from mclstm_paper.recurrent_arithmetic.switch_study import NOT_YET, combinations_of, switch_study
from mclstm_paper.results import interval_row
from mclstm_paper.statistics import wilson_interval


def write(folder: Path, name: str, solved: dict[str, int], operation: str = "subtraction") -> None:
    rows = [
        interval_row(
            operation, model, "success", wilson_interval(count, 20), [1] * count + [0] * (20 - count)
        )
        for model, count in solved.items()
    ]
    folder.joinpath(f"{name}.json").write_text(json.dumps({"rows": rows, "claims": []}))


def test_one_switch_from_one_protocol_is_three_from_the_other(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "recurrent-arithmetic"
    folder.mkdir(parents=True)
    assert switch_study(tmp_path) == NOT_YET
    write(folder, "stated", {"mclstm": 0, "nau": 20})
    write(folder, "published", {"mclstm": 16})
    write(folder, "stated-variants", dict.fromkeys(FLIPPED, 2) | {"mclstm-tuned": 20})
    write(folder, "published-variants", {"mclstm-other-sight": 5, "mclstm-other-start": 0})
    known = {code: round(20 * runs.row["value"]) for code, runs in combinations_of(tmp_path)}
    assert known.pop(frozenset(FLIPS)) == 16
    assert known.pop(frozenset()) == 0
    assert known.pop(frozenset(FLIPS) - {"sight"}) == 5
    assert known.pop(frozenset(FLIPS) - {"start"}) == 0
    assert set(known.values()) == {2}
    assert len(known) == 10  # four alone, six pairs
    lines = switch_study(tmp_path).splitlines()
    assert [cell.strip() for cell in lines[2].split("|")[1:5]] == ["code"] * 4
    # Six pairs differ in the start alone: none and alone, three alone and in pairs, identity and input gate
    # with it (all but sight), and all but the start with all.
    assert "* start: solved as in the text 8, as in the code 29 of 120" in lines[-1]
