"""The page people open: from predictions, scores and traces to one HTML file with its data beside it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
import xarray as xr

__all__ = ["PageModel"]


class PageModel(NamedTuple):
    """One model on the page. All models of a page have the same sites and dates."""

    name: str
    ledgers: Sequence[xr.Dataset]  # what each member predicted; in memory, or read from the disk site by site
    scores: pd.DataFrame  # by site, without rows where nothing was observed
    balance: pd.DataFrame  # by site, amounts per year, see `water_balance`
    config: str  # YAML
    manifest: Mapping[str, Any] = {}
    records: Sequence[Mapping[str, Any]] = ()  # of the journal
    ages: Mapping[str, Mapping[str, Any]] = {}  # by site, see `age_data`
    why_no_ages: str = ""  # a sentence, where sites have none
    cells: Mapping[str, pd.DataFrame] = {}  # by site, see `read_members`
