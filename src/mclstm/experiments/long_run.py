"""How far the ledger drifts over a million steps, with outlets open and closed, in both dtypes.

Run with `make record-long-run`; the outcome is kept in results/conservation/long_run.json.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from mclstm.nn.layer import MCLSTM

__all__ = ["Drift", "drift"]

CELLS = 8
CHUNK = 1_000
Kind = Literal["constant", "dynamic"]
KINDS: tuple[Kind, ...] = ("constant", "dynamic")


class Drift(NamedTuple):
    """Relative ledger error after so many steps: the largest and the middle of all seeds."""

    steps: list[int]
    worst: list[float]
    median: list[float]


class Constant(nn.Module):
    """One fixed redistribution a seed, all in one batch: the worst case, for rounding repeats every step."""

    def __init__(self, seeds: int) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.randn(seeds, CELLS, CELLS))

    def forward(self, x: Tensor, a: Tensor, c: Tensor) -> Tensor:
        """x (B, M), a (B, A), c (B, K) -> (B, K, K)."""
        return self.logits


def drift(
    steps: int,
    dtype: torch.dtype,
    *,
    closed: bool,
    redistribution: Kind,
    seeds: int = 20,
) -> Drift:
    """Run `seeds` sequences side by side and note the ledger's error at times that grow by a third.

    >>> drift(1000, torch.float32, closed=True, redistribution="constant", seeds=2).worst[-1] < 1.2e-7 * 1000
    True
    """
    torch.manual_seed(0)
    kind: Constant | Literal["dynamic"] = Constant(seeds) if redistribution == "constant" else "dynamic"
    bias = -1e4 if closed else -3.0
    layer = MCLSTM(1, 1, CELLS, redistribution=kind, stay=None, output_bias=bias).to(dtype)
    marks = _marks(steps)
    kept = [(step, errors) for step, errors in _books(layer, steps, seeds, dtype) if step in marks]
    return Drift(
        steps=[step for step, _ in kept],
        worst=[float(errors.max()) for _, errors in kept],
        median=[float(errors.median()) for _, errors in kept],
    )


def _books(layer: MCLSTM, steps: int, seeds: int, dtype: torch.dtype) -> Iterator[tuple[int, Tensor]]:
    """Chunk by chunk, so that memory does not grow: the step and the relative error of every seed."""
    c = torch.zeros(seeds, CELLS, dtype=dtype)
    inflow, outflow = (torch.zeros(seeds, dtype=torch.float64) for _ in range(2))
    for start in range(0, steps, CHUNK):
        length = min(CHUNK, steps - start)
        x = torch.rand(length, seeds, 1, dtype=dtype)
        with torch.no_grad():
            h, c = layer(x, torch.randn(length, seeds, 1, dtype=dtype), c)
        inflow += x.double().sum((0, 2))
        outflow += h.double().sum((0, 2))
        yield start + length, (inflow - outflow - c.double().sum(-1)).abs() / inflow


def _marks(steps: int) -> set[int]:
    marks, at = {steps}, float(CHUNK)
    while at < steps:
        marks.add(CHUNK * round(at / CHUNK))
        at *= 4 / 3
    return marks


def figure(results: dict[str, Drift], target: Path) -> None:
    """Both dtypes side by side: every case's worst seed under the bound eps T."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "mclstm"
    panels, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for axis, name in zip(axes, ("float32", "float64"), strict=True):
        cases = {case: curve for case, curve in results.items() if case.startswith(name)}
        for case, curve in cases.items():
            axis.loglog(curve.steps, curve.worst, label=case.removeprefix(f"{name}, "))
        steps = next(iter(cases.values())).steps
        bound = [torch.finfo(getattr(torch, name)).eps * step for step in steps]
        axis.loglog(steps, bound, "k--", label="bound: eps × steps")
        axis.set(title=name, xlabel="steps", ylabel="mass missing / mass in")
        axis.legend(fontsize=7)
    panels.savefig(target, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--figure", type=Path, required=True)
    options = parser.parse_args()
    results: dict[str, Drift] = {}
    for dtype in (torch.float32, torch.float64):
        for closed in (True, False):
            for kind in KINDS:
                name = f"{str(dtype).removeprefix('torch.')}, {'closed' if closed else 'open'}, {kind} R"
                results[name] = drift(options.steps, dtype, closed=closed, redistribution=kind)
                share = results[name].worst[-1] / (torch.finfo(dtype).eps * options.steps)
                print(f"{name}: {results[name].worst[-1]:.3g}, {share:.2g} of eps T", flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    table = {name: curve._asdict() for name, curve in results.items()}
    options.out.write_text(
        json.dumps({"steps": options.steps, "seeds": 20, "curves": table}, indent=1) + "\n"
    )
    figure(results, options.figure)


if __name__ == "__main__":
    main()
