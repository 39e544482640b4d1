"""Conservation, non-negativity and boundedness over random configurations of everything the layer offers.

`HYPOTHESIS_PROFILE=long MCLSTM_RECORD=results/conservation/properties.json pytest tests/properties` runs ten
thousand and keeps the worst error met, as a share of its bound.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from mclstm import MCLSTM, Hypernetwork
from mclstm.nn.flows import Flows
from mclstm.ops.hypernetwork import SEES
from mclstm.ops.ledger import promised
from support.kernels import untested
from support.record import keep, measured
from support.variants import AnyModule, shaken

pytestmark = pytest.mark.usefixtures("each_kernel")

# Work of one example, in steps times cells squared times samples: keeps a run of the suite to a minute.
BUDGET = 1_500_000

NORMS = ["softmax", "sigmoid", "relu"]
# What a unit of mass is, and how many of them come in; None is the smallest normal number of the dtype.
MASSES = [(1.0, counts) for counts in ([0.0], [1.0], [0.0, 1.0], [1e-30], [1e30], [0.0, 1e-30, 1.0, 1e30])]
TINY_MASSES = [(None, counts) for counts in ([1e-7], [1e-4], [1.0], [1e2], [1e6], [0.0, 1e-7, 1.0, 1e3])]
worst: dict[str, float] = {}


@pytest.fixture(scope="module", autouse=True)
def _record() -> Iterator[None]:
    yield
    keep(worst)


@st.composite
def configurations(draw: st.DrawFn) -> dict[str, Any]:
    cells = draw(st.one_of(st.integers(1, 8), st.integers(1, 128)))
    kind = draw(st.sampled_from(["dynamic", "static", "outer", "identity", "module", *SEES]))
    mask = None
    if kind != "identity" and draw(st.booleans()):
        mask = _random_mask(cells, draw(st.integers(0, 2**31)), draw(st.sampled_from([0.1, 0.5, 0.9])))
    start = draw(st.sampled_from(["zero", "learned", 0.0, 1.0, 1e30]))
    return {
        "cells": cells,
        "mass": draw(st.integers(0, 8)),
        "aux": draw(st.integers(0, 16)),
        "static_size": draw(st.integers(0, 5)),
        "redistribution": kind,
        "redistribution_norm": draw(st.sampled_from(NORMS)),
        "input_norm": draw(st.sampled_from(NORMS)),
        "gates_see": tuple(draw(st.sets(st.sampled_from(["aux", "state", "mass"])))),
        "mask": mask,
        "initial_state": start,
        "learned_from": draw(st.sampled_from([0.0, 1.0, 100.0])) if start == "learned" else 1.0,
        "outlet": draw(st.sampled_from(["gate", "gate", "constant", "none"])),
        "stay": draw(st.sampled_from([None, 0.1, 0.9])),
        "state_norm": draw(st.sampled_from(["sample", "sample", "none", "batch"])),
        "allow_negative_mass": draw(st.sampled_from([False, False, True])),
        "output_bias": draw(st.sampled_from([-1e4, -3.0, 0.0, 3.0, 1e4])),
        "batch_first": draw(st.booleans()),
        "dtype": draw(st.sampled_from([torch.float32, torch.float64])),
    }


@st.composite
def uses(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "steps": draw(st.one_of(st.integers(1, 12), st.integers(1, 512))),
        "batch": draw(st.integers(1, 16)),
        "masses": draw(st.sampled_from([*MASSES, *TINY_MASSES])),
        "given_state": draw(st.booleans()),
        "padded": draw(st.booleans()),
        "unbatched": draw(st.booleans()),
        "autocast": draw(st.booleans()),
        "shake": draw(st.sampled_from([0.0, 0.5, 20.0])),
        "seed": draw(st.integers(0, 2**31)),
    }


def _random_mask(cells: int, seed: int, density: float) -> Tensor:
    source = torch.Generator().manual_seed(seed)
    mask = torch.rand(cells, cells, generator=source) < density
    mask[torch.arange(cells), torch.randint(cells, (cells,), generator=source)] = True
    return mask


def _layer(configuration: dict[str, Any], shake: float) -> MCLSTM:
    options = dict(configuration)
    mass, aux, cells = options.pop("mass"), options.pop("aux"), options.pop("cells")
    kind, seen = options["redistribution"], aux + options["static_size"]
    if kind == "module" or kind in SEES:
        inner = (
            AnyModule(cells, seen, mass) if kind == "module" else Hypernetwork(seen, cells, (5,), sees=kind)
        )
        options["redistribution"] = inner.to(options["dtype"])
    layer = MCLSTM(mass, aux, cells, **options)
    return shaken(layer, shake)


def _call(layer: MCLSTM, use: dict[str, Any], cells: int) -> dict[str, Any]:
    """Keyword arguments of a call: mass drawn from the listed magnitudes, times a random factor."""
    gates, dtype = layer.gates, layer.gates.W_i.dtype
    steps = min(use["steps"], max(1, BUDGET // (cells * cells * use["batch"])))
    batch = 1 if use["unbatched"] else use["batch"]
    signs = (-1.0, 1.0) if gates.form.signed else (1.0,)
    unit, counts = use["masses"]
    amounts = torch.tensor(counts, dtype=dtype) * (torch.finfo(dtype).tiny if unit is None else unit)
    choice = amounts[torch.randint(len(counts), (steps, batch, gates.mass_size))]
    choice = choice * torch.tensor(signs, dtype=dtype)[torch.randint(len(signs), choice.shape)]
    call = {
        "x": choice * torch.rand(steps, batch, gates.mass_size, dtype=dtype),
        "a": 3 * torch.randn(steps, batch, gates.aux_size, dtype=dtype),
    }
    if layer.batch_first and not use["unbatched"]:
        call = {name: value.transpose(0, 1) for name, value in call.items()}
    call["static"] = torch.randn(batch, gates.static_size, dtype=dtype)
    lowest = 0.5 if gates.form.signed else 0.0
    stored = (torch.rand(batch, cells, dtype=dtype) - lowest) * amounts.max()
    call["c0"] = stored if use["given_state"] else None
    if use["unbatched"]:
        call["x"], call["a"] = call["x"].squeeze(1), call["a"].squeeze(1)
        call["static"] = call["static"].squeeze(0)
        call["c0"] = None if call["c0"] is None else call["c0"].squeeze(0)
    call["lengths"] = torch.randint(0, steps + 1, (batch,)) if use["padded"] else None
    return call


def _note(name: str, share: float) -> None:
    worst[name] = max(worst.get(name, 0.0), share)


@given(configurations(), uses())
def test_mass_is_conserved_non_negative_and_bounded(
    each_kernel: str | None, configuration: dict[str, Any], use: dict[str, Any]
) -> None:
    torch.manual_seed(use["seed"])
    layer, cells = _layer(configuration, use["shake"]), configuration["cells"]
    assert layer.conserving
    call = _call(layer, use, cells)
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.float16, enabled=use["autocast"]):
        flows = {"reference": layer.flows(**call)}
        for backend in untested(("torch", "native"), each_kernel):
            layer.backend = backend
            h, c = layer.trajectory(**call)
            flows[backend] = flows["reference"]._replace(h=h, c=c)
    for backend, moved in flows.items():
        _closes(moved, cells, configuration["dtype"], backend)
        if not configuration["allow_negative_mass"]:
            _is_physical(moved, cells, configuration["dtype"])
    _note("configurations", worst.get("configurations", 0) + 1)


def _closes(flows: Flows, cells: int, dtype: torch.dtype, backend: str) -> None:
    book = flows.ledger
    share = float((book.residual.abs() / promised(book, cells, dtype)).max())
    assert share <= 1.0
    _note(measured(backend, dtype), share)


def _is_physical(flows: Flows, cells: int, dtype: torch.dtype) -> None:
    """Nothing is negative, no cell holds more than all mass, and what the dtype can hold never vanishes."""
    assert (flows.c >= 0).all()
    assert (flows.h >= 0).all()
    book = flows.ledger
    allowed = promised(book, cells, dtype)
    stored = flows.layout.inward(flows.c)[1:].double().cpu()
    assert (stored <= (book.turnover + allowed).unsqueeze(-1)).all()
    assert ((book.outflow + book.storage > 0) | (book.turnover <= allowed)).all()
