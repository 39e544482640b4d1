"""Tables to print: models side by side, and frames as Markdown that also reads well on a terminal."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
import xarray as xr

from mclstm.evaluation.score_tables import balance_table
from mclstm.report.series import targets

__all__ = ["NOTHING", "lined", "markdown", "mass_balance", "side_by_side"]

Over = Literal["median", "mean"]
NOTHING = "–"


def side_by_side(frames: Mapping[str, pd.DataFrame], over: Over = "median") -> pd.DataFrame:
    """One column a model, one row a quantity, each the median (or mean) over the sites of that model's frame.

    Scores are given as medians, as papers do; amounts of mass as means, which still add up.

    >>> one, two = pd.DataFrame({"site": ["A"], "nse": [0.8]}), pd.DataFrame({"site": ["A"], "nse": [0.7]})
    >>> side_by_side({"mclstm": one, "lstm": two}).loc["nse"].to_dict()
    {'mclstm': 0.8, 'lstm': 0.7}
    """
    columns = {model: summary(frame, over) for model, frame in frames.items()}
    rows = dict.fromkeys(name for column in columns.values() for name in column)
    table = {model: [column.get(name, math.nan) for name in rows] for model, column in columns.items()}
    return pd.DataFrame(table, index=pd.Index(list(rows), dtype=object), dtype=np.float64)


def summary(frame: pd.DataFrame, over: Over) -> dict[str, float]:
    """Every quantity over all sites; of several targets each has rows of its own."""
    if "target" in frame:
        parts = frame.groupby("target", sort=False)
        return {
            f"{target} {name}": value
            for target, part in parts
            for name, value in summary(part.drop(columns="target"), over).items()
        }
    numbers = frame.drop(columns="site", errors="ignore").astype(np.float64)
    values = numbers.median() if over == "median" else numbers.mean()
    return {str(name): float(value) for name, value in values.items()}


def mass_balance(predictions: xr.Dataset) -> pd.DataFrame:
    """One row a site, the same columns for every model: inflow = what left + change of storage + unaccounted.

    A model with stores can name all of it, and `unaccounted` is rounding; one without says only what left at
    its targets, and `unaccounted` is all it cannot say: evaporation, storage, or mass from nowhere.
    """
    books = balance_table(predictions)
    table = books[["site", "inflow"]].copy()
    if "storage" in predictions:
        if "added by input scaling" in books:
            table["added by input scaling"] = books["added by input scaling"]
        for outlet in predictions["outlet"].to_numpy():
            table[f"left as {outlet}"] = books[f"outflow {outlet}"]
        table["change of storage"] = books["storage after"] - books["storage before"]
        table["unaccounted"] = books["residual"]
        return table
    left = counted(predictions)
    for name, values in left.items():
        table[name] = values
    table["unaccounted"] = table["inflow"] - sum(left.values()) if left else math.nan
    return table


def counted(predictions: xr.Dataset) -> dict[str, np.ndarray]:
    """What a model without stores says left, for targets in the unit of the inflow."""
    unit = predictions["inflow"].attrs.get("units", "")
    found = {}
    for target in targets(predictions):
        simulated = predictions[f"simulated{'_' if target else ''}{target}"]
        if simulated.attrs.get("units", "") == unit:
            about = str(simulated.attrs.get("long_name", "simulated flow")).removeprefix("simulated ")
            found[f"left as {about}"] = simulated.sum("time").to_numpy()
    return found


def markdown(frame: pd.DataFrame, digits: int = 3) -> str:
    """A frame as a Markdown table with aligned columns; numbers with `digits` decimals, gaps as a dash.

    The index is shown unless it only counts rows.

    >>> print(markdown(pd.DataFrame({"site": ["A", "B"], "nse": [0.81234, float("nan")]}), digits=2))
    | site |  nse |
    |:-----|-----:|
    | A    | 0.81 |
    | B    |    – |
    """
    counts_only = isinstance(frame.index, pd.RangeIndex)
    whole = frame.rename_axis(str(frame.index.name or "")).reset_index() if not counts_only else frame
    head = [safe(str(name)) for name in whole.columns]
    body = [[written(value, digits) for value in whole.iloc[:, at].tolist()] for at in range(len(head))]
    right = [pd.api.types.is_numeric_dtype(dtype) for dtype in whole.dtypes]
    widths = [max(3, *map(len, [name, *cells])) for name, cells in zip(head, body, strict=True)]
    rule = ["-" * (w + 1) + ":" if r else ":" + "-" * (w + 1) for w, r in zip(widths, right, strict=True)]
    rows = [line(list(row), widths, right) for row in zip(*body, strict=True)]
    return "\n".join([line(head, widths, right), f"|{'|'.join(rule)}|", *rows])


def line(cells: list[str], widths: list[int], right: list[bool]) -> str:
    padded = [
        cell.rjust(width) if numeric else cell.ljust(width)
        for cell, width, numeric in zip(cells, widths, right, strict=True)
    ]
    return f"| {' | '.join(padded)} |"


def written(value: object, digits: int) -> str:
    """A number that neither hides a small residual as 0.000 nor prints noise; text made safe."""
    if value is None or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
        return NOTHING
    if isinstance(value, float):
        small = value != 0 and abs(value) < 0.5 * 10**-digits
        return f"{value:.1e}" if small or abs(value) >= 1e9 else f"{value:.{digits}f}"
    return safe(str(value))


def safe(text: str) -> str:
    """Foreign text that cannot end its cell, its row or the table, nor begin a tag."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return plain.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def lined(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A head and lines of text as Markdown without padding; a bar inside a cell does not end it.

    >>> print(lined(["model", "NSE"], [["a|b", "0.7"]]))
    | model | NSE |
    |---|---|
    | a\\|b | 0.7 |
    """
    barless = [[cell.replace("|", r"\|") for cell in line] for line in (head, *lines)]
    shown = [f"| {' | '.join(line)} |" for line in barless]
    return "\n".join([shown[0], f"|{'---|' * len(head)}", *shown[1:]])
