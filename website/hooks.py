"""What mkdocs calls while it builds the site: pages from outside docs/, copied files, notebooks, links."""

from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from notebook_pages import built
from site_pages import PAGES, ROOT, linked_files, place_of, prepared

NOTEBOOKS = ROOT / "examples" / "notebooks"


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add the pages from outside docs/, run the notebooks, and copy what pages link to."""
    for path, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / path).read_text()))
    for notebook in sorted(NOTEBOOKS.glob("*.py")):
        for name, content in built(notebook).items():
            files.append(File.generated(config, f"notebooks/{name}", content=content))
    pages = [file for file in files.documentation_pages() if not file.src_uri.startswith("notebooks/")]
    for path in sorted({path for page in pages for path in linked_files(page.src_uri, page.content_string)}):
        place = str(place_of(path))
        files.append(File.generated(config, place, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Make links and lists right; those of notebooks are written for the site."""
    uri = page.file.src_uri
    return markdown if uri.startswith("notebooks/") else prepared(uri, markdown)
