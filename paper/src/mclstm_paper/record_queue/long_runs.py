"""The long runs of the record, those first that tell most for an hour of a core."""

from itertools import combinations
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
    hours: float  # of a core with AVX-512, measured or expected from single updates
    data: tuple[str, ...] = ()  # fields of Places that it needs
    weights: bool = False  # members whose weights are kept; a recipe scores them, not this run
    results: str = ""  # a folder of its own within that of the results


# Those whose results can be taken from the rows of a result file, job by job.
ADDS = ("addition", "static-arithmetic", "recurrent-arithmetic", "mnist-sum")
CAMELS = ("camels", "basins")
# Thirty basins, or five: they are named by the experiments themselves.
FEW = ("camels",)
# One switch from each protocol, and two from the text: all sixteen ways to combine the four.
ONE = ("sight", "identity", "input-gate", "start")
TWO = tuple("-".join(pair) for pair in combinations(ONE, 2))


def members(model: str, count: int, hours: float) -> LongRun:
    """Members of a model of the 447 basins, which leave the test years alone."""
    chosen = {"models": (model,), "seeds": count, "no_test": True}
    return LongRun(model, "hydrology", chosen, hours, CAMELS, weights=True)


def flips(name: str, protocol: str, switches: tuple[str, ...], hours: float) -> LongRun:
    """Subtraction with some of the switches between the protocols turned."""
    models = tuple(f"mclstm-other-{turned}" for turned in switches)
    study = {"models": models, "settings": ("subtraction",), "seeds": 20, "updates": 500_000}
    return LongRun(name, "recurrent-arithmetic", study | {"protocol": protocol}, hours)


LONG_RUNS = (
    members("hybrid", 10, 0.8),
    LongRun("published ablation", "hydrology-ablation", {"protocol": "published"}, 0.5, FEW),
    LongRun("stated ablation", "hydrology-ablation", {}, 0.5, FEW),
    LongRun("random folds", "hydrology-unseen", {"settings": ("random",)}, 0.4, CAMELS),
    LongRun("region folds", "hydrology-unseen", {"settings": ("region",)}, 0.4, CAMELS),
    LongRun("fine-tuning", "hydrology-fine-tuning", {}, 0.2, CAMELS),
    LongRun("process models", "hydrology-process", {}, 0.9, CAMELS),
    LongRun("guided cell", "hydrology-guided", {}, 0.1, ("camels", "snow")),
    flips("one switch from stated", "stated", ONE, 0.3),
    flips("one switch from published", "published", ONE, 0.2),
    flips("two switches from stated", "stated", TWO, 0.4),
    members("lstm-steered", 10, 1.0),
    members("hybrid-temperature", 5, 0.4),
    LongRun("time to a skill", "hydrology-time", {}, 2.2, CAMELS),
    members("mclstm", 5, 1.7),
    members("lstm-balance", 5, 0.5),
    LongRun(
        "hydrology as published", "hydrology",
        {"protocol": "published", "scheme": "sequence", "models": ("mclstm",), "seeds": 2}, 0.8, CAMELS,
    ),
    LongRun("variants", "hydrology-variants", {"seeds": 3}, 0.9, FEW),
    LongRun("200 more seeds of addition", "addition",
            {"protocol": "published", "models": ("mclstm",), "seeds": 300}, 0.7),
    LongRun("subtraction by NAC", "static-arithmetic",
            {"models": ("nac",), "settings": ("subtraction",), "seeds": 20, "updates": 5_000_000}, 0.6),
    LongRun("stated recurrent arithmetic", "recurrent-arithmetic",
            {"models": ("mclstm", "nau", "nmu"), "seeds": 20, "updates": 2_000_000}, 1.2),
    LongRun("published products by NMU", "recurrent-arithmetic",
            {"protocol": "published", "models": ("nmu",), "seeds": 20, "updates": 2_000_000}, 0.1),
    LongRun("one sum of digits", "mnist-sum",
            {"models": ("mclstm-softplus",), "seeds": 1, "first_seed": 15, "epochs": 1_000}, 4.0, ("mnist",),
            results="long"),
    LongRun("sums of digits", "mnist-sum", {"seeds": 5, "first_seed": 10, "epochs": 150}, 7.1, ("mnist",)),
    LongRun("three models at basins never seen", "hydrology-unseen", {"settings": ("random",), "seeds": 3},
            1.1, CAMELS),
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
