"""Nothing but the switches differs between the protocols of the synthetic tasks, for the same seeds."""

from collections.abc import Iterator

import pytest
import torch
from torch import nn

from mclstm_paper.addition import experiment as addition
from mclstm_paper.addition.models import MODELS, VARIANTS
from mclstm_paper.addition.models import recipe as addition_recipe
from mclstm_paper.addition.task import REGIMES
from mclstm_paper.addition.task import addition as samples
from mclstm_paper.arithmetic.subsets import OPERATIONS
from mclstm_paper.arithmetic.thresholds import success_threshold
from mclstm_paper.mnist_sum.models import RECIPES, build, usual_rate
from mclstm_paper.mnist_sum.task import scored_steps
from mclstm_paper.options import Options, Plan
from mclstm_paper.protocols import Switch
from mclstm_paper.recurrent_arithmetic import experiment as recurrent_arithmetic
from mclstm_paper.recurrent_arithmetic.models import RECURRENT, RECURRENT_VARIANTS, recurrent_recipe
from mclstm_paper.recurrent_arithmetic.task import EVALUATIONS, RecurrentArithmetic
from mclstm_paper.seeds.networks import sources
from mclstm_paper.seeds.recipes import Recipe
from mclstm_paper.static_arithmetic import experiment as static_arithmetic

BOTH = ("stated", "published")
SEEDS = [0, 1]
# Of the recurrent models, those that no switch is about, and NAU, whose penalty has one.
WITHOUT = ("nau", "nmu", "nac", "nalu", "mclstm-tuned")


@pytest.fixture
def all_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """No switch does anything: whatever still differs has none."""
    monkeypatch.setattr(Switch, "on", lambda switch, protocol: False)


def assert_alike(first: nn.Module, second: nn.Module) -> None:
    """The same modules with the same weights, of which the same are learned."""
    assert repr(first) == repr(second)
    ours, theirs = first.state_dict(), second.state_dict()
    assert list(ours) == list(theirs)
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    learned = [[p.requires_grad for p in network.parameters()] for network in (first, second)]
    assert learned[0] == learned[1]


def recurrent_recipes(models: tuple[str, ...]) -> Iterator[tuple[Recipe, Recipe]]:
    for model in models:
        for operation in (RECURRENT | RECURRENT_VARIANTS)[model]:
            stated, published = (recurrent_recipe(model, operation, protocol) for protocol in BOTH)
            yield stated, published


@pytest.mark.usefixtures("all_off")
def test_models_without_switches_are_built_and_trained_alike() -> None:
    pairs = [tuple(addition_recipe(model, p) for p in BOTH) for model in (*MODELS, *VARIANTS)]
    for stated, published in [*pairs, *recurrent_recipes((*RECURRENT, *RECURRENT_VARIANTS))]:
        network = stated.build(sources(SEEDS))
        assert_alike(network, published.build(sources(SEEDS)))
        unlike = {"build": None, "penalty": None}
        assert stated._replace(**unlike) == published._replace(**unlike)
        for update in (0, 20_000, 1_500_000):  # before, in and after the schedules of the penalties
            ours, theirs = stated.penalty(network, update), published.penalty(network, update)
            assert (ours is None and theirs is None) or torch.equal(ours, theirs)


@pytest.mark.usefixtures("all_off")
def test_digits_without_switches_are_added_alike() -> None:
    assert torch.equal(scored_steps(5, "stated"), scored_steps(5, "published"))
    for model in RECIPES:
        assert_alike(*(build(model, protocol, sources(SEEDS)) for protocol in BOTH))
        assert usual_rate(model, "stated") == usual_rate(model, "published")


@pytest.mark.usefixtures("all_off")
def test_samples_and_thresholds_without_switches_are_alike() -> None:
    for split in ("train", "validation", "test"):
        for regime in REGIMES:
            stated, published = (samples(split, regime, protocol=p, samples=3) for p in BOTH)
            assert all(torch.equal(*pair) for pair in zip(stated, published, strict=True))
    for operation in OPERATIONS:
        tasks = [RecurrentArithmetic(operation, SEEDS, protocol=protocol) for protocol in BOTH]
        for name in EVALUATIONS:
            assert torch.equal(*(task.evaluation(name, number=3, samples=4).x for task in tasks))
        for module in (static_arithmetic, recurrent_arithmetic):
            # Past the cache, which may know the thresholds with their switch on.
            setting = module.ARITHMETIC.threshold
            limits = [success_threshold.__wrapped__(setting, operation, p, samples=50) for p in BOTH]
            assert limits[0] == limits[1]


@pytest.mark.usefixtures("all_off")
@pytest.mark.parametrize("module", [addition, recurrent_arithmetic, static_arithmetic])
def test_jobs_without_switches_are_as_many_and_as_long(module) -> None:
    stated, published = (
        [
            (job.name, job.goal, job.parameters | {"protocol": None})
            for job in module.EXPERIMENT.jobs(Plan(Options(profile="paper", protocol=protocol)))
        ]
        for protocol in BOTH
    )
    assert stated == published


def test_switches_leave_the_other_models_and_the_training_data_alone() -> None:
    for stated, published in recurrent_recipes(WITHOUT):
        assert_alike(stated.build(sources(SEEDS)), published.build(sources(SEEDS)))
    fronts = [build("nau", protocol, sources(SEEDS)).front for protocol in BOTH]
    assert_alike(*fronts)
    assert_alike(*(build("reference", protocol, sources(SEEDS)) for protocol in BOTH))
    for operation in OPERATIONS:
        batches = [RecurrentArithmetic(operation, SEEDS, protocol=p).train(update=7) for p in BOTH]
        assert all(torch.equal(*pair) for pair in zip(*batches, strict=True))
