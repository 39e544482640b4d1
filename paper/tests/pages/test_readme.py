"""The README: short, true, and every command and snippet of it runs as shown."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import mclstm
from mclstm.cli.main import main
from mclstm_paper.pages.fill_pages import filled

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text()


def river(days: str = "2004-12-31") -> pd.DataFrame:
    """Rain, temperature and the flow that leaves a store, in mm/day."""
    dates = pd.date_range("2001-01-01", days, name="date")
    rain = np.random.default_rng(0).gamma(0.5, 6.0, len(dates))
    flow = np.convolve(rain, 0.1 * 0.8 ** np.arange(60))[: len(dates)]
    warmth = 10.0 + 8.0 * np.sin(np.arange(len(dates)) / 58)
    return pd.DataFrame({"rain": rain, "temperature": warmth, "flow": flow}, index=dates)


def gates(days: int) -> pd.DataFrame:
    """Vehicles that enter by two gates every half hour of some days, and leave an hour later."""
    times = pd.date_range("2024-01-01 04:00", periods=48 * days, freq="30min")
    table = pd.DataFrame(
        np.random.default_rng(0).poisson(8.0, (len(times), 2)), times, ["in_north", "in_east"], dtype=float
    )
    return table.assign(
        out_north=table["in_east"].shift(2, fill_value=0.0),
        out_east=table["in_north"].shift(2, fill_value=0.0),
    )


def snippets() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def test_quick_starts_have_at_most_fifteen_lines() -> None:
    sections = re.findall(r"^## (.+?)\n(.*?)(?=^## )", README, flags=re.DOTALL | re.MULTILINE)
    starts = {title: text for title, text in sections if title.startswith(("A layer", "Your own", "A city"))}
    assert len(starts) == 3
    for text in starts.values():
        fenced = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
        plain = re.sub(r"```python\n.*?```", "", text, flags=re.DOTALL)
        code = [*fenced, *re.findall(r"^ {4}.+", plain, re.MULTILINE)]
        assert sum(len([line for line in part.splitlines() if line.strip()]) for part in code) <= 15


def test_the_layer_beside_nn_lstm(capsys: Any) -> None:
    exec(snippets()[0], {})
    assert capsys.readouterr().out.startswith("Flows(T=365, B=32, M=1, K=16")


def test_the_river_in_python_and_in_commands(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    table = river()
    names = {"mclstm": small_fit(), "table": table[:1000], "other_table": table[1000:]}
    exec(snippets()[1], names)
    assert len(names["flow"]) == len(table) - 1000
    monkeypatch.chdir(tmp_path)
    table.to_csv("river.csv")
    table.drop(columns="flow")[-400:].to_csv("next-year.csv")
    for line in re.findall(
        r"^    (mclstm [^#\n]+?) *#", README.partition("## Your own river")[2], re.MULTILINE
    ):
        words = line.split()[1:]
        if words[0] == "train":
            words += ["--quiet", "--no-figures", "--set", "training.updates=2"]
        runs = sorted(Path("runs").glob("*/*/"))
        assert main([str(runs[0]) if word == "RUN" else word for word in words]) == 0, capsys.readouterr().err
    (run,) = Path("runs").glob("*/*/")
    assert pd.read_csv(run / "evaluation/test/mass_balance.csv")["relative error"].iloc[0] < 1e-5


def test_the_citys_gates() -> None:
    names: dict[str, Any] = {"mclstm": small_fit(), "counts": gates(10), "later": gates(3)}
    exec(snippets()[2], names)
    assert names["inside"].dims == ("site", "time")


def small_fit() -> Any:
    """The package with a `fit` of two updates."""

    class Small:
        @staticmethod
        def fit(*arguments: Any, **options: Any) -> Any:
            return mclstm.fit(*arguments, **options, updates=2, hidden_size=3)

    return Small


def test_the_table_of_results_has_at_most_eight_rows() -> None:
    table = README.partition("<!-- headlines -->\n")[2].partition("\n<!-- /headlines -->")[0]
    assert 4 <= len(table.splitlines()) - 2 <= 8


def test_links_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            if not target.startswith(("http", "notebooks/")):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_public_name_is_on_the_page_for_users() -> None:
    page = (ROOT / "docs" / "own-data.md").read_text()
    assert [name for name in mclstm.__all__ if f"`{name}`" not in page] == []


def test_the_tree_in_architecture_is_true() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    for folder in ("ops", "nn"):
        for path in (ROOT / "src" / "mclstm" / folder).glob("*.py"):
            assert path.name == "__init__.py" or path.name in text, f"{path} is missing in ARCHITECTURE.md"


def test_tables_are_what_the_results_say() -> None:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        assert filled(page.read_text(), ROOT) == page.read_text(), f"{page.name} is out of date: make docs"
