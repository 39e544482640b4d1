"""The tables of docs/operation.md: how fast a model in operation is, and the balance of many BMI steps."""

from pathlib import Path

from mclstm.report.markdown import text_table
from mclstm_paper.experiment import Block
from mclstm_paper.results import committed_results

__all__ = ["BLOCKS"]

RATE, SHARE = "steps per second", "share of one call"


def speed_table(root: Path) -> str:
    """Steps per second by candidate and number of sites, and as a share of one call over a sequence."""
    file = root / "results" / "operation" / "speed.json"
    if not file.is_file():
        return ""
    rows = committed_results(file)["rows"]
    cells = {(item["model"], item["setting"], item["metric"]): item["value"] for item in rows}
    models, settings = (list(dict.fromkeys(key[at] for key in cells)) for at in (0, 1))
    lines = [
        [model, *(f"{cells[model, s, RATE]:,.0f} ({cells[model, s, SHARE]:.2f})" for s in settings)]
        for model in models
    ]
    table = text_table(["steps per second", *settings], lines)
    return (
        f"{table}\n\nMedian of {rows[0]['n']} interleaved rounds in CPU time of one core; in brackets the "
        "share of one call over 20 steps. K = 32, 32 inputs. `make record-operation`."
    )


def million_table(root: Path) -> str:
    """What the masses of NextGen's protocol showed over many steps."""
    rows = committed_results(root / "results" / "operation" / "million.json")["rows"]
    lines = [[item["metric"], f"{item['value']:.3g}"] for item in rows]
    return text_table([f"{rows[0]['setting']}, float64", "value"], lines)


BLOCKS: dict[str, Block] = {"operation-speed": speed_table, "operation-million": million_table}
