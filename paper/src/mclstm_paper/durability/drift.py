"""How far the ledger drifts over a million steps, with outlets open and closed, in both dtypes.

`make record-long-run` runs it and writes results/conservation/long_run.json; `make docs` turns that into the
table and the figure.
"""

import argparse
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from mclstm.nn.layer import MCLSTM
from mclstm.ops.native.build import status

__all__ = ["Drift", "drift"]

CELLS = 8
CHUNK = 1_000
Kind = Literal["static", "dynamic"]
KINDS: tuple[Kind, ...] = ("static", "dynamic")


class Run(NamedTuple):
    """What runs through a backend."""

    seeds: int
    dtypes: tuple[torch.dtype, ...]
    closed: tuple[bool, ...]  # outlets
    kinds: tuple[Kind, ...]  # of R


# The kernel takes seconds per seed, `torch` minutes for all seeds together, the reference minutes for each:
# those two run the worst case only.
RUNS = {
    "native": Run(20, (torch.float32, torch.float64), (True, False), KINDS),
    "torch": Run(20, (torch.float32,), (True,), ("static",)),
    "reference": Run(1, (torch.float32,), (True,), ("static",)),
}


class Drift(NamedTuple):
    """The relative ledger error after each number of steps: the largest and the median of all seeds."""

    seeds: int
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
    """Run one member per seed and note the ledger's error at steps that grow by a third.

    A constant redistribution is the worst case: its rounding is the same at every step.

    >>> drift(1000, torch.float32, closed=True, redistribution="static", seeds=2).worst[-1] < 1.2e-7 * 1000
    True
    """
    torch.manual_seed(0)
    bias = -1e4 if closed else -3.0
    options = {"redistribution": redistribution, "output_bias": bias, "backend": backend, "dtype": dtype}
    layer = MCLSTM(1, 1, CELLS, stay=None, members=seeds, **options)  # type: ignore[arg-type]
    marks = _marks(steps)
    errors = torch.stack([error for step, error in _books(layer, steps, seeds, dtype) if step in marks])
    return Drift(seeds, sorted(marks), errors.max(1).values.tolist(), errors.median(1).values.tolist())


def _books(layer: MCLSTM, steps: int, seeds: int, dtype: torch.dtype) -> Iterator[tuple[int, Tensor]]:
    """The step and the share of mass that is missing, (E,), chunk by chunk: memory does not grow."""
    c = torch.zeros(seeds, 1, CELLS, dtype=dtype)
    inflow = outflow = torch.zeros(seeds, dtype=torch.float64)
    for start in range(0, steps, CHUNK):
        length = min(CHUNK, steps - start)
        x = torch.rand(seeds, length, 1, 1, dtype=dtype)
        a = torch.randn(seeds, length, 1, 1, dtype=dtype)
        with torch.no_grad():
            h, c = layer(x, a, c)
        inflow = inflow + x.double().sum(dim=(1, 2, 3))
        outflow = outflow + h.double().sum(dim=(1, 2, 3))
        yield start + length, (inflow - outflow - c.double().sum(dim=(1, 2))).abs() / inflow


def _marks(steps: int) -> set[int]:
    marks, at = {steps}, float(CHUNK)
    while at < steps:
        marks.add(CHUNK * round(at / CHUNK))
        at *= 4 / 3
    return marks


def case_name(backend: str, dtype: torch.dtype, closed: bool, kind: Kind) -> str:
    """`native (avx2), float32, closed, static R`: the backend with its kernel, and what runs through it."""
    kernel = str(status().library).removesuffix(".so").removeprefix("kernel_")
    computer = f"{backend} ({kernel})" if backend == "native" else backend
    return f"{computer}, {str(dtype).removeprefix('torch.')}, {'closed' if closed else 'open'}, {kind} R"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--backends", nargs="+", choices=RUNS, default=list(RUNS))
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    for backend in options.backends:
        seeds, dtypes, outlets, kinds = RUNS[backend]
        for dtype, closed, kind in itertools.product(dtypes, outlets, kinds):
            curve = drift(
                options.steps, dtype, closed=closed, redistribution=kind, seeds=seeds, backend=backend
            )
            name, share = case_name(backend, dtype, closed, kind), curve.worst[-1] / options.steps
            print(f"{name}: {curve.worst[-1]:.3g}, {share / torch.finfo(dtype).eps:.2g} of eps T", flush=True)
            write(options.out, name, curve)


def write(out: Path, name: str, curve: Drift) -> None:
    """Put a curve into the file, in the place of an older one, so that backends can be run one by one."""
    curves = json.loads(out.read_text())["curves"] if out.exists() else {}
    curves[name] = curve._asdict()
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"curves": curves}, indent=1) + "\n")


if __name__ == "__main__":
    main()
