"""The experiments by name; each is imported when somebody asks for it."""

from collections.abc import Iterator
from importlib import import_module

from mclstm.errors import ConfigError
from mclstm_paper.experiment import Experiment

__all__ = ["EXPERIMENTS", "every_experiment", "experiment"]

# name: the module that has its EXPERIMENT
EXPERIMENTS: dict[str, str] = {
    "addition": "mclstm_paper.addition.experiment",
    "recurrent-arithmetic": "mclstm_paper.recurrent_arithmetic.experiment",
    "static-arithmetic": "mclstm_paper.static_arithmetic.experiment",
    "mnist-sum": "mclstm_paper.mnist_sum.experiment",
    "traffic": "mclstm_paper.traffic.experiment",
    "pendulum": "mclstm_paper.pendulum.experiment",
    "hnn": "mclstm_paper.hnn.experiment",
    "hydrology": "mclstm_paper.hydrology.experiment",
    "hydrology-variants": "mclstm_paper.hydrology.variants",
    "hydrology-ablation": "mclstm_paper.hydrology.ablation",
    "hydrology-unseen": "mclstm_paper.hydrology.unseen",
    "hydrology-fine-tuning": "mclstm_paper.hydrology.fine_tuning",
    "hydrology-guided": "mclstm_paper.hydrology.guided",
    "hydrology-process": "mclstm_paper.hydrology.process_models",
    "hydrology-time": "mclstm_paper.hydrology.time_to_skill",
}


def experiment(name: str) -> Experiment:
    """An experiment by name.

    >>> experiment("addition").models[0]
    'mclstm'
    """
    if name not in EXPERIMENTS:
        raise ConfigError(f"There is no experiment {name!r}. Choose from {', '.join(EXPERIMENTS)}.")
    loaded: Experiment = import_module(EXPERIMENTS[name]).EXPERIMENT
    return loaded


def every_experiment() -> Iterator[Experiment]:
    """All experiments, in the order of the tables of results."""
    return (experiment(name) for name in EXPERIMENTS)
