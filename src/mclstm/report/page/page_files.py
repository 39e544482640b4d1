"""The files of a page: one HTML file, and beside it its scripts, styles and data, or all of it in one file.

A page on the disk may not fetch, but it may load scripts: the data of every site is a script of its own,
loaded when the site is chosen. Names and texts reach the page as JSON and are shown as text, never as HTML.
"""

import base64
import hashlib
import html
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote

import pandas as pd

from mclstm.report.comparison import Section
from mclstm.report.page import PageModel
from mclstm.report.page.numbers import script_text
from mclstm.report.page.overview import overview
from mclstm.report.page.site_data import site_data
from mclstm.training.atomic import make_folder, write_bytes_atomic, write_text_atomic

__all__ = ["LIBRARY", "write_page"]

LIBRARY = ("uPlot.iife.min.js", "uPlot.min.css", "uPlot-LICENSE.txt")  # drawn with; all else is ours
SCRIPTS = (
    LIBRARY[0], "start.js", "draw.js", "series.js", "balance.js", "ages.js", "cells.js", "quality.js",
    "sites.js", "page.js",
)  # fmt: skip
STYLES = (LIBRARY[1], "page.css")
# Only what lies beside the page is loaded; `file:` because browsers differ in what 'self' is on a disk.
POLICY = (
    "default-src 'none'; script-src {}; style-src {}; img-src {} data: blob:; "
    "base-uri 'none'; form-action 'none'"
)


def write_page(
    path: Path,
    title: str,
    models: Sequence[PageModel],
    sections: Sequence[Section] = (),
    notes: Sequence[str] = (),
    places: pd.DataFrame | None = None,
    *,
    single_file: bool = False,
) -> Path:
    """Write a page to `path`, and what it loads to the folder <name>_files beside it; returns the path.

    Figures of the sections lie in the folder figures beside the page.
    """
    where = pd.DataFrame() if places is None else places
    about = overview(title, models, sections, notes, where)
    sites = (site_data(models, at) for at in range(len(about["sites"])))
    figures = [name for section in sections for name in section.figures]
    images = {name: path.parent / "figures" / f"{name}.svg" for name in figures}
    make_folder(path.parent)
    if single_file:
        write_text_atomic(path, single(title, about, sites, images))
    else:
        write_text_atomic(path, beside(title, path.with_name(f"{path.stem}_files"), about, sites, images))
    return path


def asset(name: str) -> bytes:
    return resources.files("mclstm.report.page").joinpath("assets", name).read_bytes()


def beside(
    title: str, folder: Path, about: Mapping[str, Any], sites: Iterator[Any], images: Mapping[str, Path]
) -> str:
    """Write the files of a page into a folder; returns the page, which loads them."""
    make_folder(folder)
    for old in folder.glob("site-*.js"):  # of a page with more sites
        old.unlink()
    for name in (*SCRIPTS, *STYLES, LIBRARY[2]):
        write_bytes_atomic(folder / name, asset(name))
    addresses = {name: f"{image.parent.name}/{quote(image.name)}" for name, image in images.items()}
    content = script_text({**about, "files": folder.name, "images": addresses})
    write_text_atomic(folder / "run.js", f"mclstm.run({content});\n")
    for at, site in enumerate(sites):
        write_text_atomic(folder / f"site-{at}.js", f"mclstm.site({at},{script_text(site)});\n")
    address = quote(folder.name)
    own = "'self' file:"
    return filled(
        title,
        POLICY.format(own, own, own),
        [f'<link rel="stylesheet" href="{address}/{name}">' for name in STYLES],
        [f'<script src="{address}/{name}"></script>' for name in (*SCRIPTS[:2], "run.js", *SCRIPTS[2:])],
    )


def single(title: str, about: Mapping[str, Any], sites: Iterator[Any], images: Mapping[str, Path]) -> str:
    """The page with everything in it; the policy names the hashes of its scripts and styles."""
    addresses = {
        name: f"data:image/svg+xml;base64,{encoded(image.read_bytes())}" for name, image in images.items()
    }
    styles, scripts = ([asset(name).decode().strip() for name in names] for names in (STYLES, SCRIPTS))
    data = [
        f'<script type="application/json" id="run">{script_text({**about, "images": addresses})}</script>'
    ]
    data += [
        f'<script type="application/json" id="site-{at}">{script_text(site)}</script>'
        for at, site in enumerate(sites)
    ]
    hashes = (" ".join(f"'sha256-{digest(text)}'" for text in texts) for texts in (scripts, styles))
    return filled(
        title,
        POLICY.format(*hashes, ""),
        [f"<style>{text}</style>" for text in styles],
        [*data, *(f"<script>{text}</script>" for text in scripts)],
    )


def filled(title: str, policy: str, styles: Sequence[str], scripts: Sequence[str]) -> str:
    template = Template(asset("page.html").decode())
    return template.substitute(
        title=html.escape(title), policy=policy, styles="\n".join(styles), scripts="\n".join(scripts)
    )


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def digest(text: str) -> str:
    """SHA-256 of a script or style as a policy names it."""
    return encoded(hashlib.sha256(text.encode()).digest())
