"""What the README shows runs as shown."""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


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


def test_the_tree_in_architecture_is_true() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    for folder in ("ops", "nn"):
        for path in (ROOT / "src" / "mclstm" / folder).glob("*.py"):
            assert path.name == "__init__.py" or path.name in text, f"{path} is missing in ARCHITECTURE.md"
