"""How large a page is and how fast a browser opens it: the table of docs/report.md.

    python -m mclstm_paper.tracing.page_speed PAGE --name camels-us --about "CAMELS-US, 20 sites traced"

PAGE is the report.html of `mclstm report` or `mclstm demo`. Every visit is a new browser.
"""

import argparse
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mclstm.report.page.page_files import LIBRARY
from mclstm_paper.tracing.trace_file import save_trace

__all__ = ["main", "sizes", "visited"]

FOLDER = Path("results/page")
PATIENCE = 600_000  # ms
# Two frames: the first may still be that of before.
DRAWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


def sizes(page: Path) -> dict[str, int]:
    """Bytes: of what opens the page with its first site, of one site, of all, and of the library."""
    folder = page.with_name(f"{page.stem}_files")
    library = sum((folder / name).stat().st_size for name in LIBRARY)
    sites = [file.stat().st_size for file in folder.glob("site-*.js")]
    every = page.stat().st_size + sum(file.stat().st_size for file in folder.iterdir()) - library
    mean = sum(sites) // len(sites)
    first = every - sum(sites) + (folder / "site-0.js").stat().st_size
    return {"first": first, "per site": mean, "all": every, "library": library}


def visited(page: Path, visits: int) -> dict[str, Any]:
    """Seconds until all of the page is drawn, and until the next site is, one number per visit."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        raise SystemExit("No Chromium on this machine. Install it (Debian: apt-get install chromium).")
    opens, following, about = [], [], {}
    with sync_playwright() as driver:
        for _ in range(visits):
            browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
            tab = browser.new_page(viewport={"width": 1280, "height": 900})
            tab.set_default_timeout(PATIENCE)
            began = time.perf_counter()
            tab.goto(page.absolute().as_uri())
            tab.evaluate(f"mclstm.ready.then({DRAWN})")
            opens.append(time.perf_counter() - began)
            about = tab.evaluate("({sites: mclstm.about.sites.length, steps: mclstm.times().length})")
            if about["sites"] > 1:
                began = time.perf_counter()
                tab.evaluate(f"mclstm.choose_site(1).then({DRAWN})")
                following.append(time.perf_counter() - began)
            version = f"Chromium {browser.version.split('.')[0]}"
            browser.close()
    return {**about, "opens": opens, "next": following, "browser": version}


def main(words: Sequence[str] | None = None) -> None:
    """Open a page some times and write its record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("--name", required=True, help="of the result file")
    parser.add_argument("--about", required=True, help="what the table calls the page")
    parser.add_argument("--visits", type=int, default=5)
    parser.add_argument("--out", type=Path, default=FOLDER)
    options = parser.parse_args(words)
    began = time.perf_counter()
    times = visited(options.page, options.visits)
    content = {"page": options.about, "bytes": sizes(options.page), "load": os.getloadavg()[0], **times}
    save_trace(options.out / f"{options.name}.json", content, began)


if __name__ == "__main__":
    main()
