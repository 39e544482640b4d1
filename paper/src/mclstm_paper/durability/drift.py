"""How far the ledger drifts over a million steps, with outlets open and closed, in both dtypes.

`make record-long-run` runs it and writes results/conservation/long_run.json; `make docs` turns that into the
table and the figure.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import torch

from mclstm.nn.layer import MCLSTM

__all__ = ["Drift", "drift"]

CELLS = 8
CHUNK = 1_000
Kind = Literal["static", "dynamic"]
KINDS: tuple[Kind, ...] = ("static", "dynamic")


class Drift(NamedTuple):
    """The relative ledger error after each number of steps: the largest and the median of all seeds."""

    steps: list[int]
    worst: list[float]
    median: list[float]


def drift(
    steps: int,
    dtype: torch.dtype,
    *,
    closed: bool,
    redistribution: Kind,
    seeds: int = 20,
    backend: str = "auto",
) -> Drift:
    """Run one layer per seed and note the ledger's error at steps that grow by a third.

    A constant redistribution is the worst case: its rounding is the same at every step.

    >>> drift(1000, torch.float32, closed=True, redistribution="static", seeds=2).worst[-1] < 1.2e-7 * 1000
    True
    """
    marks = _marks(steps)
    runs = []
    for seed in range(seeds):
        torch.manual_seed(seed)
        bias = -1e4 if closed else -3.0
        options = {"redistribution": redistribution, "output_bias": bias, "backend": backend, "dtype": dtype}
        layer = MCLSTM(1, 1, CELLS, stay=None, **options)  # type: ignore[arg-type]
        runs.append([error for step, error in _books(layer, steps, dtype) if step in marks])
    errors = torch.tensor(runs, dtype=torch.float64)
    return Drift(sorted(marks), errors.max(0).values.tolist(), errors.median(0).values.tolist())


def _books(layer: MCLSTM, steps: int, dtype: torch.dtype) -> Iterator[tuple[int, float]]:
    """The step and the share of all mass that is missing, chunk by chunk, so that memory does not grow."""
    c = torch.zeros(1, CELLS, dtype=dtype)
    inflow = outflow = 0.0
    for start in range(0, steps, CHUNK):
        length = min(CHUNK, steps - start)
        x = torch.rand(length, 1, 1, dtype=dtype)
        with torch.no_grad():
            h, c = layer(x, torch.randn(length, 1, 1, dtype=dtype), c)
        inflow += float(x.double().sum())
        outflow += float(h.double().sum())
        yield start + length, abs(inflow - outflow - float(c.double().sum())) / inflow


def _marks(steps: int) -> set[int]:
    marks, at = {steps}, float(CHUNK)
    while at < steps:
        marks.add(CHUNK * round(at / CHUNK))
        at *= 4 / 3
    return marks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, required=True)
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


if __name__ == "__main__":
    main()
