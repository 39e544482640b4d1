"""Passes over sequences: the paper's configuration, its runtime table, single sequences, growth, memory."""

from collections.abc import Callable
from functools import partial

from mclstm.nn.gates import GateOptions
from mclstm_paper.bench.candidates import CANDIDATES, built, problem
from mclstm_paper.bench.counting import operations
from mclstm_paper.bench.job import PRODUCT, Job, Key, Measured, one_row, timed
from mclstm_paper.bench.memory import increase
from mclstm_paper.bench.roofline import fastest_product
from mclstm_paper.bench.rows import BOTH, FORWARD, Row
from mclstm_paper.bench.sizes import HYDROLOGY, PUBLISHED, Sizes
from mclstm_paper.bench.unavailable import Unavailable

__all__ = ["PAPER", "growth", "memory", "paper", "single", "table"]

# Not the reference: it gives every sample its own copy of the weights, so that no bit depends on the batch.
# For 256 of them that takes minutes and ten gigabytes; it is timed on single sequences.
PAPER = ("mclstm-native", "mclstm-torch", "mclstm-eager", "neuralhydrology", "lstm", "lstm-python")
SINGLE = ("mclstm-native", "mclstm-torch", "mclstm-reference", "mclstm-eager", "lstm")
GROWTH = ("mclstm-native", "mclstm-torch", "lstm")
# The paper's table: median milliseconds of a forward pass. Its GPU is not at hand.
TABLE_CPU = {"mclstm-eager": 951.0, "lstm-python": 205.0}
TABLE_GPU = {"mclstm-eager": 236.0, "lstm-python": 121.0}
TABLE = ("mclstm-native", "mclstm-torch", "mclstm-eager", "lstm", "lstm-python")


def measured(
    job: Job,
    names: tuple[str, ...],
    problems: dict[str, Sizes],  # setting: sizes
    options: GateOptions,
    metrics: tuple[str, ...] = (FORWARD, BOTH),
) -> Measured:
    """Every candidate on every problem, and the matrix product among them, all interleaved."""
    missing: dict[str, str] = {}
    product = fastest_product(job.scale.products)
    square = Sizes(0, 0, 0, 0, 0, 0)
    calls: dict[Key, Callable[[], object]] = {(PRODUCT, "gflops", square): product.call}
    settings: dict[Key, str] = {}
    for setting, sizes in problems.items():
        given = problem(sizes, options)
        for name, candidate in built(names, given, missing).items():
            passes: dict[str, Callable[[], object]] = {
                FORWARD: candidate.forward,
                BOTH: partial(candidate.both, given.dh),
            }
            for metric in metrics:
                calls[name, metric, sizes] = passes[metric]
                settings[name, metric, sizes] = setting
    times = timed(job, calls)
    rates = [product.operations / ms / 1e6 for ms in times.pop((PRODUCT, "gflops", square))]
    limit = one_row(job, "float32", (PRODUCT, "gflops", square), rates, unit="GFLOP/s")
    rows = [counted(one_row(job, settings[key], key, values), options) for key, values in times.items()]
    return Measured([limit, *rows], missing)


def counted(measured: Row, options: GateOptions) -> Row:
    """The row with the operations its pass must execute, if it is one of an MC-LSTM."""
    if measured["model"].startswith("lstm"):
        return measured
    needed = operations(Sizes(**measured["sizes"]), tuple(options["gates_see"]))
    return measured | {"operations": needed.forward if measured["metric"] == FORWARD else needed.both}


def paper(job: Job) -> Measured:
    """The paper's configuration with hydrology gates, forward and forward with backward."""
    return measured(job, PAPER, {"paper's configuration": job.scale.paper}, HYDROLOGY)


def table(job: Job) -> Measured:
    """The paper's runtime table: forward, softmax gates, every input given at every step; no GPU."""
    sizes = job.scale.paper
    sizes = sizes._replace(A=sizes.A + sizes.S, S=0)
    found = measured(job, TABLE, {"runtime table": sizes}, PUBLISHED, (FORWARD,))
    rows = [row | {"paper": TABLE_CPU.get(row["model"])} for row in found.rows]
    return Measured(rows + [not_measured(job, name, ms, sizes) for name, ms in TABLE_GPU.items()], {})


def not_measured(job: Job, model: str, ms: float, sizes: Sizes) -> Row:
    """A number of the paper with nothing of ours beside it."""
    empty = one_row(job, "runtime table", (model, "forward on a GPU", sizes), [0.0], ms)
    return empty | {"n": 0, "value": None, "low": None, "high": None, "values": []}


def single(job: Job) -> Measured:
    """One sequence at a time, for every number of cells."""
    return measured(job, SINGLE, {f"K = {sizes.K}": sizes for sizes in job.scale.single}, HYDROLOGY)


def growth(job: Job) -> Measured:
    """How cost grows when one size does: B, T, K, A or M."""
    axis, sweep = job.part, job.scale.sweeps[job.part]
    points = {f"{axis} = {value}": sweep.start._replace(**{axis: value}) for value in sweep.values}
    return measured(job, GROWTH, points, HYDROLOGY)


def memory(job: Job) -> Measured:
    """What forward and backward of one candidate take above the inputs; job.part: `candidate, T = steps`."""
    name, steps = job.part.split(", T = ")
    sizes = job.scale.paper._replace(T=int(steps))
    try:
        # Libraries make themselves at home in the first call: a small one, before the mark.
        small = problem(sizes._replace(B=2, T=2), HYDROLOGY)
        CANDIDATES[name](small).both(small.dh)
        given = problem(sizes, HYDROLOGY)
        grown = increase(partial(CANDIDATES[name](given).both, given.dh))
    except Unavailable as reason:
        return Measured([], {name: str(reason)})
    key = (name, "peak memory", sizes)
    return Measured([one_row(job, f"T = {steps}", key, [grown], unit="MB", stored=stored(sizes))], {})


def stored(sizes: Sizes) -> float:
    """MB of outflows and cells of all steps and of the gradients of x and a, which no pass can do without."""
    B, T, M, A, _, K = sizes
    return 4 * B * (T * K + (T + 1) * K + T * (M + A)) / 1e6
