"""Figures of the comparison: energies of both models, and a Hamiltonian network under friction."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from mclstm.jobs.job import Job, Result
from mclstm_paper.experiment import Drawing
from mclstm_paper.hnn.task import DAMPED, PENDULUM, SETTINGS, some_observed
from mclstm_paper.options import Plan
from mclstm_paper.pendulum.figures import energies_figure, kept
from mclstm_paper.pendulum.motion import energies, integrated
from mclstm_paper.pendulum.predictions import load_predictions
from mclstm_paper.pendulum.task import Series, Setting

__all__ = ["draw_comparison"]

SHOWN = Setting(1.0, PENDULUM.length, 200, 0.01, 0.0)


def draw_comparison(plan: Plan, jobs: Sequence[Job], results: Mapping[str, Result]) -> Drawing:
    """What every model that was run predicts of one series, and of a pendulum with friction."""
    figures: dict[str, Figure] = {}
    number = SETTINGS.index(SHOWN)
    shown = kept(plan, jobs, results, number)
    if shown:
        (one,) = some_observed([number])
        predicted = {model: arrays["energies"] for model, arrays in shown.items()}
        figures["energies"] = energies_figure(one.series, predicted)
    for job in jobs:
        if job.parameters["model"] == "friction" and job.name in results:
            lossy = load_predictions(plan.jobs_dir / job.name)["energies"][0]
            figures["friction"] = energies_figure(damped_series(), {"hnn": lossy})
    return figures, {}


def damped_series() -> Series:
    """The pendulum with friction as it moves."""
    pendulum = PENDULUM._replace(friction=DAMPED.friction)
    exact = energies(pendulum, integrated(pendulum, DAMPED.amplitude))
    return Series(DAMPED, exact, exact)
