"""The house of the paper: what experiments share imports no experiment."""

import ast
from pathlib import Path

import pytest

import mclstm_paper
from mclstm_paper import registry

SOURCE = Path(mclstm_paper.__file__).parent
EXPERIMENTS = {
    "addition", "recurrent_arithmetic", "static_arithmetic", "mnist_sum", "traffic", "pendulum", "hnn",
    "hydrology",
}  # fmt: skip
FRAMEWORK = [
    path for name in ("seeds", "baselines", "kernels") for path in sorted((SOURCE / name).rglob("*.py"))
]
# registry.py names the modules of the experiments as strings.
FRAMEWORK += [path for path in sorted(SOURCE.glob("*.py")) if path.name != "registry.py"]
ARITHMETIC = sorted((SOURCE / "arithmetic").rglob("*.py"))


def folders(path: Path) -> set[str]:
    """The folders and modules of mclstm_paper that a file imports, at its top or within a function."""
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return {name.split(".")[1] for name in names if name.startswith("mclstm_paper.")}


@pytest.mark.parametrize("path", [*FRAMEWORK, *ARITHMETIC], ids=lambda path: str(path.relative_to(SOURCE)))
def test_what_experiments_share_imports_no_experiment(path: Path) -> None:
    assert not folders(path) & EXPERIMENTS


@pytest.mark.parametrize("path", FRAMEWORK, ids=lambda path: str(path.relative_to(SOURCE)))
def test_the_framework_does_not_import_arithmetic(path: Path) -> None:
    assert "arithmetic" not in folders(path)


def test_every_experiment_is_named() -> None:
    assert {module.split(".")[1] for module in registry.EXPERIMENTS.values()} == EXPERIMENTS
