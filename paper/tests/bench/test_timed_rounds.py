"""Timing in turns, on a clock that only the calls move."""

import pytest

from mclstm_paper.bench.timed_rounds import WARM_UP, interleaved


class FakeClock:
    """Time that passes only when a call says so; it writes down who was called."""

    def __init__(self) -> None:
        self.now = 0.0
        self.log: list[str] = []

    def __call__(self) -> float:
        return self.now

    def call(self, name: str, *seconds: float):
        """A call that takes the given times in turn, and the last of them ever after."""
        left = list(seconds)

        def run() -> None:
            self.log.append(name)
            self.now += left.pop(0) if len(left) > 1 else left[0]

        return run


def test_the_warm_up_is_not_counted() -> None:
    clock = FakeClock()
    times = interleaved({"slow": clock.call("slow", 100.0, 50.0, 3.0, 4.0, 5.0)}, 3, clock)
    assert times == {"slow": [3.0, 4.0, 5.0]}


def test_every_round_calls_everyone_once() -> None:
    clock = FakeClock()
    names = ["a", "b", "c", "d"]
    times = interleaved({name: clock.call(name, 1.0) for name in names}, 8, clock)
    rounds = clock.log[WARM_UP * len(names) :]
    turns = [tuple(rounds[at : at + 4]) for at in range(0, len(rounds), 4)]
    assert len(turns) == 8
    assert all(sorted(turn) == names for turn in turns)
    assert len(set(turns)) > 3, "always the same neighbours"
    assert times == {name: [1.0] * 8 for name in names}


def test_quick_calls_are_repeated_within_their_turn() -> None:
    clock = FakeClock()
    calls = {"quick": clock.call("quick", 0.25), "slow": clock.call("slow", 2.0)}
    times = interleaved(calls, 2, clock, shortest=1.0)
    assert clock.log.count("quick") == WARM_UP + 2 * 4
    assert clock.log.count("slow") == WARM_UP + 2
    assert times == {"quick": [0.25, 0.25], "slow": [2.0, 2.0]}


def test_a_clock_that_stands_still_does_no_harm() -> None:
    clock = FakeClock()
    assert interleaved({"nothing": clock.call("nothing", 0.0)}, 2, clock, shortest=1.0) == {
        "nothing": [0.0, 0.0]
    }


def test_an_error_of_a_candidate_is_not_swallowed() -> None:
    def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interleaved({"broken": broken}, 1, FakeClock())
