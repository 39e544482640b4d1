"""All figures by name, and the files they become."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from mclstm.data.slug import site_files, slug
from mclstm.evaluation.score_tables import score_table
from mclstm.report.cells import cell_states
from mclstm.report.duration import flow_duration
from mclstm.report.hydrograph import hydrograph
from mclstm.report.learning import learning_curve
from mclstm.report.scatter import scatter
from mclstm.report.series import SiteSeries, site_series, targets
from mclstm.report.style import rendered
from mclstm.training.atomic import make_folder, write_bytes_atomic

__all__ = ["FIGURES", "save", "save_figures", "telling_sites"]

# Each takes (predictions, site, target).
FIGURES: dict[str, Callable[[xr.Dataset, str, str], Figure]] = {
    "hydrograph": hydrograph,
    "scatter": scatter,
    "flow-duration": flow_duration,
    "cells": cell_states,
}

# What a figure cannot do without; the others need a simulation only.
NEEDS: dict[str, Callable[[SiteSeries], bool]] = {
    "scatter": lambda series: series.has_observations,
    "cells": lambda series: series.has_stores,
}
FORMS = ("svg", "png")


def save_figures(
    predictions: xr.Dataset,
    records: Iterable[Mapping[str, Any]],
    folder: str | Path,
    sites: Sequence[str] | None = None,
) -> list[Path]:
    """Write figures/<name>-<site>.svg and .png into a folder, and the learning curve if there are records.

    predictions: what `simulate` gives · records: what `journal.read` gives, may be empty. Without `sites`
    the best, the median and the worst are drawn. A figure that would be empty is left out.
    """
    target = Path(folder) / "figures"
    make_folder(target)
    written: list[Path] = []
    for name, figure in drawn(predictions, telling_sites(predictions) if sites is None else sites):
        written += save(figure, target, name)
    kept = list(records)
    if any(record.get("loss") is not None for record in kept):
        written += save(learning_curve(kept), target, "learning-curve")
    return written


def telling_sites(predictions: xr.Dataset) -> list[str]:
    """At most three sites: the best, the median and the worst by NSE; the first ones without scores."""
    everyone = [str(site) for site in predictions["site"].to_numpy()]
    table = score_table(predictions, ["nse"])
    if len(everyone) <= 3 or table.empty or not np.isfinite(table["nse"]).any():
        return everyone[:3]
    ranked = table.groupby("site", sort=False)["nse"].mean().dropna().sort_values(ascending=False).index
    return list(dict.fromkeys(str(ranked[at]) for at in (0, len(ranked) // 2, -1)))


def drawn(predictions: xr.Dataset, sites: Sequence[str]) -> Iterator[tuple[str, Figure]]:
    """Every figure that has something to show, with the name of its file."""
    # From all sites, not from the chosen ones, so that a site's files keep their name.
    files = site_files(str(site) for site in predictions["site"].to_numpy())
    several = targets(predictions)
    for site in sites:
        for target in several:
            series = site_series(predictions, site, target)
            for name, draw in FIGURES.items():
                # Stores are the same for every target: one figure is enough.
                repeated = name == "cells" and target != several[0]
                if np.isfinite(series.simulated).any() and NEEDS.get(name, bool)(series) and not repeated:
                    parts = [name, *([slug(target)] if target and name != "cells" else []), files[site]]
                    yield "-".join(parts), draw(predictions, site, target)


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """A figure as files, in each form."""
    paths = [folder / f"{name}.{form}" for form in FORMS]
    for path, form in zip(paths, FORMS, strict=True):
        write_bytes_atomic(path, rendered(figure, form))
    return paths
