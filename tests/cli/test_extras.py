"""Without the extras every command, and `mclstm.fit`, says in one sentence what to install."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mclstm.cli import main as command
from mclstm.cli.main import main
from mclstm.cli.verbs import PAPER_VERBS, VERBS

APP = ["typer", "rich", "pandas", "xarray", "pydantic", "yaml", "matplotlib", "scipy", "h5netcdf", "h5py"]
REMEDY = 'is missing. Install it with: pip install "mclstm[app]"'

# Arguments that bring a verb to its first use of a package.
ARGUMENTS = {
    "demo": ["--out", "runs", "--updates", "1"], "check": ["river.csv"], "config": ["river.yaml"],
    "init": ["river.csv", "--out", "new.yaml"], "trace": ["run"],
    "train": ["river.yaml"], "resume": ["run"], "evaluate": ["run"], "report": ["run"], "doctor": [],
    "import-nh": ["river.yaml"], "predict": ["run", "--data", "river.csv"], "pack": ["run", "--out", "pack"],
    "export": ["run", "--out", "files"], "tune": ["river.yaml"],
}  # fmt: skip

# Run in a process of its own: the packages are blocked before anything imports them.
PROGRAM = """
import contextlib, io, json, sys
from importlib.abc import MetaPathFinder
blocked, commands = json.loads(sys.argv[1]), json.loads(sys.argv[2])

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
import mclstm
from mclstm.cli.main import main
answers = {}
for words in commands:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    answers[words[0]] = [code, out.getvalue(), err.getvalue()]
try:
    mclstm.fit
except ImportError as error:
    answers["fit"] = [type(error).__name__, "", str(error)]
print(json.dumps(answers))
"""


def answers(blocked: list[str], commands: list[list[str]], folder: Path) -> dict[str, list[str]]:
    """Exit code, output and messages of every command, and the error of `mclstm.fit`."""
    line = [sys.executable, "-c", PROGRAM, json.dumps(blocked), json.dumps(commands)]
    shown = subprocess.run(line, capture_output=True, text=True, check=False, cwd=folder)
    assert shown.returncode == 0, shown.stderr
    result: dict[str, list[str]] = json.loads(shown.stdout)
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that a command can begin with."""
    place = tmp_path_factory.mktemp("extras")
    (place / "river.csv").write_text("date,rain,flow\n2001-01-01,1,1\n2001-01-02,0,1\n")
    (place / "river.yaml").write_text("name: river\n")
    (place / "run").mkdir()
    (place / "run" / "config.yaml").write_text("name: river\n")
    return place


def test_the_arguments_cover_every_verb() -> None:
    assert ARGUMENTS.keys() == VERBS.keys()


def test_without_extras_every_command_and_fit_say_what_to_install(folder: Path) -> None:
    said = answers(APP, [[verb, *words] for verb, words in ARGUMENTS.items()], folder)
    assert said.pop("fit")[0] == "ImportError"
    for verb, (code, out, err) in said.items():
        assert (code, out) == (2, ""), verb
        assert err == f"mclstm {verb}: the package typer {REMEDY}\n"


def test_a_package_that_is_imported_late_is_named_as_well(folder: Path) -> None:
    """With the packages of the command line alone, every verb but doctor gets to its first import of data."""
    commands = [[verb, *words] for verb, words in ARGUMENTS.items() if verb != "doctor"]
    said = answers(APP[2:], commands, folder)
    assert said.pop("fit")[0] == "ImportError"
    for verb, (code, out, err) in said.items():
        assert (code, out) == (2, ""), verb
        assert err.startswith(f"mclstm {verb}: the package ")
        assert err.endswith(f"{REMEDY}\n")
        assert len(err.splitlines()) == 1


def test_help_and_version_need_no_extras(folder: Path) -> None:
    said = answers(APP, [["--help"], ["--version"]], folder)
    assert [said[word][0] for word in ("--help", "--version")] == [0, 0]


@pytest.mark.parametrize("verb", PAPER_VERBS)
def test_verbs_of_the_paper_say_that_it_is_not_installed(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "entry_points", lambda **_: ())
    assert main([verb, "addition"]) == 2
    message = capsys.readouterr().err
    assert message == (
        f"mclstm {verb} belongs to the package mclstm-paper, which is not installed. "
        "Install it from a checkout of the repository: pip install ./paper\n"
    )
