"""MC-LSTM and Hamiltonian neural networks on a pendulum without friction."""

from collections.abc import Mapping, Sequence

from mclstm.jobs.job import Job, Result, finished_by
from mclstm_paper.experiment import Experiment
from mclstm_paper.hnn.figures import draw_comparison
from mclstm_paper.hnn.hamiltonian_training import DAMPED_FIELD, HAMILTONIAN, UPDATES
from mclstm_paper.hnn.mass_training import LEARN, series_recipe
from mclstm_paper.hnn.page import BLOCKS, SUMMARY
from mclstm_paper.hnn.printed import PRINTED
from mclstm_paper.hnn.switches import SWITCHES
from mclstm_paper.hnn.task import SETTINGS, some_observed
from mclstm_paper.options import Options, Plan, chosen_models
from mclstm_paper.pendulum.error_rows import below, floor_rows, model_rows, reached
from mclstm_paper.pendulum.floors import FLOORS
from mclstm_paper.pendulum.page import error_tables
from mclstm_paper.pendulum.settings import MASS_MODELS
from mclstm_paper.pendulum.task import chosen_sets
from mclstm_paper.results import SIGNIFICANT, Claim, Row, claim
from mclstm_paper.seed_rows import find, paired
from mclstm_paper.statistics import binomial_test

__all__ = ["EXPERIMENT"]

NAME, HNN = "hnn", "hnn"
MODELS = ("mclstm", HNN, *(model for model in MASS_MODELS if model != "mclstm"))
QUICK_SERIES, QUICK_SHARE = 2, 0.2  # series, the first of which has no noise, and the share of the updates


def jobs(plan: Plan) -> list[Job]:
    """One job for all series of an MC-LSTM; one for each of the Hamiltonian network, and one of friction."""
    options = plan.options
    share = QUICK_SHARE if options.profile == "quick" else 1.0
    every = chosen_sets(options, NAME, QUICK_SERIES, SETTINGS)
    planned = []
    for model in chosen_models(NAME, MODELS, (), options):
        if model == HNN:
            updates = options.updates or round(share * UPDATES)
            planned += [Job(f"{HNN}/friction", DAMPED_FIELD, {"model": "friction", "seeds": []}, updates)]
            planned += [
                Job(f"{HNN}/series-{seed}", HAMILTONIAN, {"model": HNN, "seeds": [seed]}, updates)
                for seed in every
            ]
        else:
            settings = series_recipe(model, options.protocol)
            parameters = {"model": model, "protocol": options.protocol, "seeds": every}
            planned.append(
                Job(
                    f"{model}/series-{every[0]}-{every[-1]}",
                    LEARN,
                    parameters | {"scoring": settings.scoring},
                    options.updates or round(share * settings.updates),
                )
            )
    return planned


def rows(plan: Plan, results: Mapping[str, Result]) -> list[Row]:
    """Errors of every model over all series and their parts."""
    scored = [job for job in jobs(plan) if job.work is not DAMPED_FIELD]
    groups = finished_by(scored, results, "model")
    return model_rows(
        groups, results, SETTINGS, PRINTED, lambda model: series_recipe(model, plan.options.protocol)
    )


def trivial(options: Options) -> list[Row]:
    """The floors, on the same series."""
    numbers = chosen_sets(options, NAME, QUICK_SERIES, SETTINGS)
    return floor_rows(FLOORS, [one.series for one in some_observed(numbers)], numbers, SETTINGS)


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The paper's: neither wins. Ours: which forms of MC-LSTM it holds for."""
    comparisons = reached(rows, "mclstm") + reached(rows, HNN)
    for model in MASS_MODELS:
        comparisons += no_winner(rows, model)
        comparisons += below(rows, HNN, model)
    return comparisons


def no_winner(rows: Sequence[Row], model: str) -> list[Claim]:
    """Whether neither wins on significantly more series than the other: a binomial test, as in the paper."""
    ours, theirs = (find(rows, name, "all", "mse") for name in (model, HNN))
    if ours is None or theirs is None:
        return []
    first, second = paired(ours, theirs)
    wins = int((first < second).sum())
    p = binomial_test(wins, first.size).p
    text = f"{model}: neither it nor {HNN} is better on significantly more series"
    test = f"binomial test, {model} better on {wins} of {first.size}"
    return [claim(text, test, p, bool(p >= SIGNIFICANT))]


EXPERIMENT = Experiment(
    name=NAME,
    models=(*MODELS, *FLOORS),
    variants=(),
    jobs=jobs,
    rows=rows,
    trivial=trivial,
    claims=claims,
    table=error_tables,
    accepts=(),
    figures_of_jobs=lambda plan, results: draw_comparison(plan, jobs(plan), results),
    saves_each_job=True,
    expected=lambda protocol: dict.fromkeys((*MODELS, *FLOORS), ("all",)),
    blocks=BLOCKS,
    summary=SUMMARY,
    switches=SWITCHES,
)
