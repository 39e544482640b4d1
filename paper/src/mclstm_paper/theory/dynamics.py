"""Figures of what happens over time: conservation, chains, equivariance, linear flow, gradients."""

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from mclstm.nn.layer import MCLSTM
from mclstm_paper.theory.drawing import GATE, INK, MASS, OTHER, PALE, THIRD, label, panels
from mclstm_paper.theory.markov_chain import closed_layer, first_redistribution, random_markov, trajectory

__all__ = ["conservation", "equivariance", "flow", "gradients", "markov"]


def pulses(steps: int) -> Tensor:
    """Rain on one day in seven: (T, 1)."""
    return torch.where(torch.rand(steps, 1) < 1 / 7, torch.rand(steps, 1) * 10.0, 0.0)


def conservation() -> Figure:
    """Where the mass of an open system is, and how well the ledger closes."""
    figure, (left, right) = panels(2)
    torch.manual_seed(0)
    layer = MCLSTM(1, 0, 3, dtype=torch.float64)
    book = layer.flows(pulses(120).double()).ledger
    days = np.arange(1, 121)
    left.stackplot(days, book.storage[:, 0], book.outflow[:, 0], colors=[MASS, PALE])
    left.plot(days, book.inflow[:, 0], color=INK, lw=1.2, ls="--")
    left.text(76, 5, "stored", color="white")
    left.text(70, 45, "flowed out", color=INK)
    left.text(20, float(book.inflow[45, 0]), "came in", color=INK, ha="left")
    label(left, "Theorem 1: stored + outflow = inflow", "step", "cumulative mass")
    for dtype, colour in ((torch.float32, GATE), (torch.float64, MASS)):
        steps, error, bound = ledger_error(dtype, steps=2000, cells=8)
        name = str(dtype).removeprefix("torch.")
        right.plot(steps, error.clip(min=1e-19), color=colour, lw=0.8, label=name)
        right.plot(steps, bound, color=colour, lw=1.0, ls="--", label=f"4 eps (t + K), {name}")
    right.set(xscale="log", yscale="log", ylim=(1e-18, 1e1))
    right.legend(ncols=2, loc="upper left")
    label(right, "What rounding leaves open", "step", "relative error of the ledger")
    return figure


def ledger_error(dtype: torch.dtype, steps: int, cells: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The steps, the largest relative error of 4 samples at each, and its bound."""
    torch.manual_seed(1)
    layer = MCLSTM(2, 3, cells, dtype=dtype)
    x, a = torch.rand(steps, 4, 2, dtype=dtype), torch.randn(steps, 4, 3, dtype=dtype)
    with torch.no_grad():
        error = layer.flows(x, a).ledger.error.max(dim=-1).values.numpy()
    times = np.arange(1, steps + 1)
    return times, error, 4 * torch.finfo(dtype).eps * (times + cells)


def markov() -> Figure:
    """Distance from the stationary distribution, for chains that mix, turn, or turn lazily."""
    figure, (axes,) = panels(1, width=6.0)
    cycle = torch.eye(4, dtype=torch.float64).roll(1, dims=1)
    chains = {
        "random R": (torch.from_numpy(random_markov(4, "exponential", seed=3)), MASS, "o"),
        "cycle that stays with 0.1": (0.1 * torch.eye(4) + 0.9 * cycle, OTHER, "s"),
        "cycle (irreducible, period 4)": (cycle, GATE, "^"),
    }
    for name, (R, colour, marker) in chains.items():
        values, vectors = np.linalg.eig(R.numpy().T)
        pi = np.real(vectors[:, np.argmin(np.abs(values - 1.0))])
        c = trajectory(closed_layer(R), torch.eye(4)[0], 40).numpy()
        gap = np.abs(c - pi / pi.sum()).sum(axis=1)
        above = gap > 1e-15
        axes.semilogy(np.arange(41)[above], gap[above], color=colour, marker=marker, ms=3, lw=1, label=name)
    axes.legend(loc="lower left")
    label(axes, "Irreducible is not enough: a cycle never settles", "step", "L1 distance from the limit")
    return figure


def equivariance() -> Figure:
    """Scaling and shifting every input: what the output does."""
    figure, (left, right) = panels(2)
    torch.manual_seed(2)
    a, x = torch.randn(60, 2, dtype=torch.float64), pulses(60).double()
    scales = np.geomspace(0.01, 100.0, 20)
    for sees, colour in ((("aux", "state"), MASS), (("aux", "state", "mass"), GATE)):
        torch.manual_seed(3)
        layer = MCLSTM(1, 2, 4, gates_see=sees, dtype=torch.float64)
        with torch.no_grad():
            once = layer(x, a)[0]
            gaps = [float((layer(s * x, a)[0] / s - once).abs().max() / once.max()) for s in scales]
        name = "gates see mass" if "mass" in sees else "gates do not see mass"
        left.loglog(scales, np.maximum(gaps, 1e-17), color=colour, marker="o", ms=3, lw=1, label=name)
    left.set_ylim(1e-17, 1e2)
    left.legend(loc="center left")
    label(left, "Scale: h(s x) / s against h(x)", "scale s", "largest relative difference")
    constant, varying = shift_response(torch.zeros(60, 2)), shift_response(a)
    right.axhline(1.0, color=INK, lw=1, ls="--", label="if shift-equivariant")
    right.plot(np.arange(1, 61), constant, color=MASS, lw=1.4, label="constant gates")
    right.plot(np.arange(1, 61), varying, color=GATE, lw=1.0, label="gates driven by auxiliaries")
    right.legend(loc="upper right")
    right.set_ylim(0, 2.6)
    label(right, "Shift: 1 more in at every step", "step", "additional total outflow")
    return figure


def shift_response(a: Tensor) -> np.ndarray:
    """Σ h(x + 1) - Σ h(x) at every step; a: (T, 2)."""
    torch.manual_seed(4)
    layer = MCLSTM(1, 2, 4, gates_see=("aux",), output_bias=-2.0, dtype=torch.float64)
    x = pulses(len(a)).double()
    with torch.no_grad():
        more, plain = layer(x + 1.0, a.double())[0], layer(x, a.double())[0]
    return np.asarray((more - plain).sum(-1).numpy())


def flow() -> Figure:
    """Two cells: a disk of states under R, and the determinant of random R."""
    figure, (left, right) = panels(2)
    angle = torch.linspace(0, 2 * torch.pi, 60)
    disk = torch.stack([2.0 + 0.9 * torch.cos(angle), 1.2 + 0.9 * torch.sin(angle)], dim=-1)
    R = torch.tensor([[0.85, 0.15], [0.25, 0.75]])
    cloud = trajectory(closed_layer(R), disk, 3)
    for t, colour in enumerate(("#08306b", "#2171b5", "#6baed6", "#c6dbef")):
        share = f"t = {t}: {torch.linalg.det(R) ** t:.2f} of the area"
        left.fill(cloud[t, :, 0], cloud[t, :, 1], color=colour, alpha=0.6, label=share)
    for total in (2.0, 3.2, 4.4):
        left.plot([0, total], [total, 0], color=INK, lw=0.6, ls=":")
    left.set(xlim=(0, 4.8), ylim=(0, 2.8), aspect="equal")
    left.legend(loc="upper right", borderaxespad=0.0)
    label(left, "L1 norms stay (dotted), areas shrink by |det R|", "cell 1", "cell 2")
    sizes = (2, 3, 4, 6, 8, 12, 16, 24)
    dets = [[np.linalg.slogdet(random_markov(K, "exponential", s))[1] for s in range(200)] for K in sizes]
    right.boxplot(
        [np.array(d) / np.log(10) for d in dets],
        tick_labels=[str(K) for K in sizes],
        sym="",
        medianprops={"color": MASS},
    )
    right.axhline(0.0, color=GATE, lw=1)
    label(right, "Random R: determinants are below 1", "cells K", "log10 |det R|")
    return figure


def gradients() -> Figure:
    """What is left of the gradient for the place of mass, and of its total."""
    figure, (axes,) = panels(1, width=6.0)
    steps, cells = np.arange(41), 16
    starts = {
        "stay=0.99": (first_redistribution(cells, "static", 0, stay=0.99), OTHER),
        "stay=0.9": (first_redistribution(cells, "static", 0, stay=0.9), MASS),
        "stay=None": (first_redistribution(cells, "dynamic", 0), GATE),
        "iid exponential entries": (random_markov(cells, "exponential", 0), THIRD),
    }
    away = np.eye(cells) - np.full((cells, cells), 1.0 / cells)  # removes what only changes the total
    for name, (R, colour) in starts.items():
        powers = [np.linalg.matrix_power(R, int(t)) for t in steps]
        axes.semilogy(steps, [np.linalg.norm(away @ P, 2) for P in powers], color=colour, lw=1.4, label=name)
    axes.axhline(1.0, color=INK, lw=1, ls="--", label="total mass, for every R")
    axes.set_ylim(1e-6, 3)
    axes.legend(loc="lower right")
    label(
        axes,
        f"Closed system, K = {cells}: does c(0) still matter?",
        "steps T",
        "norm of dc(T)/dc(0) for moved mass",
    )
    return figure
