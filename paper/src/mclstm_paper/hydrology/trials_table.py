"""The table of what was tried on the validation years."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from mclstm.report.results import Row
from mclstm.report.tables import markdown

__all__ = ["trials_table"]


def trials_table(rows: Sequence[Row]) -> str:
    """One line a run, the best first: what it changed, its best validation score and its last.

    >>> about = {"changes": {"training.average": 0.9}, "seed": 1, "best_update": 5, "value": 0.7}
    >>> more = {"curve": [[5, 0.7], [6, 0.6]], "finished": False, "updates": 7, "member": True}
    >>> trials_table([about | more]).splitlines()[2]
    '| average: 0.9 | member 1 | 0.7000               |         5 | 0.6000 (6) | 7, stopped |'
    """
    lines = [
        {
            "changed": in_words(item["changes"]),
            "seed": f"{'member ' * item['member']}{item['seed']}",
            "best NSE, validation": f"{item['value']:.4f}",
            "at update": item["best_update"],
            "last (at)": f"{item['curve'][-1][1]:.4f} ({item['curve'][-1][0]})",
            "updates": f"{item['updates']}{'' if item['finished'] else ', stopped'}",
        }
        for item in sorted(rows, key=lambda item: -item["value"])
    ]
    return markdown(pd.DataFrame(lines))


def in_words(changes: Mapping[str, Any]) -> str:
    """Keys and values as in a config, without their sections.

    >>> in_words({"model.hidden_size": 32, "training.schedule": {}, "model.gates_see": ["aux", "mass"]})
    'hidden_size: 32, schedule: {}, gates_see: [aux, mass]'
    """
    shown = {
        key.split(".", 1)[1]: f"[{', '.join(map(str, value))}]" if isinstance(value, list) else value
        for key, value in changes.items()
    }
    return ", ".join(f"{key}: {value}" for key, value in shown.items()).replace("'", "") or "nothing"
