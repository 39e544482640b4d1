"""The command in a process of its own, forked from a server that has everything imported."""

import os
import resource
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path

from mclstm.cli.main import main
from mclstm_paper.durability.run_process import start_process, start_server


def command(words: list[str], messages: Path, largest_file: int | None) -> None:
    """What the process does: the verb, its messages into a file, its exit code as its own."""
    with messages.open("wb") as file:
        os.dup2(file.fileno(), sys.stderr.fileno())
        os.dup2(file.fileno(), sys.stdout.fileno())
    if largest_file is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
    sys.exit(main(words))


def start(words: list[str], messages: Path, largest_file: int | None = None) -> BaseProcess:
    """Begin a verb; `largest_file` bytes is the most a file may have, as on a disk that is full."""
    start_server()
    return start_process(command, words, messages, largest_file)


def refused(words: list[str], messages: Path, largest_file: int | None = None) -> str:
    """The message of a verb that must end with exit code 2 and at most five lines."""
    process = start(words, messages, largest_file)
    process.join()
    text = messages.read_text()
    assert process.exitcode == 2, text
    assert 1 <= len(text.strip().splitlines()) <= 5, text
    assert "Traceback" not in text
    assert ". " in text, f"no sentence with a remedy: {text}"
    return text
