"""Notebooks written as Python files with `# %%` cells: run, then turned into a page and an .ipynb file.

The cells run in this process, one after the other, in a folder of their own. What a cell prints, and the
value of its last line, becomes its output: a figure, a table, or text. An error ends the build.
"""

import ast
import base64
import io
import json
import re
import tempfile
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from mclstm.report.style import render

CELL = re.compile(r"^# %%(?P<markdown> \[markdown\])?\n", re.MULTILINE)


class Cell(NamedTuple):
    """A cell as it is written."""

    code: bool
    text: str


class Output(NamedTuple):
    """What a cell showed; each may be empty."""

    printed: str = ""
    html: str = ""
    png: bytes = b""


def read_cells(source: str) -> list[Cell]:
    """The cells of a file; what stands before the first `# %%` is left out.

    >>> [cell.text for cell in read_cells("# %% [markdown]\\n# Title\\n#\\n# Text\\n\\n# %%\\n1 + 1\\n")]
    ['Title\\n\\nText', '1 + 1']
    """
    marks = list(CELL.finditer(source))
    ends = [mark.start() for mark in marks[1:]] + [len(source)]
    cells = []
    for mark, end in zip(marks, ends, strict=True):
        text = source[mark.end() : end].strip("\n")
        if mark["markdown"]:
            text = re.sub(r"^# ?", "", text, flags=re.MULTILINE)
        cells.append(Cell(not mark["markdown"], text))
    return cells


def run(cells: list[Cell], name: str) -> list[Output]:
    """The output of every cell, an empty one for text."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        return [run_cell(cell.text, names, name) if cell.code else Output() for cell in cells]


def run_cell(text: str, names: dict[str, Any], name: str) -> Output:
    """Run a cell in a namespace; its last line, if it is an expression, is shown."""
    tree = ast.parse(text)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(tree, name, "exec"), names)
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), names)
    return shown(value, printed.getvalue())


def shown(value: object, printed: str) -> Output:
    """A figure as a picture, a table as HTML, everything else as text.

    >>> shown(3, "two\\n").printed
    'two\\n3\\n'
    """
    if isinstance(value, Figure):
        return Output(printed, png=render(value, "png"))
    if isinstance(value, pd.Series):
        value = value.to_frame()
    if isinstance(value, pd.DataFrame):
        # Without the class of pandas: the site styles plain tables.
        html = value.to_html(border=0, float_format="{:.4g}".format).replace(' class="dataframe"', "")
        return Output(printed, html=html)
    return Output(printed if value is None else f"{printed}{value!r}\n")


def as_markdown(cells: list[Cell], outputs: list[Output], stem: str) -> str:
    """The page: text as it is, code and what it showed; pictures are files named by stem and place."""
    parts = [f"[This page as a notebook]({stem}.ipynb)"]
    for at, (cell, output) in enumerate(zip(cells, outputs, strict=True)):
        parts.append(f"```python\n{cell.text}\n```" if cell.code else cell.text)
        parts += [f"```text\n{output.printed.rstrip()}\n```"] if output.printed else []
        parts += [output.html] if output.html else []
        parts += [f"![What the cell above draws]({picture(stem, at)})"] if output.png else []
    # The title first, so that the page has it.
    return "\n\n".join([parts[1], parts[0], *parts[2:]]) + "\n"


def picture(stem: str, at: int) -> str:
    """The file of a cell's picture."""
    return f"{stem}-{at}.png"


def as_ipynb(cells: list[Cell], outputs: list[Output]) -> str:
    """The same in Jupyter's format, with outputs; the first cell lets Jupyter show figures."""
    body = [code_cell("setup", "%matplotlib inline", Output())]
    for at, (cell, output) in enumerate(zip(cells, outputs, strict=True)):
        name = f"cell-{at}"
        body.append(code_cell(name, cell.text, output) if cell.code else text_cell(name, cell.text))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": about, "cells": body}, indent=1) + "\n"


def text_cell(name: str, text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": text}


def code_cell(name: str, text: str, output: Output) -> dict[str, Any]:
    outputs: list[dict[str, Any]] = []
    if output.printed:
        outputs.append({"output_type": "stream", "name": "stdout", "text": output.printed})
    for form, value in (("text/html", output.html), ("image/png", base64.b64encode(output.png).decode())):
        if value:
            outputs.append({"output_type": "display_data", "metadata": {}, "data": {form: value}})
    about = {"cell_type": "code", "id": name, "metadata": {}, "execution_count": None}
    return about | {"source": text, "outputs": outputs}


def built(path: Path) -> dict[str, str | bytes]:
    """The files that a notebook becomes, by name: its page, its pictures and its .ipynb."""
    stem, cells = path.stem.replace("_", "-"), read_cells(path.read_text())
    outputs = run(cells, path.name)
    files: dict[str, str | bytes] = {picture(stem, at): out.png for at, out in enumerate(outputs) if out.png}
    files[f"{stem}.md"] = as_markdown(cells, outputs, stem)
    files[f"{stem}.ipynb"] = as_ipynb(cells, outputs)
    return files
