"""The paper's figures of the pendulum: energies that models predict, and redistribution over time."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mclstm.jobs.job import Job, Result
from mclstm.report.style import COLOURS, OUTLETS, legend_above, plot_style
from mclstm_paper.experiment import Drawing
from mclstm_paper.options import Plan
from mclstm_paper.pendulum.motion import TIMES, Floats
from mclstm_paper.pendulum.predictions import load_predictions
from mclstm_paper.pendulum.task import SCORED, SETTINGS, Series, Setting, series

__all__ = ["draw_forecasts", "energies_figure", "kept", "redistribution_figure"]

KINETIC, POTENTIAL = COLOURS["simulated"], COLOURS["inflow"]
# Sets of the figures: one with friction and noise, one without either.
DAMPED, CLOSED = Setting(0.4, 1.0, 200, 0.01, 0.1), Setting(0.4, 1.0, 200, 0.0, 0.0)


def draw_forecasts(plan: Plan, jobs: Sequence[Job], results: Mapping[str, Result]) -> Drawing:
    """Energies of every model that was run, and the redistribution of every MC-LSTM."""
    figures: dict[str, Figure] = {}
    damped = kept(plan, jobs, results, SETTINGS.index(DAMPED))
    if damped:
        one = series(DAMPED, SETTINGS.index(DAMPED))
        energies = {model: arrays["energies"] for model, arrays in damped.items()}
        figures["energies"] = energies_figure(one, energies)
    closed = kept(plan, jobs, results, SETTINGS.index(CLOSED))
    masses = {model: arrays for model, arrays in closed.items() if "transfers" in arrays}
    if masses:
        figures["redistribution"] = redistribution_figure(masses)
    return figures, {}


def kept(
    plan: Plan, jobs: Sequence[Job], results: Mapping[str, Result], number: int
) -> dict[str, dict[str, Floats]]:
    """By model, what its finished job kept of one set."""
    arrays = {}
    for job in jobs:
        if job.name in results and number in job.parameters["seeds"]:
            at = job.parameters["seeds"].index(number)
            content = load_predictions(plan.jobs_dir / job.name)
            arrays[job.parameters["model"]] = {name: values[at] for name, values in content.items()}
    return arrays


def energies_figure(one: Series, energies: Mapping[str, Floats]) -> Figure:
    """A panel for each model: predictions (N, 2) J in colour over the exact energies in grey."""
    end = one.setting.steps + SCORED
    with plot_style():
        figure = Figure(figsize=(7.2, 1.3 + 1.35 * len(energies)), layout="constrained")
        panels = figure.subplots(len(energies), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for axes, (model, predicted) in zip(panels, energies.items(), strict=True):
            draw_truth(axes, one, end)
            for column, (name, colour) in enumerate((("kinetic", KINETIC), ("potential", POTENTIAL))):
                axes.plot(TIMES[:end], predicted[:end, column], color=colour, linewidth=0.9, label=name)
            axes.set(ylabel="energy (J)", title=model, xlim=(0.0, TIMES[end]))
        # A prediction that runs away would leave no room for the others.
        top = float(one.exact.max())
        panels[0].set_ylim(-0.35 * top, 1.35 * top)
        panels[-1].set_xlabel("time (s); what is right of the dotted line was not seen in training")
        legend_above(panels[0])
    return figure


def draw_truth(axes: Axes, one: Series, end: int) -> None:
    """The exact energies, wide and grey, and where training ends."""
    for column in (0, 1):
        label = None if column else "exact"
        axes.plot(TIMES[:end], one.exact[:end, column], color="#CCCCCC", linewidth=2.4, label=label)
    axes.axvline(TIMES[one.setting.steps], color=COLOURS["guide"], linewidth=0.9, linestyle=":")


def redistribution_figure(masses: Mapping[str, Mapping[str, Floats]], steps: int = 300) -> Figure:
    """For each model the shares that change their form in a step, above the energies that follow."""
    with plot_style():
        figure = Figure(figsize=(7.2, 1.0 + 2.6 * len(masses)), layout="constrained")
        panels = figure.subplots(2 * len(masses), 1, sharex=True)
        for at, (model, arrays) in enumerate(masses.items()):
            upper, lower = panels[2 * at], panels[2 * at + 1]
            shares = (("potential to kinetic", OUTLETS[1]), ("kinetic to potential", OUTLETS[0]))
            for column, (name, colour) in enumerate(shares):
                upper.plot(TIMES[:steps], arrays["transfers"][:steps, column], color=colour, label=name)
            upper.set(ylabel="share moved", title=model, ylim=(0.0, None))
            for column, (name, colour) in enumerate((("kinetic", KINETIC), ("potential", POTENTIAL))):
                lower.plot(TIMES[:steps], arrays["energies"][:steps, column], color=colour, label=name)
            lower.set(ylabel="energy (J)")
            legend_above(upper)
            legend_above(lower)
        panels[-1].set(xlabel="time (s)", xlim=(0.0, TIMES[steps]))
    return figure
