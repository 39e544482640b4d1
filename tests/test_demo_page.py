"""The demo ends with a page that is small enough to send."""

from pathlib import Path

import pytest

from mclstm.cli.main import main
from mclstm.report.page.page_files import LIBRARY

MOST = 1_500_000  # bytes without the drawing library


def test_the_demo_ends_with_a_small_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--out", str(tmp_path), "--updates", "1", "--quiet"]) == 0
    word, _, path = capsys.readouterr().out.strip().splitlines()[-1].partition(" ")
    page = Path(path)
    assert word == "page"
    assert page == tmp_path / "fulda-report/report.html"
    files = [page, *page.parent.glob("figures/*.svg"), *page.parent.glob("report_files/*")]
    assert sum(file.stat().st_size for file in files if file.name not in LIBRARY) < MOST
    content = (page.parent / "report_files/site-0.js").read_text()
    assert content.startswith('mclstm.site(0,{"inflow":[')
    assert '"peaks":[{"at":' in content
