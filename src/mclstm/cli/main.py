"""The command `mclstm`: one file per verb, imported only when that verb is called.

Exit codes: 0; 2 for a user's mistake (one message, no traceback); 1 for a bug; 130 when interrupted, 143 when
terminated.
"""

import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from mclstm.errors import (
    CheckpointError,
    ConfigError,
    ConservationError,
    DataError,
    Interrupted,
    NotFiniteError,
    StorageError,
    TrainingError,
    missing_extra,
)
from mclstm.ops.native.build import chosen

__all__ = ["VERBS", "main"]

# verb: (module with a function of the same name, with _ for -; what it does)
VERBS = {
    "demo": ("mclstm.cli.demo", "train on the river Fulda and compare with an LSTM, in a few minutes"),
    "check": ("mclstm.cli.check", "examine data: gaps, duplicates, sentinels, units, missing values"),
    "config": ("mclstm.cli.config", "check a config, show its defaults, print its JSON schema"),
    "train": ("mclstm.cli.train", "train a model as a config says, and evaluate it"),
    "resume": ("mclstm.cli.resume", "continue an interrupted run"),
    "evaluate": ("mclstm.cli.evaluate", "score a run on one of its periods"),
    "predict": ("mclstm.cli.predict", "simulate new data with a trained run or a packed model"),
    "pack": ("mclstm.cli.pack", "pack finished runs of one model into a folder to share"),
    "report": ("mclstm.cli.report", "compare models: table, tests, map, water balance, snow"),
    "import-nh": ("mclstm.cli.import_nh", "write a config from one of neuralhydrology"),
    "doctor": ("mclstm.cli.doctor", "what this installation has and what it lacks"),
}
# Verbs of the package mclstm-paper, which registers them as entry points: this package never imports it.
PAPER_VERBS = {
    "experiment": "rerun an experiment of the paper",
    "bench": "measure time and memory beside peers and the limit of this machine",
}

MISTAKES = (
    CheckpointError,
    ConfigError,
    ConservationError,
    DataError,
    NotFiniteError,
    StorageError,
    TrainingError,
)
LONGEST = 5  # lines of a message


def main(argv: list[str] | None = None) -> int:
    """Run one verb and return the exit code."""
    words = sys.argv[1:] if argv is None else argv
    if not words or words[0] in ("-h", "--help"):
        print(_usage())
        return 0 if words else 2
    if words[0] == "--version":
        from mclstm import __version__

        print(f"mclstm {__version__}")
        return 0
    if words[0] not in (*VERBS, *PAPER_VERBS):
        known = ", ".join((*VERBS, *PAPER_VERBS))
        return _say(f"mclstm has no verb {words[0]!r}. Choose one of {known}.", 2)
    return _run(words[0], words[1:])


def _run(verb: str, words: list[str]) -> int:
    try:
        chosen()  # a wrong MCLSTM_KERNEL is refused before anything is written
        function = _function(verb)
        import typer

        app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        app.command(verb)(function)
        code = app(words, prog_name=f"mclstm {verb}", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except MISTAKES as error:
        return _say(str(error), 2)
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


def _say(message: str, code: int) -> int:
    lines = [line for line in message.splitlines() if line.strip()]
    # Names in data are foreign text: no escape sequence in them reaches the terminal.
    printable = [
        "".join(letter if letter.isprintable() else "?" for letter in line) for line in lines[:LONGEST]
    ]
    print("\n".join(printable), file=sys.stderr)
    return code


def _usage() -> str:
    texts = {verb: text for verb, (_, text) in VERBS.items()} | PAPER_VERBS
    verbs = "\n".join(f"  {verb:<12}{text}" for verb, text in texts.items())
    return f"usage: mclstm VERB [arguments]\n\n{verbs}\n\nmclstm VERB --help explains a verb."
