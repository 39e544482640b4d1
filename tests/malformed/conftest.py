"""What a refusal must look like: exit 2, at most 5 lines with place and remedy, no traceback."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mclstm.cli.main import main


@pytest.fixture
def refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[list[str], str], None]:
    """Run `mclstm check` with arguments in this process; the message must contain the word."""
    monkeypatch.setenv("MCLSTM_CACHE", str(tmp_path / "cache"))

    def run(argv: list[str], word: str) -> None:
        assert main(["check", *argv]) == 2
        message = capsys.readouterr().err
        assert 1 <= len(message.strip().splitlines()) <= 5, message
        assert len(message) < 2000
        assert word in message, message
        assert "Traceback" not in message
        assert ". " in message, f"no sentence with a remedy: {message}"

    return run
