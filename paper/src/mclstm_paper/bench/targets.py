"""The targets of the runtime, judged by the rows of a bench."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from mclstm_paper.bench.ratios import (
    BOTH,
    FMA_LOOP,
    FORWARD,
    Row,
    Spread,
    attainment,
    every,
    find,
    growth_exponent,
    limit,
    ratio,
)

__all__ = ["SMALL", "Verdict", "verdicts"]

# How many times as fast a seed is to be when 100 members are trained together.
SMALL = {"recurrent arithmetic, K = 2": 50, "recurrent arithmetic, K = 3": 50, "addition, K = 10": 30}
# How many times as fast as neuralhydrology, forward and with backward: (backend, threads): factors.
FASTER = {("native", 1): (5, 4), ("native", 2): (8, 6), ("torch", 1): (2.5, 2.2)}


class Verdict(NamedTuple):
    """A target: what is measured, its value (None if its rows are missing), and the range it is to lie in."""

    target: str
    value: float | None
    least: float | None
    most: float | None

    @property
    def holds(self) -> bool | None:
        if self.value is None:
            return None
        least, most = self.least, self.most
        return (least is None or self.value >= least) and (most is None or self.value <= most)

    @property
    def wanted(self) -> str:
        """The range in words: at least 5, at most 10, 0.9 to 1.1."""
        if self.least is not None and self.most is not None:
            return f"{self.least:g} to {self.most:g}"
        return f"at most {self.most:g}" if self.least is None else f"at least {self.least:g}"

    def claim(self) -> dict[str, Any]:
        """The verdict as an entry of the results file."""
        test = f"{self.wanted}; median of the rounds"
        return {"claim": self.target, "test": test, "p": None, "holds": self.holds, "value": self.value}


def median(spread: Spread | None) -> float | None:
    return None if spread is None else spread.value


def times_faster(rows: list[Row], model: str, than: str, metric: str, threads: int) -> float | None:
    """How many times as fast a model is in the paper's configuration."""
    of = partial(find, rows, group="paper", metric=metric, threads=threads)
    return median(ratio(of(model=than), of(model=model)))


def share_of_limit(rows: list[Row], metric: str, name: str) -> Verdict:
    """Percent of the limit's rate that the native kernel reaches on one thread; the text says which limit."""
    alone = every(rows, group="paper", threads=1)
    most = limit(alone)
    share = median(attainment(find(alone, model="mclstm-native", metric=metric), most))
    text = f"`native`, percent of the {most['model'] if most else FMA_LOOP}'s rate, {name}"
    return Verdict(text, None if share is None else 100 * share, 80, None)


def small_gain(rows: list[Row], task: str, model: str) -> float | None:
    """How many times as fast an update is per seed, compared with the plain model of one seed."""
    of = partial(find, rows, group="small", part=task)
    return median(ratio(of(model="mclstm-eager"), of(model=model)))


def slowest_single(rows: list[Row], metric: str) -> float | None:
    """One sequence: the least gain over the eager loop among all numbers of cells."""
    of = partial(every, rows, group="single", metric=metric)
    eager, native = of(model="mclstm-eager"), of(model="mclstm-native")
    pairs = [ratio(find(eager, setting=row["setting"]), row) for row in native]
    return min((pair.value for pair in pairs if pair is not None), default=None)


def memory_points(rows: list[Row]) -> list[Row]:
    return sorted(every(rows, group="memory", model="mclstm-native"), key=lambda row: row["sizes"]["T"])


def peak(rows: list[Row]) -> float | None:
    """MB above the inputs of forward and backward by the native kernel."""
    points = memory_points(rows)
    return points[0]["value"] if points else None


def peak_growth(rows: list[Row]) -> float | None:
    """The growth of memory with T, divided by the growth of the stored cells alone."""
    points = memory_points(rows)
    if len(points) < 2:
        return None
    growth, stored = (points[-1][name] - points[0][name] for name in ("value", "stored"))
    return float(growth / stored)


def verdicts(rows: list[Row]) -> list[Verdict]:
    """Every target, judged."""
    return list(_verdicts(rows))


def _verdicts(rows: list[Row]) -> Iterator[Verdict]:
    names = {FORWARD: "forward", BOTH: "forward and backward"}
    for (model, threads), factors in FASTER.items():
        for (metric, name), least in zip(names.items(), factors, strict=True):
            text = f"`{model}` times as fast as neuralhydrology, {name}, threads: {threads}"
            gain = times_faster(rows, f"mclstm-{model}", "neuralhydrology", metric, threads)
            yield Verdict(text, gain, least, None)
    for metric, name in names.items():
        slower = times_faster(rows, "lstm", "mclstm-native", metric, threads=1)
        yield Verdict(f"time of `native` / time of `nn.LSTM`, {name}", slower, None, 10)
        yield share_of_limit(rows, metric, name)
    yield Verdict("`native`, MB above the inputs, forward and backward", peak(rows), None, 100)
    text = "`native`, growth of memory with T / growth of the stored cells"
    yield Verdict(text, peak_growth(rows), None, 1.1)
    for task, least in SMALL.items():
        many, alone = (small_gain(rows, task, model) for model in ("mclstm, 100 members", "mclstm"))
        yield Verdict(f"{task}: 100 members, times as fast per seed", many, least, None)
        yield Verdict(f"{task}: one seed, times as fast", alone, 10, None)
    for metric, name in names.items():
        text = f"one sequence, times as fast as the eager loop at the worst K, {name}"
        yield Verdict(text, slowest_single(rows, metric), 1, None)
    for axis in ("T", "B"):
        for metric, name in names.items():
            power = growth_exponent(rows, axis, "mclstm-native", metric)
            yield Verdict(f"exponent of the growth with {axis}, {name}", power, 0.9, 1.1)
