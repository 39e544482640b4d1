"""What the runtime is meant to be, judged by the rows of a bench."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from mclstm_paper.bench.growth import growth_exponent
from mclstm_paper.bench.rows import BOTH, FORWARD, Row, Spread, attainment, every, find, ratio

__all__ = ["SMALL", "Target", "Verdict", "targets", "verdicts"]

Measure = Callable[[list[Row]], float | None]
# How many times as fast a seed is among 100 members.
SMALL = {"recurrent arithmetic, K = 2": 50, "recurrent arithmetic, K = 3": 50, "addition, K = 10": 30}


class Target(NamedTuple):
    """A number that a bench yields, and the range it is meant to lie in."""

    text: str
    measure: Measure
    least: float | None
    most: float | None


class Verdict(NamedTuple):
    """A target and what was measured; None if the rows for it are missing."""

    target: Target
    value: float | None

    @property
    def holds(self) -> bool | None:
        if self.value is None:
            return None
        least, most = self.target.least, self.target.most
        return (least is None or self.value >= least) and (most is None or self.value <= most)

    @property
    def wanted(self) -> str:
        """The range in words: at least 5, at most 10, 0.9 to 1.1."""
        least, most = self.target.least, self.target.most
        if least is not None and most is not None:
            return f"{least:g} to {most:g}"
        return f"at most {most:g}" if least is None else f"at least {least:g}"

    def claim(self) -> dict[str, Any]:
        """As the results file has it."""
        test = f"{self.wanted}; median of the rounds"
        return {"claim": self.target.text, "test": test, "p": None, "holds": self.holds, "value": self.value}


def middle(found: Spread | None) -> float | None:
    return None if found is None else found.value


def times_faster(rows: list[Row], model: str, than: str, metric: str, threads: int) -> float | None:
    """How many times as fast a model is in the paper's configuration."""
    of = partial(find, rows, group="paper", metric=metric, threads=threads)
    return middle(ratio(of(model=than), of(model=model)))


def share_of_limit(rows: list[Row], metric: str) -> float | None:
    """Percent of the matrix product's rate that the native kernel reaches, one thread."""
    of = partial(find, rows, group="paper", threads=1)
    found = attainment(of(model="mclstm-native", metric=metric), of(metric="gflops"))
    return None if found is None else 100 * found.value


def small_gain(rows: list[Row], task: str, model: str) -> float | None:
    """How many times as quick an update is, a seed, as that of the plain model of one seed."""
    of = partial(find, rows, group="small", part=task)
    return middle(ratio(of(model="mclstm-eager"), of(model=model)))


def slowest_single(rows: list[Row], metric: str) -> float | None:
    """One sequence: how many times as fast as the eager loop, at the number of cells where it is least."""
    pairs = [
        ratio(find(rows, group="single", model="mclstm-eager", metric=metric, setting=row["setting"]), row)
        for row in every(rows, group="single", model="mclstm-native", metric=metric)
    ]
    values = [pair.value for pair in pairs if pair is not None]
    return min(values) if values else None


def peak(rows: list[Row]) -> float | None:
    """MB above the inputs of forward and backward by the native kernel."""
    found = sorted(every(rows, group="memory", model="mclstm-native"), key=lambda row: row["sizes"]["T"])
    return found[0]["value"] if found else None


def peak_growth(rows: list[Row]) -> float | None:
    """By how much memory grows with T, as a share of what the stored cells alone grow by."""
    found = sorted(every(rows, group="memory", model="mclstm-native"), key=lambda row: row["sizes"]["T"])
    if len(found) < 2:
        return None
    first, last = found[0], found[-1]
    grown: float = (last["value"] - first["value"]) / (last["stored"] - first["stored"])
    return grown


def targets() -> Iterator[Target]:
    """All of them, in the order of the issue that set them."""
    peer, names = "neuralhydrology", {FORWARD: "forward", BOTH: "forward and backward"}
    for model, threads, wanted in (
        ("native", 1, (5, 4)),
        ("native", 2, (8, 6)),
        ("torch", 1, (2.5, 2.2)),
    ):
        for metric, least in zip(names, wanted, strict=True):
            text = f"`{model}` times as fast as neuralhydrology, {names[metric]}, threads: {threads}"
            measure = partial(
                times_faster, model=f"mclstm-{model}", than=peer, metric=metric, threads=threads
            )
            yield Target(text, measure, least, None)
    for metric, name in names.items():
        slower = partial(times_faster, model="lstm", than="mclstm-native", metric=metric, threads=1)
        yield Target(f"`native` takes so many times as long as `nn.LSTM`, {name}", slower, None, 10)
        share = partial(share_of_limit, metric=metric)
        yield Target(f"`native`, percent of the matrix product's rate, {name}", share, 80, None)
    yield Target("`native`, MB above the inputs, forward and backward", peak, None, 100)
    yield Target("its growth with T, as a share of the stored cells' growth", peak_growth, None, 1.1)
    for task, least in SMALL.items():
        many = partial(small_gain, task=task, model="mclstm, 100 members")
        alone = partial(small_gain, task=task, model="mclstm")
        yield Target(f"{task}: 100 members, times as fast a seed", many, least, None)
        yield Target(f"{task}: one seed, times as fast", alone, 10, None)
    for metric, name in names.items():
        single = partial(slowest_single, metric=metric)
        yield Target(f"one sequence, times as fast as the eager loop at its worst K, {name}", single, 1, None)
    for axis in ("T", "B"):
        for metric, name in names.items():
            power = partial(growth_exponent, axis=axis, model="mclstm-native", metric=metric)
            yield Target(f"exponent of the growth with {axis}, {name}", power, 0.9, 1.1)


def verdicts(rows: list[Row]) -> list[Verdict]:
    """Every target, judged."""
    return [Verdict(target, target.measure(rows)) for target in targets()]
