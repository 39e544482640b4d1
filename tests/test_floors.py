"""The house: imports go one way, files stay small, nothing dangerous is written."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "mclstm"
PAPER = Path(__file__).parents[1] / "paper" / "src" / "mclstm_paper"
FILES = sorted(SOURCE.rglob("*.py"))
BOTH = [*FILES, *sorted(PAPER.rglob("*.py"))]

# Each floor may import the floors before it; a module of the package root stands on its own floor.
FLOORS = [
    {"errors"},
    {"ops"},
    {"nn"},
    {"models", "data"},
    {"training"},
    {"jobs"},
    {"evaluation"},
    {"explain"},
    {"config"},
    {"series_from_config", "evaluation_files"},
    {"from_config"},
    {"simulation", "lessons"},
    {"report"},
    {"run_inputs", "evaluation_of_parts"},
    {"run"},
    {"pipeline", "overfitting", "fitted", "dataframe"},
    {"training_job"},
    {"tuning"},
    {"deploy"},
    {"demo"},
    {"cli"},
]


def floor(parts: tuple[str, ...]) -> int:
    name = parts[0].removesuffix(".py")
    return next((level for level, names in enumerate(FLOORS) if name in names), len(FLOORS))


def imported(path: Path) -> list[str]:
    tree = ast.parse(path.read_text())
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            # `from mclstm import pipeline` names a module of the package, `import MCLSTM` does not.
            inside = [f"mclstm.{alias.name}" for alias in node.names if is_module(alias.name)]
            names += inside if node.module == "mclstm" else [node.module or ""]
    return names


def is_module(name: str) -> bool:
    return (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").is_file()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way(path: Path) -> None:
    parts = path.relative_to(SOURCE).parts
    if parts == ("__init__.py",):
        return
    for name in imported(path):
        if name.startswith("mclstm."):
            target = tuple(name.split(".")[1:])
            assert floor(target) <= floor(parts), f"{path} imports {name} from a floor above"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_the_library_never_imports_the_paper(path: Path) -> None:
    assert not [name for name in imported(path) if name.split(".")[0] == "mclstm_paper"]


@pytest.mark.parametrize(
    "path", [p for p in FILES if p.relative_to(SOURCE).parts[0] in ("ops", "nn")], ids=str
)
def test_the_lower_floors_import_only_torch(path: Path) -> None:
    for name in imported(path):
        root = name.split(".")[0]
        assert root in {"torch", "mclstm"} or root in sys.stdlib_module_names, f"{path} imports {name}"


@pytest.mark.parametrize("path", BOTH, ids=lambda path: "/".join(path.parts[-3:]))
def test_files_and_functions_stay_small(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= 300, "split it"
    assert path.stem not in {"utils", "helpers", "misc", "common", "base"}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno - node.body[0].lineno <= 60, f"{node.name} is too long"


@pytest.mark.parametrize("path", BOTH, ids=lambda path: "/".join(path.parts[-3:]))
def test_nothing_dangerous(path: Path) -> None:
    pattern = r"\bpickle\b|torch\.load\(|\beval\(|\bexec\(|shell=True|yaml\.load\("
    text = re.sub(r"\.eval\(\)", "", path.read_text())
    assert not re.search(pattern, text)


def test_import_loads_nothing_beyond_torch_numpy_and_safetensors() -> None:
    code = (
        "import sys, torch, numpy, safetensors, safetensors.torch; before = set(sys.modules); "
        "import mclstm; apart = ('fit', 'Fitted', 'Stepper'); "
        "[getattr(mclstm, name) for name in mclstm.__all__ if name not in apart]; "
        "print([name for name in set(sys.modules) - before if name.split('.')[0] != 'mclstm'])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_import_alone_does_not_load_torch() -> None:
    code = "import sys, mclstm; print('torch' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False"


def test_type_checkers_see_every_public_name() -> None:
    import mclstm

    tree = ast.parse((SOURCE / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    assert {alias.asname: node.module for node in imports for alias in node.names} == mclstm.PUBLIC


def test_every_public_name_exists_and_others_do_not() -> None:
    import mclstm

    assert set(mclstm.__all__) <= set(dir(mclstm))
    assert all(getattr(mclstm, name).__doc__ for name in mclstm.__all__)
    with pytest.raises(AttributeError, match="no attribute 'LSTM'"):
        _ = mclstm.LSTM
