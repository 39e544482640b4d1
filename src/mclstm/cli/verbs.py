"""The verbs of the command: where each lives, what it does, an example, and what else people call it."""

from difflib import get_close_matches

__all__ = ["PAPER_VERBS", "VERBS", "example", "meant", "purpose"]

# verb: (module with a function of the same name, with _ for -; what it does; an example of its use)
VERBS = {
    "init": (
        "mclstm.cli.init",
        "write a config for your data: roles, units, periods, lengths guessed from it",
        "mclstm init river.csv --area 2977 --unit discharge=m3/s",
    ),
    "demo": (
        "mclstm.cli.demo",
        "train on the river Fulda and compare with an LSTM, in a few minutes",
        "mclstm demo --out runs",
    ),
    "check": (
        "mclstm.cli.check",
        "examine data: gaps, duplicates, sentinels, units, missing values",
        "mclstm check river.csv --mass rain --aux temperature --target flow",
    ),
    "config": (
        "mclstm.cli.config",
        "check a config, show its defaults, print its JSON schema",
        "mclstm config river.yaml --set model.hidden_size=32",
    ),
    "train": (
        "mclstm.cli.train",
        "train a model as a config says, and evaluate it",
        "mclstm train river.yaml --set training.updates=500",
    ),
    "resume": (
        "mclstm.cli.resume",
        "continue an interrupted run",
        "mclstm resume runs/river/20260101-120000-ab12",
    ),
    "tune": (
        "mclstm.cli.tune",
        "search better settings by validation score",
        "mclstm tune river.yaml --trials 40 --workers 4",
    ),
    "evaluate": (
        "mclstm.cli.evaluate",
        "score a run on one of its periods, or any model on data with observations",
        "mclstm evaluate weights/camels-us --data camels --start 1995-10-01 --end 1999-09-30",
    ),
    "predict": (
        "mclstm.cli.predict",
        "simulate new data with a trained run or a packed model",
        "mclstm predict runs/river/20260101-120000-ab12 --data forecast.csv --csv",
    ),
    "pack": (
        "mclstm.cli.pack",
        "pack finished runs of one model into a folder to share",
        "mclstm pack runs/river --out river-model",
    ),
    "export": (
        "mclstm.cli.export",
        "write a model as ONNX and .pt2, for programs without mclstm",
        "mclstm export runs/river/20260101-120000-ab12 --out river-onnx",
    ),
    "report": (
        "mclstm.cli.report",
        "compare models: table, tests, map, water balance, snow",
        "mclstm report runs/river runs/river-lstm --out comparison",
    ),
    "trace": (
        "mclstm.cli.trace",
        "follow the mass: how old the outflow is, where inputs went, what is behind a flood",
        "mclstm trace runs/river/20260101-120000-ab12 --peak 2013-06-01",
    ),
    "import-nh": (
        "mclstm.cli.import_nh",
        "write a config from one of neuralhydrology",
        "mclstm import-nh config.yml --out river.yaml",
    ),
    "doctor": ("mclstm.cli.doctor", "what this installation has and what it lacks", "mclstm doctor"),
}
# Verbs of the package mclstm-paper, which registers them as entry points: this package never imports it.
PAPER_VERBS = {
    "experiment": (
        "rerun an experiment of the paper",
        "mclstm experiment addition --profile quick",
    ),
    "bench": (
        "measure time and memory beside peers and the limit of this machine",
        "mclstm bench --out runtime.json",
    ),
}
# What else people call a verb.
SYNONYMS = {
    "new": "init", "create": "init", "setup": "init", "run": "train", "fit": "train", "continue": "resume",
    "continue_training": "resume", "test": "evaluate", "score": "evaluate", "validate": "check",
    "forecast": "predict", "simulate": "predict", "infer": "predict", "onnx": "export", "compare": "report",
    "plot": "report", "optimize": "tune", "search": "tune",
    "import": "import-nh", "info": "doctor", "version": "--version", "help": "--help",
}  # fmt: skip


def purpose(verb: str) -> str:
    """What a verb does."""
    return VERBS[verb][1] if verb in VERBS else PAPER_VERBS[verb][0]


def example(verb: str) -> str:
    """A line to type."""
    return VERBS[verb][2] if verb in VERBS else PAPER_VERBS[verb][1]


def meant(word: str) -> str:
    """The verb that an unknown word stands for, or all of them, as a sentence.

    >>> meant("chekc"), meant("fit")
    ("Did you mean 'check'?", "Did you mean 'train'?")
    """
    verbs = [*VERBS, *PAPER_VERBS]
    near = SYNONYMS.get(word.lower()) or next(iter(get_close_matches(word.lower(), verbs, 1)), None)
    return f"Did you mean {near!r}?" if near else f"Choose one of {', '.join(verbs)}."
