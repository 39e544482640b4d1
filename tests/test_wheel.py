"""The wheel people install: it holds the library only, runs on torch alone, and names the missing extra."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[1]
INSTALLED = Path(torch.__file__).parents[1]
# What `pip install mclstm` brings: torch, numpy, safetensors, and what torch itself imports.
BASE = (
    "torch",
    "torchgen",
    "functorch",
    "numpy",
    "numpy.libs",
    "safetensors",
    "typing_extensions.py",
    "sympy",
)
BASE += ("mpmath", "networkx", "jinja2", "markupsafe", "filelock", "fsspec", "setuptools", "_distutils_hack")
OURS = re.compile(r"mclstm|__editable__|.*\.pth$|__pycache__", re.IGNORECASE)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # From a copy of what git tracks: a build folder that somebody left is no part of the package.
    wanted = ("src", "pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")
    listing = ["git", "ls-files", "-co", "--exclude-standard", *wanted]
    files = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    # With the kernels of this checkout, which are of the same source: compiling takes a minute.
    files += [str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.so")]
    for name in files:
        if (ROOT / name).is_file():
            target = folder / "source" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / name).read_bytes())
    line = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-q"]
    subprocess.run([*line, "-w", str(folder), str(folder / "source")], check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty environment with the wheel in it, which borrows torch from ours: nothing is downloaded."""
    home = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    packages = next(home.glob("lib/python*/site-packages"))
    borrow(packages, BASE)
    line = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(home / "bin/python"),
        "install",
        "--no-deps",
        "--no-index",
    ]
    subprocess.run([*line, "-q", str(wheel)], check=True, capture_output=True)
    return home


def borrow(packages: Path, names: tuple[str, ...]) -> None:
    for name in names:
        if (INSTALLED / name).exists() and not (packages / name).exists():
            (packages / name).symlink_to(INSTALLED / name)


def run(home: Path, *words: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [str(home / "bin" / words[0]), *words[1:]],
        capture_output=True,
        text=True,
        check=False,
        env=plain,
        cwd=folder,
    )


def test_the_wheel_holds_the_library_and_nothing_of_the_paper(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"mclstm"}
    assert not [name for name in names if "mclstm_paper" in name]
    modules = {name for name in names if name.endswith(".py")}
    assert modules == {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.py")}
    assert {"mclstm/py.typed", "mclstm/ops/native/kernel.cpp", "mclstm/ops/native/call.h"} <= set(names)
    ours = (ROOT / "src/mclstm/report/page/assets").iterdir()
    assert {str(path.relative_to(ROOT / "src")) for path in ours} <= set(names)
    built = [path.name for path in (ROOT / "src").rglob("*.so")]
    assert {name.split("/")[-1] for name in names if name.endswith(".so")} == set(built)


def test_the_sdist_installs_without_a_compiler(wheel: Path, tmp_path: Path) -> None:
    source = wheel.parent / "source"
    line = [sys.executable, "-m", "build", "--no-isolation", "--sdist", "-o", str(tmp_path), str(source)]
    subprocess.run(line, check=True, capture_output=True)
    (sdist,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
        archive.extractall(tmp_path / "unpacked", filter="data")
    assert not [name for name in names if "mclstm_paper" in name or name.endswith(".so")]
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    line = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-q"]
    plain = os.environ | {"CXX": "no-such-compiler"}
    subprocess.run([*line, "-w", str(tmp_path), str(unpacked)], check=True, capture_output=True, env=plain)
    (built,) = tmp_path.glob("*.whl")
    inside = zipfile.ZipFile(built).namelist()
    assert "mclstm/nn/layer.py" in inside
    assert not [name for name in inside if name.endswith(".so")]


def test_the_layer_of_the_readme_runs_on_torch_alone(environment: Path, tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    program = next(block for block in blocks if "torch.nn.LSTM" in block) + "\nprint(mclstm.__file__)\n"
    shown = run(environment, "python", "-c", program, folder=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines()[-1].startswith(str(environment))


@pytest.mark.parametrize("verb", ["check", "train", "demo", "report", "doctor"])
def test_without_extras_a_command_says_what_to_install(environment: Path, verb: str) -> None:
    shown = run(environment, "mclstm", verb, "river.csv")
    assert shown.returncode == 2
    assert 'pip install "mclstm[app]"' in shown.stderr
    assert len(shown.stderr.splitlines()) == 1


def test_without_extras_fit_says_what_to_install(environment: Path) -> None:
    shown = run(
        environment, "python", "-c", "import mclstm\ntry: mclstm.fit\nexcept ImportError as e: print(e)"
    )
    assert shown.stdout.count("\n") == 1, shown.stderr
    assert 'pip install "mclstm[app]"' in shown.stdout


def test_with_its_extras_it_checks_a_file_and_knows_no_paper(environment: Path, tmp_path: Path) -> None:
    packages = next(environment.glob("lib/python*/site-packages"))
    borrow(packages, tuple(path.name for path in INSTALLED.iterdir() if not OURS.match(path.name)))
    table = "date,rain,flow\n" + "".join(f"2001-01-{day:02},{day % 3},{day % 5}.5\n" for day in range(1, 29))
    (tmp_path / "river.csv").write_text(table)
    shown = run(environment, "mclstm", "check", "river.csv", folder=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "rain" in shown.stdout
    for verb in ("experiment", "bench"):
        shown = run(environment, "mclstm", verb, "addition")
        assert shown.returncode == 2
        assert "mclstm-paper" in shown.stderr
        assert len(shown.stderr.splitlines()) == 1
