"""What `mclstm predict` prints: what was predicted, which steps not to use, how good it is, and the files."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mclstm.cli.show import HEADLINE, counted, medians

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["summary", "tell"]


def tell(about: dict[str, Any], files: dict[str, Path], as_json: bool) -> None:
    """Print the summary and the files."""
    if as_json:
        print(json.dumps(about | {name: str(path) for name, path in files.items()}, allow_nan=False))
    else:
        print("\n".join([*_lines(about), *(f"{name} {path}" for name, path in files.items())]))


def summary(
    predictions: "xr.Dataset", members: int, table: "pd.DataFrame | None" = None, warmup: int | None = None
) -> dict[str, Any]:
    """What was predicted: targets and units, members, sites, dates, warm-up, and scores after it.

    table, warmup: the scores and the steps that fill the stores, where they are known already
    """
    from mclstm.data.columns import day
    from mclstm.evaluation.score_tables import after_warmup, headline, score_table
    from mclstm.training.journal import without_nan

    time = predictions["time"].to_index()
    table = score_table(after_warmup(predictions)) if table is None else table
    if warmup is None:
        warmup = int((predictions["warmup"] == 1).sum("time").max())
    about = {
        "members": members,
        "targets": _units(predictions),
        "sites": predictions.sizes["site"],
        "steps": predictions.sizes["time"],
        "first": day(time[0]),
        "last": day(time[-1]),
        "warmup_steps": warmup,
        "median": medians(headline(table)) if len(table) else {},
    }
    return dict(without_nan(about))


def _units(predictions: "xr.Dataset") -> dict[str, str]:
    """The unit of every target; the extremes of several members are none."""
    flows = [predictions[name].attrs for name in predictions if str(name).startswith("simulated")]
    return {
        str(flow["long_name"]).removeprefix("simulated "): flow["units"]
        for flow in flows
        if str(flow["long_name"]).startswith("simulated ")
    }


def _lines(about: dict[str, Any]) -> list[str]:
    """The summary for people: what was predicted, which steps not to use, and how good it is."""
    targets = ", ".join(f"{name} in {unit or 'no stated unit'}" for name, unit in about["targets"].items())
    count = f"{'the mean of ' if about['members'] > 1 else ''}{counted(about['members'], 'member')}"
    extent = f"{about['first']} to {about['last']}, {counted(about['steps'], 'step')}"
    first = f"{targets}: {count}, {counted(about['sites'], 'site')}, {extent}"
    return [first, *_warning(about["warmup_steps"], about["steps"]), *_scores(about)]


def _warning(filling: int, steps: int) -> list[str]:
    """Which steps not to use, where there are some."""
    if not filling:
        return []
    whole = " (all there are: give more data before them)" if filling == steps else ""
    return [f"warm-up: do not use the first {filling} steps{whole}; they are marked in `warmup`"]


def _scores(about: dict[str, Any]) -> list[str]:
    """The scores, where there are observations."""
    values = {name: about["median"].get(name) for name in HEADLINE}
    known = ", ".join(f"{name.upper()} {value:.3f}" for name, value in values.items() if value is not None)
    over = ", median over sites" if about["sites"] > 1 else ""
    return [f"{known} after the warm-up{over}"] if known else []
