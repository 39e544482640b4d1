"""The long runs of the record, those first that tell most for an hour of a core."""

from typing import Any, NamedTuple

from mclstm_paper.options import Options

__all__ = ["LONG_RUNS", "LongRun", "Places", "options_of"]


class Places(NamedTuple):
    """Where the runs find their data; a run whose data is not given is left out."""

    camels: Any = None  # the folder of CAMELS-US
    basins: tuple[str, ...] | None = None
    snow: Any = None  # output of Snow-17
    mnist: Any = None


class LongRun(NamedTuple):
    """One call of `mclstm experiment`, at the paper's scale."""

    name: str
    experiment: str
    options: dict[str, Any]  # fields of Options that are not the usual ones
    hours: float  # of a core, as expected before any of it was measured
    data: tuple[str, ...] = ()  # fields of Places that it needs
    weights: bool = False  # members whose weights are kept; a recipe scores them, not this run
    results: str = ""  # a folder of its own within that of the results


# Those whose results can be taken from the rows of a result file, job by job.
ADDS = ("addition", "static-arithmetic", "recurrent-arithmetic", "mnist-sum")
CAMELS = ("camels", "basins")
# Thirty basins, or five: they are named by the experiments themselves.
FEW = ("camels",)
FLIPS = (
    "mclstm-other-sight", "mclstm-other-identity", "mclstm-other-input-gate", "mclstm-other-start",
)  # fmt: skip


def members(model: str, count: int, hours: float) -> LongRun:
    """Members of a model of the 447 basins, which leave the test years alone."""
    chosen = {"models": (model,), "seeds": count, "no_test": True}
    return LongRun(model, "hydrology", chosen, hours, CAMELS, weights=True)


def flips(protocol: str, hours: float) -> LongRun:
    """Subtraction with each switch between the protocols turned alone."""
    study = {"models": FLIPS, "settings": ("subtraction",), "seeds": 20, "updates": 500_000}
    name = f"one switch from {protocol}"
    return LongRun(name, "recurrent-arithmetic", study | {"protocol": protocol}, hours)


LONG_RUNS = (
    members("hybrid", 10, 2.6),
    LongRun("published ablation", "hydrology-ablation", {"protocol": "published"}, 1.6, FEW),
    LongRun("stated ablation", "hydrology-ablation", {}, 1.6, FEW),
    LongRun("random folds", "hydrology-unseen", {"settings": ("random",)}, 1.5, CAMELS),
    LongRun("region folds", "hydrology-unseen", {"settings": ("region",)}, 1.5, CAMELS),
    LongRun("fine-tuning", "hydrology-fine-tuning", {}, 0.7, CAMELS),
    LongRun("process models", "hydrology-process", {}, 2.0, CAMELS),
    LongRun("guided cell", "hydrology-guided", {}, 0.3, ("camels", "snow")),
    flips("stated", 2.7),
    flips("published", 1.6),
    members("lstm-steered", 10, 4.4),
    members("hybrid-temperature", 5, 1.3),
    LongRun("time to a skill", "hydrology-time", {}, 2.2, CAMELS),
    members("mclstm", 5, 5.0),
    members("lstm-balance", 5, 2.2),
    LongRun(
        "hydrology as published", "hydrology",
        {"protocol": "published", "scheme": "sequence", "models": ("mclstm",), "seeds": 2}, 3.0, CAMELS,
    ),
    LongRun("variants", "hydrology-variants", {"seeds": 3}, 1.6, FEW),
    LongRun("200 more seeds of addition", "addition",
            {"protocol": "published", "models": ("mclstm",), "seeds": 300}, 1.3),
    LongRun("subtraction by NAC", "static-arithmetic",
            {"models": ("nac",), "settings": ("subtraction",), "seeds": 20, "updates": 5_000_000}, 1.1),
    LongRun("stated recurrent arithmetic", "recurrent-arithmetic",
            {"models": ("mclstm",), "seeds": 20, "updates": 2_000_000}, 9.4),
    LongRun("one sum of digits", "mnist-sum",
            {"models": ("mclstm",), "seeds": 1, "first_seed": 15, "epochs": 1_000}, 8.8, ("mnist",),
            results="long"),
    LongRun("sums of digits", "mnist-sum", {"seeds": 5, "first_seed": 10, "epochs": 150}, 15.5, ("mnist",)),
)  # fmt: skip


def options_of(run: LongRun, places: Places) -> Options | None:
    """The options of its command; None where its data is not given."""
    if any(getattr(places, name) is None for name in run.data):
        return None
    usual: dict[str, Any] = {
        "profile": "paper",
        "add": run.experiment in ADDS,
        "data": places.mnist if "mnist" in run.data else places.camels if "camels" in run.data else None,
        "basins": places.basins if "basins" in run.data else None,
        "snow": places.snow if "snow" in run.data else None,
    }
    return Options()._replace(**(usual | run.options))
