"""The command `mclstm`: one file per verb, imported only when that verb is called.

Exit codes: 0; 2 for a user's mistake (one message, no traceback); 1 for a bug; 130 when interrupted, 143 when
terminated.
"""

import os
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from mclstm.cli.one_voice import helping, may_speak, require_alone
from mclstm.cli.verbs import PAPER_VERBS, VERBS, example, meant, purpose
from mclstm.errors import (
    CheckpointError,
    ConfigError,
    ConservationError,
    DataError,
    DataWarning,
    Interrupted,
    NotFiniteError,
    StorageError,
    TrainingError,
    WorkerError,
    missing_extra,
)
from mclstm.ops.native.build import chosen

__all__ = ["main"]

MISTAKES = (
    CheckpointError,
    ConfigError,
    ConservationError,
    DataError,
    NotFiniteError,
    StorageError,
    TrainingError,
    WorkerError,
)
TOGETHER = ("train", "resume")  # verbs that several processes of torchrun do together
LONGEST = 5  # lines of a message
COMPLETION = "_MCLSTM_COMPLETE"  # set by the shell while a line is typed


def main(argv: list[str] | None = None) -> int:
    """Run one verb and return the exit code."""
    words = sys.argv[1:] if argv is None else argv
    if COMPLETION in os.environ or (words and words[0] in ("--install-completion", "--show-completion")):
        return complete(words)
    if not words or words[0] in ("-h", "--help"):
        print(_usage())
        return 0 if words else 2
    if words[0] == "--version":
        from mclstm import __version__

        print(f"mclstm {__version__}")
        return 0
    if words[0] not in (*VERBS, *PAPER_VERBS):
        return _say(f"mclstm has no verb {words[0][:40]!r}. {meant(words[0])}", 2)
    return _run(words[0], words[1:])


def _run(verb: str, words: list[str]) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("default", DataWarning)
        warnings.showwarning = _show(warnings.showwarning)
        return _outcome(verb, words)


def _show(plainly: Callable[..., None]) -> Callable[..., None]:
    """Warnings about data as one line each; the others as Python shows them."""

    def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        if issubclass(category, DataWarning):
            if not helping():
                _say(f"warning: {message}", 0)
        else:
            plainly(message, category, *rest, **more)

    return show


def _outcome(verb: str, words: list[str]) -> int:
    """The exit code of a verb; every mistake becomes one message."""
    try:
        chosen()  # a wrong MCLSTM_KERNEL is refused before anything is written
        if verb not in TOGETHER:
            require_alone(verb)
        function = _function(verb)
        import typer

        app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        app.command(verb, epilog=f"Example: {example(verb)}")(function)
        code = app(words, prog_name=f"mclstm {verb}", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except MISTAKES as error:
        return _say(str(error), 2) if may_speak() else 2
    except Interrupted as stop:
        return _say(str(stop), 128 + stop.signum)
    except KeyboardInterrupt:
        return _say("interrupted", 130)
    except Exception as error:
        if (remedy := missing_extra(error)) is not None:
            return _say(f"mclstm {verb}: {remedy}", 2)
        if hasattr(error, "format_message"):  # the command line itself was wrong
            return _say(f"{error.format_message().rstrip('.')}. Try: mclstm {verb} --help", 2)
        if type(error).__name__ == "Abort":
            return _say("interrupted", 130)
        if not may_speak():
            return 1
        traceback.print_exc()
        return _say("This is a bug in mclstm: please report the lines above.", 1)


def _function(verb: str) -> Callable[..., Any]:
    if verb in VERBS:
        function: Callable[..., Any] = getattr(import_module(VERBS[verb][0]), verb.replace("-", "_"))
        return function
    for entry in entry_points(group="mclstm.verbs", name=verb):
        loaded: Callable[..., Any] = entry.load()
        return loaded
    raise ConfigError(
        f"mclstm {verb} belongs to the package mclstm-paper, which is not installed. "
        "Install it from a checkout of the repository: pip install ./paper"
    )


def complete(words: list[str]) -> int:
    """Serve the shell: install or show the script of completion, or complete a line that is being typed."""
    try:
        import typer
    except ModuleNotFoundError as error:
        return _say(f"mclstm: {missing_extra(error)}", 2)

    app = typer.Typer(add_completion=True, pretty_exceptions_enable=False)
    for verb in (*VERBS, *PAPER_VERBS):
        with suppress(ConfigError):  # the verbs of the paper may not be installed
            app.command(verb, help=purpose(verb))(_function(verb))
    try:
        app(words, prog_name="mclstm")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0


def _say(message: str, code: int) -> int:
    lines = [line for line in message.splitlines() if line.strip()]
    # Names in data are foreign text: no escape sequence in them reaches the terminal.
    printable = [
        "".join(letter if letter.isprintable() else "?" for letter in line) for line in lines[:LONGEST]
    ]
    print("\n".join(printable), file=sys.stderr)
    return code


def _usage() -> str:
    verbs = "\n".join(f"  {verb:<12}{purpose(verb)}" for verb in (*VERBS, *PAPER_VERBS))
    ends = "mclstm VERB --help explains a verb. mclstm --install-completion completes them in your shell."
    return f"usage: mclstm VERB [arguments]\n\n{verbs}\n\n{ends}"
