"""Every switch of the protocols has its effect; test_switches_off.py tests that nothing else differs."""

import math
from pathlib import Path

import pytest
import torch
from torch import nn

from mclstm.jobs.execution import run_jobs
from mclstm.nn.mcfc import MultiplicativeMCFC
from mclstm.training.checkpoint import load
from mclstm_paper.addition.models import recipe as addition_recipe
from mclstm_paper.arithmetic import experiment as arithmetic
from mclstm_paper.arithmetic import training
from mclstm_paper.arithmetic.subsets import OPERATIONS
from mclstm_paper.baselines.regularisers import sparsity_penalty
from mclstm_paper.options import Options, Plan
from mclstm_paper.protocols import Protocol
from mclstm_paper.recurrent_arithmetic import experiment as recurrent_arithmetic
from mclstm_paper.recurrent_arithmetic.models import FLIPPED, FLIPS, recurrent_recipe
from mclstm_paper.recurrent_arithmetic.task import RecurrentArithmetic
from mclstm_paper.seeds.networks import MassConserving, sources
from mclstm_paper.static_arithmetic import experiment as static_arithmetic

SETS = ("validation", "test")
BOTH = ("stated", "published")


def built(recipe_of, *names: str) -> tuple[nn.Module, nn.Module]:
    stated, published = (recipe_of(*names, protocol).build(sources([0, 1])) for protocol in BOTH)
    return stated, published


def test_mass_layers_of_the_addition_problem() -> None:
    stated, published = built(addition_recipe, "mclstm")
    assert isinstance(stated, MassConserving)
    assert isinstance(published, MassConserving)
    assert stated.layer.gates.form.gates_see == ("aux", "state")
    assert published.layer.gates.form.gates_see == ("aux",)
    R, weak = (torch.softmax(m.layer.gates.B_r, dim=-1) for m in (stated, published))
    assert torch.allclose(R.diagonal(dim1=1, dim2=2), torch.tensor(0.9))
    assert torch.allclose(weak.diagonal(dim1=1, dim2=2), torch.tensor(math.e / (math.e + 9)))
    dynamic = built(addition_recipe, "mclstm-dynamic")[1]
    assert dynamic.layer.gates.B_r.eq(0).all()
    assert torch.allclose(stated.layer.gates.b_o, torch.tensor(-3.0))


def test_mass_layers_of_recurrent_arithmetic() -> None:
    stated, published = built(recurrent_recipe, "mclstm", "subtraction")
    assert stated.first is None
    assert stated.layer.gates.W_i.requires_grad
    assert published.first.eq(0).all()
    assert not published.layer.gates.W_i.requires_grad
    assert published.layer.gates.W_i.eq(0).all()
    gram = published.layer.gates.b_i.transpose(1, 2) @ published.layer.gates.b_i
    assert torch.allclose(gram, torch.eye(3).expand(2, 3, 3), atol=1e-5)
    # The learned state is learned, and may be negative.
    published(torch.rand(4, 5, 10), torch.ones(4, 5, 1)).sum().backward()
    assert published.first.grad.abs().sum() > 0
    with torch.no_grad():
        published.first.fill_(-0.1)
    assert torch.isfinite(published(torch.rand(4, 5, 10), torch.ones(4, 5, 1))).all()


def test_cells_and_heads_by_operation() -> None:
    cells = {}
    for operation in OPERATIONS:
        network = recurrent_recipe("mclstm", operation, "stated").build(sources([0]))
        cells[operation] = network.layer.gates.hidden_size
        assert isinstance(network.head, MultiplicativeMCFC) == (operation == "multiplication")
    assert cells == {"addition": 2, "subtraction": 3, "multiplication": 3}
    two = recurrent_recipe("mclstm-two-cells", "subtraction", "stated").build(sources([0]))
    assert two.layer.gates.hidden_size == 2


def test_baselines_of_the_addition_problem() -> None:
    stated, published = built(addition_recipe, "lstm")
    assert stated.layer.b.sum() == 2 * 10 * 3.0
    assert published.layer.b.eq(0).all()
    assert (stated.layer.published, published.layer.published) == (False, True)
    for name in ("ln-lstm", "urnn"):
        stated, published = built(addition_recipe, name)
        assert (stated.layer.published, published.layer.published) == (False, True)
    assert [network.head.kind for network in built(addition_recipe, "nalu")] == ["nalu", "nau"]
    nau = built(addition_recipe, "nau")[0]
    penalties = [addition_recipe("nau", protocol).penalty(nau, 0) for protocol in BOTH]
    assert penalties[1] is None
    squares = sum(p.square().sum(dim=(1, 2)) for name, p in nau.named_parameters() if name.endswith("W"))
    assert torch.allclose(penalties[0], 0.5e-4 * squares)


def test_lstm_of_recurrent_arithmetic() -> None:
    stated, published = (network.layer for network in built(recurrent_recipe, "lstm", "subtraction"))
    assert torch.equal(stated.b.sum(dim=1), torch.full((2,), 10 * 3.0))
    assert torch.equal(stated.U[:, :10], torch.eye(10).expand(2, 10, 10))
    bound = 10**-0.5
    for value in (published.W, published.U):
        assert 0.9 * bound < value.abs().max() < bound
    assert bound < published.b.abs().max() < 2 * bound  # the sum of torch's two
    assert published.W[0].ne(published.W[1]).all()


def test_units_of_recurrent_arithmetic() -> None:
    heads = [network.head.kind for network in built(recurrent_recipe, "nac-mul", "multiplication")]
    assert heads == ["nac-mul", "nac"]
    stated, published = (recurrent_recipe("nau", "addition", protocol) for protocol in BOTH)
    network = stated.build(sources([0, 1]))
    assert published.penalty(network, 1_000_000) is None
    assert torch.equal(published.penalty(network, 1_500_000), 5.0 * sparsity_penalty(network))
    assert torch.equal(stated.penalty(network, 50_000), 0.01 * sparsity_penalty(network))


def test_only_subtraction_of_mclstm_is_short() -> None:
    goals = {}
    for protocol in BOTH:
        for job in recurrent_arithmetic.EXPERIMENT.jobs(Plan(Options(profile="paper", protocol=protocol))):
            if job.goal != 2_000_000:
                goals[protocol, job.name] = job.goal
    assert goals == {("published", "mclstm/subtraction/seeds-0-99"): 500_000}


@pytest.mark.parametrize(("protocol", "fresh"), [("stated", False), ("published", True)])
def test_only_published_evaluations_differ_from_each_other(protocol: Protocol, fresh: bool) -> None:
    """Of the same weights; each is the same again when a stopped job comes back to it."""
    task = RecurrentArithmetic("addition", [0, 1], protocol=protocol)
    network = recurrent_recipe("nau", "addition", protocol).build(sources([0, 1]))
    errors = training.errors_of(task, 1_000)
    with torch.no_grad():
        first, second, again = (errors(network, update) for update in (0, 1_000, 1_000))
    for name in SETS:
        assert first[name].ne(second[name]).tolist() == [fresh, fresh]
        assert torch.equal(second[name], again[name])


@pytest.mark.parametrize(
    ("module", "model"),
    [(recurrent_arithmetic, "mclstm"), (recurrent_arithmetic, "lstm"), (static_arithmetic, "mcfc")],
)
def test_batches_drawn_ahead_are_those_drawn_one_by_one(
    module, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the bit, in the weights after updates across several draws, and after a stop within one."""
    monkeypatch.setattr(arithmetic, "thresholds", lambda task, operation: {"stated": 1.0, "published": 1.0})
    monkeypatch.setattr(
        arithmetic, "errors_of", lambda *_: lambda network, _: dict.fromkeys(SETS, torch.zeros(3))
    )
    plan = Plan(Options(models=(model,), settings=("addition",), seeds=3, updates=12))
    checkpoints = []
    for at_once, goals in ((3, (12,)), (16, (12,)), (16, (7, 12))):
        monkeypatch.setattr(training, "AT_ONCE", at_once)
        for goal in goals:
            run_jobs(
                [job._replace(goal=goal) for job in module.EXPERIMENT.jobs(plan)],
                tmp_path / str(len(checkpoints)),
                quiet=True,
            )
        checkpoints.append(load(next((tmp_path / str(len(checkpoints))).rglob("checkpoint.safetensors")))[0])
    weights = [name for name in checkpoints[0] if name.startswith("weights.")]
    assert weights
    assert all(
        torch.equal(checkpoints[0][name], other[name]) for name in weights for other in checkpoints[1:]
    )


def test_members_do_not_depend_on_their_company() -> None:
    """The start of a seed is the same in every block."""
    for recipe in (recurrent_recipe("mclstm", "addition", "published"), addition_recipe("lstm", "stated")):
        together, alone = recipe.build(sources([4, 5, 6])), recipe.build(sources([5]))
        for name, value in together.named_parameters():
            assert torch.equal(value[1:2], alone.get_parameter(name)), name


def features(network: nn.Module) -> tuple[bool, ...]:
    """Whether gates see cells, R starts near I, the input gate is computed, and cells start empty."""
    gates = network.layer.gates
    near = bool(torch.softmax(gates.B_r, dim=-1).diagonal(dim1=1, dim2=2).min() > 0.8)
    return "state" in gates.form.gates_see, near, gates.W_i.requires_grad, network.first is None


@pytest.mark.parametrize("protocol", BOTH)
def test_flipped_switches_are_the_only_difference(protocol: Protocol) -> None:
    usual, *flipped = (
        features(recurrent_recipe(model, "subtraction", protocol).build(sources([0, 1])))
        for model in ("mclstm", *FLIPPED)
    )
    assert usual == ((True,) * 4 if protocol == "stated" else (False,) * 4)
    for (name, switches), changed in zip(FLIPPED.items(), flipped, strict=True):
        differs = {flip for flip, a, b in zip(FLIPS, usual, changed, strict=True) if a != b}
        assert {FLIPS[flip] for flip in differs} == set(switches)
        assert all(flip in name for flip in differs)
    assert len(set(flipped)) == 10
