"""The damped pendulum: who predicts energies beyond the part of a swing that it has seen."""

from collections.abc import Mapping, Sequence

from mclstm.jobs.job import Job, Result, finished_by
from mclstm_paper.experiment import Experiment
from mclstm_paper.options import Options, Plan, chosen_models, seed_blocks
from mclstm_paper.pendulum.error_rows import below, floor_rows, model_rows, reached
from mclstm_paper.pendulum.figures import draw_forecasts
from mclstm_paper.pendulum.floors import FLOORS
from mclstm_paper.pendulum.page import BLOCKS, HEADLINES, SUMMARY, error_tables
from mclstm_paper.pendulum.printed import PRINTED
from mclstm_paper.pendulum.settings import LSTM, MASS_MODELS, recipe
from mclstm_paper.pendulum.switches import SWITCHES
from mclstm_paper.pendulum.task import SETTINGS, chosen_sets, some_series
from mclstm_paper.pendulum.training import LEARN
from mclstm_paper.results import Claim, Row

__all__ = ["EXPERIMENT"]

NAME = "pendulum"
MODELS = ("mclstm", LSTM, *(model for model in MASS_MODELS if model != "mclstm"))
# Sets of each job: an LSTM takes as long for one set as the others for thirty.
PORTIONS = {"mclstm": 60, "mclstm-invariant": 20, "mclstm-clock": 60, LSTM: 5}
QUICK_SETS, QUICK_SHARE = 10, 0.2  # sets, which have 100 steps each, and the share of a recipe's updates


def jobs(plan: Plan) -> list[Job]:
    """One job for every model and portion of the data sets."""
    options = plan.options
    share = QUICK_SHARE if options.profile == "quick" else 1.0
    sets = chosen_sets(options, NAME, QUICK_SETS)
    every = []
    for model in chosen_models(NAME, MODELS, (), options):
        settings = recipe(model, options.protocol)
        portions = seed_blocks(Plan(options._replace(block=PORTIONS[model])), len(sets))
        every += [
            Job(
                f"{model}/sets-{portion[0]}-{portion[-1]}",
                LEARN,
                {
                    "model": model,
                    "protocol": options.protocol,
                    "seeds": portion,
                    "scoring": settings.scoring,
                },
                options.updates or round(share * settings.updates),
            )
            for portion in portions
        ]
    return every


def rows(plan: Plan, results: Mapping[str, Result]) -> list[Row]:
    """Errors of every model over all sets and their parts."""
    groups = finished_by(jobs(plan), results, "model")
    return model_rows(groups, results, SETTINGS, PRINTED, lambda model: recipe(model, plan.options.protocol))


def trivial(options: Options) -> list[Row]:
    """The floors, on the same sets."""
    numbers = chosen_sets(options, NAME, QUICK_SETS)
    return floor_rows(FLOORS, some_series(numbers), numbers, SETTINGS)


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The paper's comparison, over all sets and by training length, and those with the floors."""
    comparisons = reached(rows, "mclstm") + reached(rows, LSTM)
    for part in ("all", "100 steps", "200 steps", "400 steps"):
        comparisons += below(rows, "mclstm", LSTM, part)
    comparisons += below(rows, "mclstm", "half-total")
    for variant in ("mclstm-invariant", "mclstm-clock"):
        for rival in ("mclstm", LSTM, "half-total"):
            comparisons += below(rows, variant, rival)
    return comparisons


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
    figures_of_jobs=lambda plan, results: draw_forecasts(plan, jobs(plan), results),
    saves_each_job=True,
    expected=lambda protocol: dict.fromkeys((*MODELS, *FLOORS), ("all",)),
    blocks=BLOCKS,
    summary=SUMMARY,
    headlines=HEADLINES,
    switches=SWITCHES,
)
