"""The kernel library trains as torch does: its networks, its failures, and what it leaves to torch."""

import math
from collections.abc import Callable

import pytest
import torch

from mclstm_paper.arithmetic import kernel_training as module
from mclstm_paper.arithmetic.subsets import OPERATIONS
from mclstm_paper.arithmetic.training import problem
from mclstm_paper.baselines import UNITS, Linear
from mclstm_paper.baselines.regularisers import clamped_units
from mclstm_paper.kernels.library import library
from mclstm_paper.protocols import Protocol
from mclstm_paper.recurrent_arithmetic.models import recurrent_recipe
from mclstm_paper.recurrent_arithmetic.task import RecurrentArithmetic
from mclstm_paper.seeds.member_ensemble import Ensemble
from mclstm_paper.seeds.networks import sources
from mclstm_paper.seeds.recipes import Decay, OutputPenalty, Recipe
from mclstm_paper.seeds.training_loop import Problem, go_on
from mclstm_paper.static_arithmetic.models import static_recipe
from mclstm_paper.static_arithmetic.task import StaticArithmetic

pytestmark = pytest.mark.usefixtures("each_kernel")

SEEDS = [3, 4, 8]
Make = Callable[[str, str], tuple[Problem, Recipe]]
STATIC = [
    *(("mcfc", operation) for operation in OPERATIONS),
    *(("nau", operation) for operation in ("addition", "subtraction")),
    *(("nac", operation) for operation in ("addition", "subtraction")),
    *(("nmu", "multiplication"), ("nac-mul", "multiplication")),
    *(("nalu", operation) for operation in OPERATIONS),
]
needs_library = pytest.mark.skipif(library() is None, reason="without the library torch trains, as elsewhere")


def recurrent(
    model: str, operation: str, recipe: Recipe | None = None, protocol: Protocol = "published"
) -> tuple[Problem, Recipe]:
    task = RecurrentArithmetic(operation, SEEDS, protocol=protocol)
    recipe = recipe or recurrent_recipe(model, operation, protocol)
    return problem(model, recipe, task, lambda *_: {}, limit=1.0), recipe


def static(model: str, operation: str, recipe: Recipe | None = None) -> tuple[Problem, Recipe]:
    task, recipe = StaticArithmetic(operation, SEEDS), recipe or static_recipe(model, operation)
    return problem(model, recipe, task, lambda *_: {}, limit=1.0), recipe


def trained(made: tuple[Problem, Recipe], native: bool, updates: int = 12, first: int = 0) -> Ensemble:
    """The first update by torch, the others by one or the other; the count starts at `first`."""
    (task, recipe), rest = made, updates - 1
    ensemble = Ensemble(task.model, len(SEEDS), recipe.learning_rate, recipe.epsilon)
    ensemble.update = first
    for _ in range(1 if native else updates):
        go_on(ensemble, task._replace(advance=None), most=1)
        for kept in ensemble.optimiser.state.values():  # Adam counts as the ensemble does
            kept["step"].fill_(ensemble.update)
    if native:
        assert task.advance is not None
        task.advance(ensemble, 5)
        task.advance(ensemble, rest - 5)
    return ensemble


def assert_alike(one: Ensemble, other: Ensemble) -> None:
    assert one.update == other.update
    for (name, value), wanted in zip(one.model.named_parameters(), other.model.parameters(), strict=True):
        # Adam moves what hardly has a gradient as far as the rest, and its sign is rounding.
        torch.testing.assert_close(
            value, wanted, rtol=2e-3, atol=2e-4, msg=lambda text, at=name: f"{at}: {text}"
        )
    # Adam hides the size of a gradient, its moments do not.
    states = (ensemble.optimiser.state.values() for ensemble in (one, other))
    for ours, theirs in zip(*states, strict=True):
        assert ours["step"] == one.update
        for moment in ("exp_avg", "exp_avg_sq"):
            size = theirs[moment].abs().max().item()
            torch.testing.assert_close(ours[moment], theirs[moment], rtol=0.0, atol=1e-3 * size)


def mixed(model: str, operation: str) -> tuple[Problem, Recipe]:
    """A unit with an output layer behind it that the library knows, but not behind this one."""

    def build(drawn: list[torch.Generator]) -> torch.nn.Module:
        return torch.nn.Sequential(
            UNITS[model](100, 2, members=3, seeds=drawn), UNITS["nac"](2, 1, members=3)
        )

    return static(model, operation, Recipe(build, 0.001))


@needs_library
@pytest.mark.parametrize("operation", OPERATIONS)
def test_recurrent_networks_learn_as_in_torch(operation: str) -> None:
    assert_alike(*(trained(recurrent("mclstm", operation), native) for native in (True, False)))


@needs_library
@pytest.mark.parametrize(
    ("model", "protocol"),
    [
        ("mclstm", "stated"),  # gates see the marker and the cells
        ("mclstm-other-sight", "stated"),  # an input gate for each marker
        ("mclstm-other-start", "stated"),  # cells start at a learned state, whose sum may be negative
        ("mclstm-other-sight", "published"),  # outlets see the cells, the input gate is fixed
    ],
)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_networks_with_gates_at_every_step_learn_as_in_torch(
    model: str, protocol: Protocol, operation: str
) -> None:
    made = [recurrent(model, operation, protocol=protocol) for _ in range(2)]
    if model == "mclstm-other-start":
        for task, _ in made:
            task.model.first.data.copy_(torch.linspace(-2.0, 1.0, task.model.first.numel()).view(3, -1))
    assert_alike(trained(made[0], native=True), trained(made[1], native=False))


@needs_library
def test_what_is_frozen_stays() -> None:
    task, recipe = recurrent("mclstm", "addition", protocol="stated")
    task.model.layer.gates.b_o.requires_grad_(False)
    before = [value.clone() for value in (task.model.layer.gates.b_o, task.model.layer.gates.W_o)]
    trained((task, recipe), native=True)
    assert torch.equal(task.model.layer.gates.b_o, before[0])
    assert not torch.isclose(task.model.layer.gates.W_o, before[1]).any()


@needs_library
@pytest.mark.parametrize(
    ("model", "operation"),
    [pair for pair in STATIC if pair[0] not in ("mcfc", "nalu")],
    ids=lambda word: word,
)
def test_recurrent_units_learn_as_in_torch(model: str, operation: str) -> None:
    first = 1_500_000 if model in ("nau", "nmu") else 0  # where the pull to whole numbers is at work
    assert_alike(*(trained(recurrent(model, operation), native, first=first) for native in (True, False)))


@needs_library
@pytest.mark.parametrize("operation", OPERATIONS)
def test_tuned_networks_learn_as_in_torch(operation: str) -> None:
    """Gradients of saturated gates are rounding, and so is where they go: losses are compared."""
    losses = []
    for native in (True, False):
        made = recurrent("mclstm-tuned", operation)
        trained(made, native)
        losses.append(made[0].losses(100).detach())
    torch.testing.assert_close(*losses, rtol=1e-4, atol=0.0)


@needs_library
@pytest.mark.parametrize(("model", "operation"), STATIC)
def test_static_networks_learn_as_in_torch(model: str, operation: str) -> None:
    first = {"nau": 30_000, "nmu": 1_500_000}.get(model, 0)  # where the pull to whole numbers is at work
    updates = 7 if model == "nalu" else 12  # slopes of 1 / |h| near h = 0 make much of the last bits
    both = (trained(static(model, operation), native, updates, first) for native in (True, False))
    assert_alike(*both)


def near_limits(made: Make, model: str, operation: str) -> tuple[Problem, Recipe]:
    """Weights within 1e-4 of their limits, where predictions are too small: what is learned lies beyond."""
    task, recipe = made(model, operation)
    with torch.no_grad():
        for unit in clamped_units(task.model):
            low, high = unit.specification.limits
            flat = unit.W.view(len(SEEDS), -1)
            # A difference of two like sums is 0; a product of a large sum and of what is below 1 is small.
            upper, lower = (flat[:, ::2], flat[:, 1::2]) if model == "nau" else flat.chunk(2, dim=1)
            upper.fill_(high - 1e-4)
            lower.fill_(low + 1e-4)
        for name, value in task.model.named_parameters():
            if name.endswith("h0"):
                value.fill_(2.0)  # which has no limits
    return task, recipe


@pytest.mark.parametrize("native", [pytest.param(True, marks=needs_library), False])
@pytest.mark.parametrize(
    ("made", "model", "operation"),
    [
        (static, "nau", "addition"),
        (static, "nmu", "multiplication"),
        (recurrent, "nau", "addition"),
        (recurrent, "nmu", "multiplication"),
    ],
)
def test_weights_reach_their_limits_and_stay(made: Make, model: str, operation: str, native: bool) -> None:
    found = trained(near_limits(made, model, operation), native)
    units = clamped_units(found.model)
    for unit in units:
        low, high = unit.specification.limits
        assert unit.W.min() >= low
        assert unit.W.max() == high
    assert any(unit.W.min() == unit.specification.limits[0] for unit in units)
    if native:
        assert_alike(found, trained(near_limits(made, model, operation), native=False))


@needs_library
def test_a_large_output_penalty_counts_as_in_torch() -> None:
    recipe = recurrent_recipe("mclstm", "addition", "published")._replace(penalty=OutputPenalty(1e5))
    found, wanted = (trained(recurrent("mclstm", "addition", recipe), native) for native in (True, False))
    assert_alike(found, wanted)
    W, slope, _ = found.moments(found.model.head.W)
    assert torch.equal(slope.sign(), W.sign())  # all weights are pulled to 0, whatever the error says


@needs_library
def test_the_rate_falls_as_in_torch() -> None:
    recipe = static_recipe("mcfc", "addition")._replace(
        decay=Decay(2, 8, 0.1), epsilon=1e-4, learning_rate=0.01
    )
    slow, torchs = (trained(static("mcfc", "addition", recipe), native) for native in (True, False))
    assert_alike(slow, torchs)
    constant = trained(static("mcfc", "addition", recipe._replace(decay=None)), native=True)
    assert not torch.allclose(constant.model[0].B_i, slow.model[0].B_i, atol=1e-3)


@needs_library
@pytest.mark.parametrize(
    ("kind", "last", "first"), [("mcfc", "1.W", "0.B_i"), ("mclstm", "head.W", "layer.gates.W_i")]
)
def test_a_member_that_fails_stays_and_harms_nobody(kind: str, last: str, first: str) -> None:
    ensembles = []
    for poison in (False, True):
        task, recipe = (
            static(kind, "addition") if kind == "mcfc" else recurrent(kind, "addition", protocol="stated")
        )
        ensemble = Ensemble(task.model, len(SEEDS), recipe.learning_rate)
        ensemble.step(task.losses(0))
        if poison:
            with torch.no_grad():
                task.model.get_parameter(last)[1] = math.inf
        before = task.model.get_parameter(first).detach().clone()
        task.advance(ensemble, 7)
        ensembles.append(ensemble)
    assert ensembles[0].failed.tolist() == [-1, -1, -1]
    assert ensembles[1].failed.tolist() == [-1, 1, -1]
    one, two = (ensemble.model.get_parameter(first) for ensemble in ensembles)
    assert torch.equal(one[[0, 2]], two[[0, 2]])
    assert torch.equal(two[1], before[1])
    state = ensembles[1].optimiser.state[two]
    assert not state["exp_avg"][1].any()
    ensembles[1].note({"validation": torch.zeros(3)})
    assert ensembles[1].record("validation").isnan().tolist() == [[False, True, False]]


@pytest.mark.parametrize(
    ("made", "model", "operation"),
    [(recurrent, "lstm", "addition"), (recurrent, "nalu", "addition"), (mixed, "nalu", "addition")],
)
def test_others_are_left_to_torch(made: object, model: str, operation: str) -> None:
    assert made(model, operation)[0].advance is None  # type: ignore[operator]


def test_a_redistribution_of_every_step_is_left_to_torch() -> None:
    assert recurrent("mclstm-dynamic", "addition")[0].advance is None


@pytest.mark.parametrize(
    "spoiled",
    ["ablation", "two answers", "bias", "double", "penalty", "clamp", "range"],
)
def test_other_forms_of_its_networks_are_left_to_torch(spoiled: str) -> None:
    task, recipe = (
        RecurrentArithmetic("addition", SEEDS),
        recurrent_recipe("mclstm-tuned", "addition", "stated"),
    )
    network = recipe.build(sources(SEEDS))
    assert library() is None or module.native_learning(network, recipe, task) is not None
    if spoiled == "ablation":
        network.layer.gates.form = network.layer.gates.form._replace(not_conserving=("output",))
    elif spoiled == "double":
        network.double()
    elif spoiled == "penalty":
        recipe = recipe._replace(penalty=lambda model, update: torch.ones(len(SEEDS)))
    elif spoiled == "clamp":
        recipe = recipe._replace(clamped=True)
    elif spoiled == "range":
        task.train_range = (0.0, 5.0)
    else:
        network.head = Linear(
            2, 2 if spoiled == "two answers" else 1, bias=spoiled == "bias", members=len(SEEDS)
        )
    assert module.native_learning(network, recipe, task) is None


def test_without_the_library_torch_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "learns", lambda batch, outputs: False)
    assert static("mcfc", "addition")[0].advance is None
