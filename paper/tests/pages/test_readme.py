"""What the README shows runs as shown."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import mclstm
from mclstm.cli.main import main
from mclstm_paper.pages.fill_pages import filled

ROOT = Path(__file__).parents[3]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)


def test_the_example_learns_to_add_and_its_books_close() -> None:
    names: dict[str, Any] = {}
    example, audit = blocks("python")[:2]
    assert len([line for line in example.splitlines() if line]) == 10
    exec(example, names)
    # Always answering the mean would give the variance of a sum of two numbers from U(0, 1/2).
    assert names["loss"].item() < 0.01 * (2 * 0.25 / 12)
    exec(audit, names)
    assert float(names["flows"].ledger.error.max()) <= 1e-6


def test_links_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_public_name_is_on_the_page_for_users() -> None:
    page = (ROOT / "docs" / "own-data.md").read_text()
    assert [name for name in mclstm.__all__ if f"`{name}`" not in page] == []


def test_the_tree_in_architecture_is_true() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    for folder in ("ops", "nn"):
        for path in (ROOT / "src" / "mclstm" / folder).glob("*.py"):
            assert path.name == "__init__.py" or path.name in text, f"{path} is missing in ARCHITECTURE.md"


def test_a_new_users_file_becomes_a_model_with_the_config_shown(tmp_path: Path) -> None:
    (config,) = blocks("yaml")
    assert len(config.strip().splitlines()) <= 25
    days = pd.date_range("2001-01-01", "2004-12-31")
    rain = np.random.default_rng(0).gamma(0.5, 6.0, len(days))
    flow = np.convolve(rain, 0.2 * 0.8 ** np.arange(60))[: len(days)] * 120.5e3 / 86400
    table = pd.DataFrame(
        {"date": days, "rain": rain, "temperature": 10.0 + np.sin(np.arange(len(days)) / 58)}
    )
    table.assign(flow=flow).to_csv(tmp_path / "river.csv", index=False)
    (tmp_path / "river.yaml").write_text(config)
    assert main(["check", str(tmp_path / "river.csv")]) == 0
    words = ["train", str(tmp_path / "river.yaml"), "--out", str(tmp_path), "--quiet"]
    assert main([*words, "--set", "training.updates=3"]) == 0
    (run,) = (tmp_path / "my-river").iterdir()
    assert pd.read_csv(run / "evaluation/test/mass_balance.csv")["relative error"].iloc[0] < 1e-5


def test_tables_are_what_the_results_say() -> None:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        assert filled(page.read_text(), ROOT) == page.read_text(), f"{page.name} is out of date: make docs"
