"""The tables of docs/operation.md: how fast a model in operation is, and the balance of many BMI steps."""

from collections.abc import Mapping
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
    lines = [[model, *(_speed(cells, model, setting) for setting in settings)] for model in models]
    table = text_table(["steps per second", *settings], lines)
    return (
        f"{table}\n\nMedian of {rows[0]['n']} interleaved rounds in CPU time of one core; in brackets the "
        "share of one call over 20 steps. K = 32, 32 inputs. A BMI config names at most 1,000 sites. "
        "`make record-operation`."
    )


def _speed(cells: Mapping[tuple[str, str, str], float], model: str, setting: str) -> str:
    rate, share = (cells.get((model, setting, metric)) for metric in (RATE, SHARE))
    return "" if rate is None or share is None else f"{_number(rate)} ({share:.2f})"


def million_table(root: Path) -> str:
    """What the masses of NextGen's protocol showed over many steps."""
    rows = committed_results(root / "results" / "operation" / "million.json")["rows"]
    lines = [[item["metric"], f"{item['value']:.3g}"] for item in rows]
    return text_table([f"{rows[0]['setting']}, float64", "value"], lines)


def sites_table(root: Path) -> str:
    """Speed and memory of a training by the number of sites and where they lie."""
    file = root / "results" / "operation" / "sites.json"
    if not file.is_file():
        return ""
    content = committed_results(file)
    cells = {(item["setting"], item["model"], item["metric"]): item["value"] for item in content["rows"]}
    settings = list(dict.fromkeys((setting, model) for setting, model, _ in cells))
    metrics = list(dict.fromkeys(metric for _, _, metric in cells))
    lines = [
        [metric, *(_number(cells.get((*setting, metric))) for setting in settings)] for metric in metrics
    ]
    table = text_table(["training", *(", ".join(setting) for setting in settings)], lines)
    return (
        f"{table}\n\n64 windows of 545 days per update, K = 32, 5 inputs, 27 attributes, 9 years. One "
        "thread, while other work kept the machine busy: compare seconds of CPU, not of the clock. "
        "The prediction is of two years, all stores included. `make record-many-sites`."
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.3g}" if value < 100 else f"{value:,.0f}"


BLOCKS: dict[str, Block] = {
    "operation-speed": speed_table,
    "operation-million": million_table,
    "operation-sites": sites_table,
}
