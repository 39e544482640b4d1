"""The examples to copy: short, shown on their pages as they are, and running from end to end."""

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

from mclstm import pipeline
from mclstm.config import load_config
from mclstm.config.load import anchored

ROOT = Path(__file__).parents[1]
NAMES = ("transport", "warehouse")


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", NAMES)
def test_a_page_shows_a_short_config_and_a_short_script(name: str) -> None:
    page = (ROOT / "docs" / f"{name}.md").read_text()
    config, code = ((ROOT / "examples" / f"{name}.{ending}").read_text() for ending in ("yaml", "py"))
    assert len(config.splitlines()) <= 25
    assert len(code.splitlines()) < 60
    assert f"```yaml\n{config}```" in page
    assert f"```python\n{code}```" in page


def run(config: Path, out: Path, *changes: str) -> pd.DataFrame:
    """Train a config in a small size; the scores of the run's test period."""
    small = ["training.updates=2", "model.hidden_size=3", "periods.validation=null", *changes]
    settings = anchored(load_config(config, small), config.parent)
    result = pipeline.evaluate(pipeline.train(settings, out, quiet=True), figures=False)
    assert set(result.rivals) == {"climatology", "last-week", "regression", "regression-by-time"}
    assert result.balance["relative error"].max() < 1e-5
    return pd.read_csv(result.folder / "metrics.csv").set_index("target")


def test_transport_from_python_and_from_its_config(tmp_path: Path) -> None:
    scores, error = script("transport").main(updates=2, days=12, cells=3)
    assert list(scores.index) == ["out_short", "out_medium", "out_long", "out_far", "total", "pooled"]
    assert 0 < error < 1000
    train, test = "[2013-01-01T04:00, 2013-01-15T03:50]", "[2013-01-15T04:00, 2013-01-18T03:50]"
    periods = [f"periods.train={train}", f"periods.test={test}"]
    table = run(ROOT / "examples/transport.yaml", tmp_path, *periods)
    assert table.index.tolist() == scores.index.tolist()


def test_warehouse_from_python_and_from_its_config(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples/warehouse.yaml", tmp_path)
    scores, error = script("warehouse").main(tmp_path, updates=2, weeks=8)
    assert list(scores.index) == ["out_north", "out_south", "total", "pooled"]
    assert 0 < error < 10_000
    periods = ["periods.train=[2024-01-01, 2024-02-04]", "periods.test=[2024-02-12, 2024-02-18]"]
    table = run(tmp_path / "warehouse.yaml", tmp_path / "runs", *periods)
    assert table.index.tolist() == scores.index.tolist()


def test_every_made_up_pallet_that_left_came_in(tmp_path: Path) -> None:
    table = script("warehouse").made_up(weeks=4)
    inside = (table.filter(like="in_").sum(axis=1) - table.filter(like="out_").sum(axis=1)).cumsum()
    assert (inside >= 0).all()
    assert (table.loc[table["open"] == 0, ["out_north", "out_south"]] == 0).all().all()
