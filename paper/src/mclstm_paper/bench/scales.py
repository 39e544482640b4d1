"""The sizes of every measurement at three scales: the paper's, a quick look, and tiny ones for tests."""

from collections.abc import Mapping
from typing import NamedTuple

from mclstm.nn.gates import GateOptions

__all__ = ["HYDROLOGY", "PUBLISHED", "SCALES", "TASKS", "Scale", "Sizes", "Sweep", "Task"]


class Sizes(NamedTuple):
    """One problem: B samples, T steps, M mass, A auxiliary and S static inputs, K cells."""

    B: int
    T: int
    M: int
    A: int
    S: int
    K: int


class Task(NamedTuple):
    """A small model that is trained with many seeds: its sizes and its form."""

    sizes: Sizes
    options: GateOptions


class Sweep(NamedTuple):
    """One size takes these values while the others stay as in `start`."""

    start: Sizes
    values: tuple[int, ...]


class Scale(NamedTuple):
    """Every size a bench needs."""

    paper: Sizes
    long_steps: int  # T at which memory is measured again
    members: tuple[int, ...]
    tasks: Mapping[str, Task]
    single: tuple[Sizes, ...]
    sweeps: Mapping[str, Sweep]
    member_sweep: tuple[int, ...]
    products: tuple[int, ...]  # sizes of the matrix products to try
    fma_iterations: int  # of the loop that sets the limit; 96 multiply-adds each with AVX2, 384 with AVX-512
    repeats: int
    shortest: float  # seconds per turn at least; quicker calls are repeated


# The gates of the paper's hydrology: normalised sigmoid and ReLU, mass in the gates, no `stay`.
HYDROLOGY: GateOptions = {
    "input_norm": "sigmoid",
    "redistribution_norm": "relu",
    "gates_see": ("aux", "state", "mass"),
    "stay": None,
}
# The gates of the paper's runtime table: its defaults, softmax of auxiliary inputs and state.
PUBLISHED: GateOptions = {"gates_see": ("aux", "state")}

# The models of the paper's arithmetic have a constant R; one task has an R that depends on time.
CONSTANT: GateOptions = {"redistribution": "static"}
TASKS: dict[str, Task] = {
    "recurrent arithmetic, K = 2": Task(Sizes(128, 10, 10, 1, 0, 2), CONSTANT),
    "recurrent arithmetic, K = 3": Task(Sizes(128, 10, 10, 1, 0, 3), CONSTANT),
    "recurrent arithmetic, K = 3, time-dependent R": Task(Sizes(128, 10, 10, 1, 0, 3), {}),
    "addition, K = 10": Task(Sizes(128, 100, 1, 1, 0, 10), {**CONSTANT, "gates_see": ("aux",)}),
}


def doubled(first: int, last: int) -> tuple[int, ...]:
    """first, 2 first, 4 first, ... last.

    >>> doubled(2, 16)
    (2, 4, 8, 16)
    """
    return (first, *doubled(2 * first, last)) if first < last else (first,)


FULL = Scale(
    paper=Sizes(256, 365, 1, 3, 27, 64),
    long_steps=4 * 365,
    members=(10, 100),
    tasks=TASKS,
    single=tuple(Sizes(1, 365, 1, 3, 27, K) for K in (*doubled(1, 64), 100, 128)),
    sweeps={
        "B": Sweep(Sizes(0, 100, 1, 3, 27, 64), doubled(16, 1024)),
        "T": Sweep(Sizes(64, 0, 1, 3, 27, 64), doubled(32, 2048)),
        "K": Sweep(Sizes(128, 100, 1, 3, 27, 0), doubled(8, 128)),
        "A": Sweep(Sizes(128, 100, 1, 0, 0, 32), doubled(1, 64)),
        "M": Sweep(Sizes(128, 100, 0, 3, 0, 32), doubled(1, 32)),
    },
    member_sweep=doubled(1, 64),
    products=(512, 1024, 1536, 2048),
    fma_iterations=20_000_000,
    repeats=7,
    shortest=0.05,
)

QUICK = FULL._replace(
    paper=Sizes(64, 90, 1, 3, 27, 64),
    long_steps=4 * 90,
    single=tuple(Sizes(1, 90, 1, 3, 27, K) for K in (8, 32, 128)),
    sweeps={
        "B": Sweep(Sizes(0, 30, 1, 3, 27, 64), doubled(16, 256)),
        "T": Sweep(Sizes(64, 0, 1, 3, 27, 64), doubled(8, 128)),
        "K": Sweep(Sizes(128, 30, 1, 3, 27, 0), doubled(8, 64)),
        "A": Sweep(Sizes(128, 30, 1, 0, 0, 32), doubled(4, 64)),
        "M": Sweep(Sizes(128, 30, 0, 3, 0, 32), doubled(1, 8)),
    },
    member_sweep=doubled(1, 16),
    repeats=3,
    shortest=0.01,
)

TINY = Scale(
    paper=Sizes(3, 5, 1, 2, 2, 4),
    long_steps=10,
    members=(2, 3),
    tasks={name: task._replace(sizes=Sizes(3, 4, 2, 1, 0, 2)) for name, task in TASKS.items()},
    single=(Sizes(1, 4, 1, 1, 1, 2), Sizes(1, 4, 1, 1, 1, 3)),
    sweeps={
        name: Sweep(Sizes(2, 3, 1, 2, 1, 3)._replace(**{name: 0}), (1, 2, 4))
        for name in ("B", "T", "K", "A", "M")
    },
    member_sweep=(1, 2),
    products=(8, 16),
    fma_iterations=100,
    repeats=2,
    shortest=0.0,
)

SCALES: dict[str, Scale] = {"paper": FULL, "quick": QUICK, "tiny": TINY}
