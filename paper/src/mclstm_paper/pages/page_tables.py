"""The table of docs/report.md: how large pages are, and how fast a browser opens them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mclstm.report.markdown import NOTHING, text_table
from mclstm_paper.experiment import Block
from mclstm_paper.results import committed_results

__all__ = ["BLOCKS"]


def page_table(root: Path) -> str:
    """Size of two pages, and how long a browser takes to open them."""
    pages = [committed_results(root / "results" / "page" / f"{name}.json") for name in ("fulda", "camels-us")]
    lines = [
        [
            page["page"], f"{page['sites']:,}", f"{page['steps']:,}", *(
                f"{page['bytes'][part] / 1e6:.2f}" for part in ("first", "per site", "all")
            ), seconds(page["opens"]), seconds(page["next"]),
        ]
        for page in pages
    ]  # fmt: skip
    head = ["page", "sites", "steps", "to open it (MB)", "per site (MB)", "all files (MB)", "opens in (s)",
            "next site in (s)"]  # fmt: skip
    return (
        f"{text_table(head, lines)}\n\nThe median of {len(pages[0]['opens'])} visits, in brackets the "
        f"shortest and the longest, until all is drawn, in {pages[0]['browser']}; load of the two cores "
        f"{' and '.join(format(page['load'], '.0f') for page in pages)}. The drawing library, "
        f"{pages[0]['bytes']['library'] / 1e6:.2f} MB, is not counted. "
        f"`python -m mclstm_paper.tracing.page_speed PAGE --name NAME`."
    )


def seconds(times: Sequence[float]) -> str:
    """The median, shortest and longest of some times; a page of one site has no next one."""
    if not times:
        return NOTHING
    return f"{np.median(times):.1f} ({min(times):.1f} to {max(times):.1f})"


BLOCKS: dict[str, Block] = {"page-speed": page_table}
