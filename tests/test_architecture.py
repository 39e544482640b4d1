"""ARCHITECTURE.md is one page and true: it names every folder, and every file it names exists."""

import re
import tomllib
from pathlib import Path

import pytest

import mclstm
from mclstm.errors import EXTRAS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "ARCHITECTURE.md").read_text()
PACKAGES = {"library": ROOT / "src" / "mclstm", "paper": ROOT / "paper" / "src" / "mclstm_paper"}
FOLDERS = [
    pytest.param(path, id=str(path.relative_to(ROOT)))
    for package in PACKAGES.values()
    for path in sorted(package.rglob("*"))
    if path.is_dir() and list(path.glob("*.py"))
]


def part(package: str) -> str:
    """The tree of a package on the page."""
    library, _, paper = PAGE.partition("## The paper's package")
    return library if package == "library" else paper


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_tree_names_every_folder(folder: Path) -> None:
    package = "paper" if "mclstm_paper" in folder.parts else "library"
    assert f"{folder.name}/" in part(package)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_file_the_tree_names_exists(package: str) -> None:
    there = {path.name for path in PACKAGES[package].rglob("*.py")}
    tree = re.findall(r"^    .*$", part(package), flags=re.MULTILINE)
    named = {name for line in tree for name in re.findall(r"\b[\w]+\.py\b", line)}
    assert named
    assert named <= there, named - there


def test_the_tree_names_every_module_at_the_root_of_the_library() -> None:
    root = {path.name for path in PACKAGES["library"].glob("*.py")} - {"__init__.py", "__main__.py"}
    assert not [name for name in sorted(root) if name not in part("library")]


def test_it_is_one_page() -> None:
    assert PAGE.count("\n") <= 130


def test_the_version_stands_in_one_place() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert settings["dynamic"] == ["version"]
    assert re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), flags=re.MULTILINE) == [
        mclstm.__version__
    ]
    assert f"## {mclstm.__version__} (" in (ROOT / "CHANGELOG.md").read_text()


def test_every_package_of_an_extra_is_known_by_its_import_name() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra, names in EXTRAS.items():
        packages = {
            name.lower() for text in extras[extra] for name in re.findall(r"[A-Za-z0-9]+", text.split(">")[0])
        }
        assert packages == {"pyyaml" if name == "yaml" else name for name in names}


def test_contributing_names_files_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    paths = {name for name in re.findall(r"`((?:src|paper|tests|docs)/[\w/.-]+)`", text) if "<" not in name}
    assert len(paths) > 10
    assert not [name for name in paths if not (ROOT / name).exists()]


def test_no_module_name_stands_for_two_things() -> None:
    """Verbs are named after what they call, and slices of the paper share the names of their parts."""
    slices = {"experiment", "task", "models", "training", "page", "printed", "switches", "figures", "floors"}
    slices |= {"trials", "mass_training"}
    stems: dict[str, list[Path]] = {}
    for package in PACKAGES.values():
        for path in package.rglob("*.py"):
            if path.parent.name != "cli" and path.stem != "__init__":
                stems.setdefault(path.stem, []).append(path)
    twice = {stem: paths for stem, paths in stems.items() if len(paths) > 1 and stem not in slices}
    assert not twice
