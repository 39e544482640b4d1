"""The documentation site: its pages, its links, its snippets and commands; `make site` builds it."""

import doctest
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import notebook_pages
import pytest
import site_pages
import typer
import yaml

import mclstm
from mclstm.cli import main as command
from mclstm.config import check_config

ROOT = Path(__file__).parents[3]
DOCS = sorted((ROOT / "docs").glob("*.md"))
WRITTEN = [*DOCS, *(ROOT / name for name in site_pages.PAGES)]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.py"))
# Pages whose Python needs a trained run, and the tests that run it.
ELSEWHERE = {"operation.md": "tests/deploy/test_stepper.py"}


def nav(entry: Any) -> list[str]:
    """Every file of a part of the navigation."""
    if isinstance(entry, str):
        return [entry]
    parts = entry.values() if isinstance(entry, dict) else entry
    return [name for part in parts for name in nav(part)]


def uri_of(path: Path) -> str:
    return str(site_pages.place_of(str(path.relative_to(ROOT))))


def test_the_navigation_names_every_page_once() -> None:
    shown = nav(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    notebooks = [f"notebooks/{path.stem.replace('_', '-')}.md" for path in NOTEBOOKS]
    assert sorted(shown) == sorted([*map(uri_of, WRITTEN), *notebooks])
    assert len(NOTEBOOKS) == 4


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_links_of_a_page_lead_to_the_site(path: Path) -> None:
    uri = uri_of(path)
    copied = {f"files/{name}" for name in site_pages.linked_files(uri, path.read_text())}
    known = {*map(uri_of, WRITTEN), *copied}
    known |= {str(file.relative_to(ROOT / "docs")) for file in (ROOT / "docs").rglob("*") if file.is_file()}
    known |= {f"notebooks/{notebook.stem.replace('_', '-')}.md" for notebook in NOTEBOOKS}
    for link in site_pages.LINK.finditer(site_pages.prepared(uri, path.read_text())):
        assert "://" in link[3] or link[3] in known, link[0]


def test_every_public_name_is_in_the_reference() -> None:
    page = (ROOT / "docs" / "api.md").read_text()
    listed = re.findall(r"^::: (\S+)\.(\w+)$", page, flags=re.MULTILINE)
    assert {name: module for module, name in listed} == mclstm.PUBLIC


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_python_on_a_page_runs(path: Path) -> None:
    if path.name in ELSEWHERE:
        assert path.name in (ROOT / ELSEWHERE[path.name]).read_text()
        return
    names: dict[str, Any] = {"__name__": "page"}
    for snippet in re.findall(r"```python\n(.*?)```", path.read_text(), flags=re.DOTALL):
        exec(snippet, names)


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_configs_on_a_page_load(path: Path) -> None:
    for text in re.findall(r"```yaml\n(.*?)```", path.read_text(), flags=re.DOTALL):
        content = yaml.safe_load(text)
        if "model" in content and "data" in content:
            check_config(content)


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_commands_on_a_page_have_the_options_shown(path: Path) -> None:
    for verb, rest in re.findall(r"^ {4}mclstm ([\w-]+)([^#\n]*)", path.read_text(), flags=re.MULTILINE):
        known = options_of(command._function(verb))
        assert set(re.findall(r"(?<= )--[\w-]+", rest)) <= known, f"mclstm {verb}{rest}"


def options_of(verb: Callable[..., object]) -> set[str]:
    """Every option the verb takes, as it is typed."""
    app = typer.Typer()
    app.command()(verb)
    return {name for one in typer.main.get_command(app).params for name in (*one.opts, *one.secondary_opts)}


def test_the_builders_examples_hold() -> None:
    for module in (site_pages, notebook_pages):
        assert doctest.testmod(module).failed == 0


def test_a_list_needs_no_blank_line_and_code_stays_as_it_is() -> None:
    text = "Two:\n- one\n  more\n- two\n\n```text\nA:\n- b [c](d.md)\n```\n"
    assert site_pages.prepared("theory.md", text) == text.replace("Two:\n", "Two:\n\n")


def test_a_link_to_a_folder_is_its_text() -> None:
    shown = site_pages.prepared("index.md", "[results/](results), [a](docs/own-data.md#mass), [b](LICENSE)")
    assert shown == "results/, [a](own-data.md#mass), [b](files/LICENSE)"


def test_a_notebook_becomes_a_page_with_outputs_and_a_file_for_jupyter(tmp_path: Path) -> None:
    source = (
        '"""Left out."""\n# %% [markdown]\n# # Title\n\n# %%\nfrom matplotlib.figure import Figure\n'
        '\nprint("hi")\n'
        "Figure()\n\n# %%\nimport pandas as pd\n\npd.Series([1.0])\n\n# %%\nx = 2\n"
    )
    (tmp_path / "my_page.py").write_text(source)
    files = notebook_pages.built(tmp_path / "my_page.py")
    assert set(files) == {"my-page.md", "my-page.ipynb", "my-page-1.png"}
    page = str(files["my-page.md"])
    assert page.startswith(
        "# Title\n\n[This page as a notebook](my-page.ipynb)\n\n```python\nfrom matplotlib"
    )
    assert "```text\nhi\n```\n\n![What the cell above draws](my-page-1.png)" in page
    assert "<table" in page
    cells = json.loads(files["my-page.ipynb"])["cells"]
    assert [cell["cell_type"] for cell in cells] == ["code", "markdown", "code", "code", "code"]
    assert [output["output_type"] for output in cells[2]["outputs"]] == ["stream", "display_data"]


def test_an_error_in_a_notebook_ends_the_build(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("# %%\n1 / 0\n")
    with pytest.raises(ZeroDivisionError):
        notebook_pages.built(tmp_path / "broken.py")
