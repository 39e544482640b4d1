"""How large the packages are, folder by folder, at a commit: the record behind docs/layout.md.

python -m mclstm_paper.pages.code_sizes COMMIT [COMMIT ...] --out results/layout/sizes.json
"""

import argparse
import json
import subprocess
from pathlib import Path

from mclstm.report.markdown import NOTHING, text_table
from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm_paper.results import committed_results

__all__ = ["sizes", "sizes_table"]

PACKAGES = ("src/mclstm", "paper/src/mclstm_paper")
KINDS = {".py": "python", ".h": "kernel", ".cpp": "kernel"}
Sizes = dict[str, dict[str, int]]  # folder: files and lines of Python, lines of kernel


def sizes(revision: str) -> Sizes:
    """Modules and lines of every folder of the packages at a commit."""
    folders: Sizes = {}
    for name in git("ls-tree", "-r", "--name-only", revision, *PACKAGES).splitlines():
        path = Path(name)
        kind = KINDS.get(path.suffix)
        if kind is None:
            continue
        folder = folders.setdefault(folder_of(path), {"modules": 0, "python": 0, "kernel": 0})
        folder[kind] += git("show", f"{revision}:{name}").count("\n")
        folder["modules"] += kind == "python"
    return folders


def folder_of(path: Path) -> str:
    """The package and the folder below it.

    >>> folder_of(Path("src/mclstm/ops/native/call.py")), folder_of(Path("src/mclstm/pipeline.py"))
    ('mclstm/ops', 'mclstm')
    """
    package = next(Path(name) for name in PACKAGES if path.is_relative_to(name))
    return "/".join((package.name, *path.relative_to(package).parts[:-1][:1]))


def git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout


def sizes_table(root: Path) -> str:
    """Before and after, side by side: folders, packages."""
    before, after = committed_results(root / "results/layout/sizes.json")["commits"]
    folders = sorted({*before["folders"], *after["folders"]})
    rows = [
        [name, *(size(one["folders"].get(name)) for one in (before, after))]
        for name in folders
        if "/" in name or name in after["folders"]
    ]
    totals = [
        [f"**{package}, all**", *(size(total(one["folders"], package)) for one in (before, after))]
        for package in ("mclstm", "mclstm_paper")
    ]
    heads = [f"{one['commit']}: modules, lines, C++" for one in (before, after)]
    return text_table(["folder", *heads], [*totals, *rows])


def total(folders: Sizes, package: str) -> dict[str, int] | None:
    inside = [one for name, one in folders.items() if name.split("/")[0] == package]
    return {key: sum(one[key] for one in inside) for key in inside[0]} if inside else None


def size(folder: dict[str, int] | None) -> str:
    if folder is None:
        return NOTHING
    kernel = f", {folder['kernel']:,} C++" if folder["kernel"] else ""
    return f"{folder['modules']}, {folder['python']:,}{kernel}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commits", nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    commits = [
        {"commit": git("rev-parse", "--short", name).strip(), "folders": sizes(name)}
        for name in options.commits
    ]
    make_folder(options.out.parent)
    write_text_atomic(options.out, json.dumps({"commits": commits}, indent=1) + "\n")


if __name__ == "__main__":
    main()
