"""Passes over sequences: the paper's configuration, its runtime table, single sequences, growth, memory.

Times are compared with the limit of the machine: the operations that a pass must execute, at the rate of
float32 multiply-adds in registers, on the same threads in the same rounds.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from mclstm.nn.gates import GateOptions
from mclstm_paper.bench.candidates import CANDIDATES, available, problem
from mclstm_paper.bench.limits import Work, limits
from mclstm_paper.bench.peak_memory import peak_memory
from mclstm_paper.bench.peers import Unavailable
from mclstm_paper.bench.ratios import BOTH, FORWARD, Row
from mclstm_paper.bench.scales import HYDROLOGY, PUBLISHED, Sizes
from mclstm_paper.bench.timed_rounds import Key, Measurement, Outcome, one_row, timed

__all__ = [
    "PAPER", "Operations", "growth", "memory", "operations", "paper", "product_operations", "single", "table",
]  # fmt: skip

# Not the reference: it gives every sample its own copy of the weights, so that no bit depends on the batch.
# For 256 samples that takes minutes and ten gigabytes; it is timed on single sequences.
PAPER = ("mclstm-native", "mclstm-torch", "mclstm-eager", "neuralhydrology", "lstm", "lstm-python")
SINGLE = ("mclstm-native", "mclstm-torch", "mclstm-reference", "mclstm-eager", "lstm")
GROWTH = ("mclstm-native", "mclstm-torch", "lstm")
# The paper's table: median milliseconds of a forward pass. We have no GPU to measure on.
TABLE_CPU = {"mclstm-eager": 951.0, "lstm-python": 205.0}
TABLE_GPU = {"mclstm-eager": 236.0, "lstm-python": 121.0}
TABLE = ("mclstm-native", "mclstm-torch", "mclstm-eager", "lstm", "lstm-python")


class Operations(NamedTuple):
    """Floating-point operations of the products of an MC-LSTM; a multiply-add counts as two."""

    forward: int
    both: int  # forward and backward


def product_operations(B: int, T: int, M: int, K: int, F: int) -> int:
    """All gates of all steps: (M + K + 1) rows of K logits, each a product with F features.

        2 B T (M + K + 1) K F

    >>> round(product_operations(B=256, T=365, M=1, K=64, F=1) / 1e9, 3)
    0.789
    """
    return 2 * B * T * (M + K + 1) * K * F


def operations(sizes: Sizes, gates_see: tuple[str, ...]) -> Operations:
    """Operations of a time-dependent R with static inputs hoisted out of the loop.

    The backward pass computes the gates again instead of storing R, then the gradients of the weights (each
    as many operations as forward) and of the state (K of the F features). Not counted are the static inputs
    (seen once per sequence), normalising, and gradients of the inputs, which the kernel computes, too.

    >>> operations(Sizes(256, 365, 1, 3, 27, 64), ("aux", "state", "mass"))
    Operations(forward=53677916160, both=211554140160)
    """
    widths = {"aux": sizes.A, "state": sizes.K, "mass": sizes.M}
    F = sum(widths[name] for name in gates_see)
    B, T, M, K = sizes.B, sizes.T, sizes.M, sizes.K
    forward = product_operations(B, T, M, K, F)
    state = product_operations(B, T, M, K, K) if "state" in gates_see else 0
    return Operations(forward, 3 * forward + state)


def timed_passes(
    measurement: Measurement,
    names: tuple[str, ...],
    problems: dict[str, Sizes],  # setting: sizes
    options: GateOptions,
    metrics: tuple[str, ...] = (FORWARD, BOTH),
) -> Outcome:
    """Every candidate on every problem, and the limits of the machine among them, all interleaved."""
    missing: dict[str, str] = {}
    scale, threads = measurement.scale, measurement.threads
    works = limits(scale.products, scale.fma_iterations, threads, missing)
    calls: dict[Key, Callable[[], object]] = {limit_key(name): work.call for name, work in works.items()}
    settings: dict[Key, str] = {}
    for setting, sizes in problems.items():
        inputs = problem(sizes, options)
        for name, candidate in available(names, inputs, missing).items():
            passes: dict[str, Callable[[], object]] = {
                FORWARD: candidate.forward,
                BOTH: partial(candidate.both, inputs.dh),
            }
            for metric in metrics:
                calls[name, metric, sizes] = passes[metric]
                settings[name, metric, sizes] = setting
    times = timed(measurement, calls)
    rows = [rate_row(measurement, name, work, times[limit_key(name)]) for name, work in works.items()]
    for key, setting in settings.items():
        rows.append(with_operations(one_row(measurement, setting, key, times[key]), options))
    return Outcome(rows, missing)


def limit_key(name: str) -> Key:
    return name, "gflops", Sizes(0, 0, 0, 0, 0, 0)


def rate_row(measurement: Measurement, name: str, work: Work, times: list[float]) -> Row:
    """The row of a limit: 1e9 operations per second, from milliseconds."""
    rates = [work.operations / ms / 1e6 for ms in times]
    return one_row(measurement, "float32", limit_key(name), rates, unit="GFLOP/s")


def with_operations(row: Row, options: GateOptions) -> Row:
    """The row of an MC-LSTM with the operations that its pass must execute; others unchanged."""
    if row["model"].startswith("lstm"):
        return row
    needed = operations(Sizes(**row["sizes"]), tuple(options["gates_see"]))
    return row | {"operations": needed.forward if row["metric"] == FORWARD else needed.both}


def paper(measurement: Measurement) -> Outcome:
    """The paper's configuration with hydrology gates, forward and forward with backward."""
    return timed_passes(measurement, PAPER, {"paper's configuration": measurement.scale.paper}, HYDROLOGY)


def table(measurement: Measurement) -> Outcome:
    """The paper's runtime table: forward, softmax gates, every input given at every step; no GPU."""
    sizes = measurement.scale.paper
    sizes = sizes._replace(A=sizes.A + sizes.S, S=0)
    timed_rows, missing = timed_passes(measurement, TABLE, {"runtime table": sizes}, PUBLISHED, (FORWARD,))
    rows = [row | {"paper": TABLE_CPU.get(row["model"])} for row in timed_rows]
    rows += [not_measured(measurement, name, ms, sizes) for name, ms in TABLE_GPU.items()]
    return Outcome(rows, missing)


def not_measured(measurement: Measurement, model: str, ms: float, sizes: Sizes) -> Row:
    """A number of the paper that we did not measure."""
    empty = one_row(measurement, "runtime table", (model, "forward on a GPU", sizes), [0.0], ms)
    return empty | {"n": 0, "value": None, "low": None, "high": None, "values": []}


def single(measurement: Measurement) -> Outcome:
    """One sequence at a time, for every number of cells."""
    problems = {f"K = {sizes.K}": sizes for sizes in measurement.scale.single}
    return timed_passes(measurement, SINGLE, problems, HYDROLOGY)


def growth(measurement: Measurement) -> Outcome:
    """How cost grows with one size: B, T, K, A or M."""
    axis, sweep = measurement.part, measurement.scale.sweeps[measurement.part]
    points = {f"{axis} = {value}": sweep.start._replace(**{axis: value}) for value in sweep.values}
    return timed_passes(measurement, GROWTH, points, HYDROLOGY)


def memory(measurement: Measurement) -> Outcome:
    """Peak memory of forward and backward above the inputs; the part is `candidate, T = steps`."""
    name, steps = measurement.part.split(", T = ")
    sizes = measurement.scale.paper._replace(T=int(steps))
    try:
        # The first call loads libraries: a small one, before the mark is set.
        small = problem(sizes._replace(B=2, T=2), HYDROLOGY)
        CANDIDATES[name](small).both(small.dh)
        inputs = problem(sizes, HYDROLOGY)
        peak = peak_memory(partial(CANDIDATES[name](inputs).both, inputs.dh))
    except Unavailable as reason:
        return Outcome([], {name: str(reason)})
    key = (name, "peak memory", sizes)
    return Outcome([one_row(measurement, f"T = {steps}", key, [peak], unit="MB", stored=stored(sizes))], {})


def stored(sizes: Sizes) -> float:
    """MB that every pass must store: outflows and cells of all steps, and the gradients of x and a."""
    B, T, M, A, _, K = sizes
    return 4 * B * (T * K + (T + 1) * K + T * (M + A)) / 1e6
