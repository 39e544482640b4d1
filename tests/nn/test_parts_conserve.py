"""Conservation over random configurations of everything around the layer: MCFC, heads, cell, inputs.

Fewer examples than for the layer itself, whose properties are in tests/properties.
"""

from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from mclstm import MCFC, MCLSTM, AuxMemory, InputScaling, MCFCHead, MCLSTMCell, SumHead, rollout
from mclstm.ops.ledger import ledger
from support.variants import AnyModule, shaken

FEWER = settings(max_examples=max(20, settings().max_examples // 10))
NORMS = st.sampled_from(["softmax", "sigmoid", "relu"])
DTYPES = st.sampled_from([torch.float32, torch.float64])
SEEDS, AMOUNTS = st.integers(0, 2**31), st.sampled_from([0.0, 1e-30, 1.0, 1e30])
SHAKES = st.sampled_from([0.0, 0.5, 20.0])


def assert_split(whole: Tensor, *parts: Tensor) -> None:
    """The parts add up to the whole (N, M), up to one rounding for each number that is added."""
    missing = sum((part.double().sum(-1) for part in parts), -whole.double().sum(-1))
    count = whole.shape[-1] + parts[0].shape[-1]
    # Below tiny shares are rounded to a multiple of the smallest number, not to a share of eps.
    limits = torch.finfo(whole.dtype)
    bound = 4 * limits.eps * (count * whole.double().abs().sum(-1) + limits.tiny)
    assert (missing.abs() <= bound).all()


def assert_closed(x: Tensor, h: Tensor, c: Tensor) -> None:
    """The ledger of x (T, B, M), h (T, B, K), c (T + 1, B, K) closes within the bound of `audit`."""
    assert (ledger(x, h, c).error <= 4 * torch.finfo(c.dtype).eps * (h.shape[0] + h.shape[-1])).all()
    assert (h >= 0).all()
    assert (c >= 0).all()


@FEWER
@given(
    st.integers(1, 20),
    st.integers(1, 20),
    NORMS,
    st.booleans(),
    st.booleans(),
    DTYPES,
    AMOUNTS,
    SHAKES,
    SEEDS,
)
def test_mcfc_splits_without_loss(
    mass: int, cells: int, norm: str, gate: bool, signed: bool, dtype: torch.dtype, amount: float,
    shake: float, seed: int,
) -> None:  # fmt: skip
    torch.manual_seed(seed)
    layer = MCFC(mass, cells, input_norm=norm, output_gate=gate, allow_negative_mass=signed, dtype=dtype)
    x = amount * (torch.rand(7, mass, dtype=dtype) - 0.5 * signed)
    left, kept = shaken(layer, shake).split(x)
    assert_split(x, left, kept)
    assert gate or (kept == 0).all()
    assert signed or ((left >= 0).all() and (kept >= 0).all())


@FEWER
@given(st.integers(2, 20), st.integers(1, 5), DTYPES, AMOUNTS, SHAKES, SEEDS)
def test_conserving_heads_lose_nothing(
    cells: int, count: int, dtype: torch.dtype, amount: float, shake: float, seed: int
) -> None:
    torch.manual_seed(seed)
    h = amount * torch.rand(6, cells, dtype=dtype)
    names = [f"outlet {n}" for n in range(count)]
    assert_split(h, shaken(MCFCHead(cells, names).to(dtype), shake)(h))
    gated = shaken(MCFCHead(cells, names, output_gate=True).to(dtype), shake)(h)
    assert_split(h, gated)
    assert (gated >= 0).all()
    assert_split(h[:, 1:], SumHead(cells).to(dtype)(h))
    # Every cell in one outlet or in the trash, which takes the last place.
    places = torch.randint(count + 1, (cells,))
    chosen = {name: (places == n).nonzero().flatten().tolist() for n, name in enumerate(names)}
    assert_split(h, torch.cat([SumHead(cells, chosen).to(dtype)(h), h[:, places == count]], dim=-1))


@st.composite
def cells_of_every_kind(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "hidden_size": draw(st.integers(1, 12)),
        "aux_size": draw(st.integers(0, 4)),
        "static_size": draw(st.integers(0, 3)),
        "redistribution": draw(st.sampled_from(["dynamic", "static", "outer", "identity", "module"])),
        "redistribution_norm": draw(NORMS),
        "input_norm": draw(NORMS),
        "gates_see": tuple(draw(st.sets(st.sampled_from(["aux", "state", "mass"])))),
        "outlet": draw(st.sampled_from(["gate", "constant", "none"])),
        "state_norm": draw(st.sampled_from(["sample", "none", "batch"])),
        "output_bias": draw(st.sampled_from([-1e4, -3.0, 3.0])),
        "dtype": draw(DTYPES),
    }


def _cell(options: dict[str, Any], mass: int, shake: float) -> MCLSTMCell:
    if options["redistribution"] == "module":
        aux = options["aux_size"] + options["static_size"]
        module: nn.Module = AnyModule(options["hidden_size"], aux=aux, mass=mass).to(options["dtype"])
        options = options | {"redistribution": module}
    return shaken(MCLSTMCell(mass, **options), shake)


def _seen(options: dict[str, Any], steps: int) -> tuple[Tensor, Tensor]:
    sizes = (steps, 3, options["aux_size"]), (3, options["static_size"])
    a, static = (torch.randn(size, dtype=options["dtype"]) for size in sizes)
    return a, static


@FEWER
@given(cells_of_every_kind(), st.integers(0, 4), st.integers(1, 60), AMOUNTS, SHAKES, SEEDS)
@torch.no_grad()
def test_a_cell_step_by_step_closes_its_ledger(
    options: dict[str, Any], mass: int, steps: int, amount: float, shake: float, seed: int
) -> None:
    torch.manual_seed(seed)
    cell, (a, static) = _cell(options, mass, shake), _seen(options, steps)
    x = amount * torch.rand(steps, 3, mass, dtype=a.dtype)
    stores, outflows = [amount * torch.rand(3, options["hidden_size"], dtype=a.dtype)], []
    for t in range(steps):
        h, c = cell(x[t], a[t], stores[-1], static=static)
        outflows.append(h)
        stores.append(c)
    assert_closed(x, torch.stack(outflows), torch.stack(stores))


@FEWER
@given(cells_of_every_kind(), st.integers(1, 60), AMOUNTS, SHAKES, st.booleans(), SEEDS)
@torch.no_grad()
def test_a_roll_out_closes_its_ledger(
    options: dict[str, Any], steps: int, amount: float, shake: float, predicted: bool, seed: int
) -> None:
    torch.manual_seed(seed)
    cell, (a, static) = _cell(options, 0, shake), _seen(options, steps)
    c0 = amount * torch.rand(3, options["hidden_size"], dtype=a.dtype)
    free: dict[str, Any] = {"next_aux": lambda a, c: torch.tanh(a - 0.1), "steps": steps} if predicted else {}
    run = rollout(cell, c0, a[0] if predicted else a, static=static, **free)
    assert_closed(c0.new_zeros(steps, 3, 0), run.h, run.c)


@FEWER
@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 40), AMOUNTS, st.booleans(), DTYPES, SEEDS)
@torch.no_grad()
def test_scaled_inputs_and_remembered_auxiliaries_are_conserved(
    mass: int, aux: int, steps: int, amount: float, remember: bool, dtype: torch.dtype, seed: int
) -> None:
    torch.manual_seed(seed)
    x, a = amount * torch.rand(steps, 3, mass, dtype=dtype), torch.randn(steps, 3, aux, dtype=dtype)
    scaled, factors = shaken(InputScaling(mass, aux).to(dtype))(x, a)
    assert (factors > 0).all()
    assert torch.equal(scaled, x * factors)
    seen = shaken(AuxMemory(aux, 5).to(dtype))(a)[0] if remember else a
    layer = shaken(MCLSTM(mass, seen.shape[-1], 6, dtype=dtype))
    assert_closed(scaled, *layer.trajectory(scaled, seen))
