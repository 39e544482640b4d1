"""The example of docs/report.md: `python tests/support/page_pictures.py RUN... --out docs/figures`."""

import argparse
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from mclstm.cli.main import main
from mclstm.data.fulda import fulda

WIDTHS = {"page.png": (1280, 1620), "page-narrow.png": (400, 1620)}  # and height


def pictures(page: Path, folder: Path, sites: Path | None) -> None:
    """What a reader sees first, on a desk and on a telephone; sites: a page of many sites, for its map."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, (width, height) in WIDTHS.items():
            tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
            tab.goto(page.absolute().as_uri())
            tab.evaluate("mclstm.ready")
            tab.screenshot(path=folder / name)
        if sites is not None:
            tab = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
            tab.goto(sites.absolute().as_uri())
            tab.evaluate("mclstm.ready")
            tab.locator("#sites").screenshot(path=folder / "page-sites.png")
        browser.close()


def build(runs: list[Path], folder: Path, sites: Path | None) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        words = ["report", *map(str, runs), "--single-file", "--out", scratch]
        assert main(words) == 0
        # Where the data lies on this machine is nobody's business.
        text = Path(scratch, "report.html").read_text(encoding="utf-8").replace(str(fulda()), fulda().name)
        (folder / "fulda.html").write_text(text, encoding="utf-8")
    pictures(folder / "fulda.html", folder, sites)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--sites", type=Path, help="a page of many sites")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    build(options.runs, options.out, options.sites)
