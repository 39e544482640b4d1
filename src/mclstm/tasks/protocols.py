"""Where the protocols differ: every difference is one switch, on or off, with one sentence of reason."""

from typing import Literal, NamedTuple

__all__ = ["SWITCHES", "Protocol", "Switch", "switched"]

Protocol = Literal["stated", "published"]


class Switch(NamedTuple):
    """A named difference: its value under each protocol, and what it does when it is on."""

    stated: bool
    published: bool
    why: str


SWITCHES: dict[str, Switch] = {
    "addition: random summands": Switch(
        stated=False,
        published=True,
        why="Test sets 'count' and 'combo' mark 2 to 20 (10) summands at random instead of exactly 20 (10).",
    ),
    "addition: overlapping samples": Switch(
        stated=False,
        published=True,
        why="Training samples are numbered from 1806 and test samples from 1302 of one stream, so that 496 "
        "of the 1000 reference test samples are training samples.",
    ),
    "recurrent arithmetic: fresh evaluation": Switch(
        stated=False,
        published=True,
        why="Every evaluation draws new validation and test samples instead of using the same ones.",
    ),
    "thresholds: inclusive subsets": Switch(
        stated=False,
        published=True,
        why="Success thresholds are computed for subsets one element too large, by inclusive indexing.",
    ),
    "mnist sum: every step": Switch(
        stated=False,
        published=True,
        why="The loss compares all cumulative sums, not only the sum at the end of the sequence.",
    ),
}


def switched(name: str, protocol: Protocol) -> bool:
    """Whether a switch is on under a protocol.

    >>> switched("addition: random summands", "published")
    True
    """
    if protocol not in ("stated", "published"):
        raise ValueError(f"protocol is {protocol!r}; choose stated or published.")
    return SWITCHES[name].published if protocol == "published" else SWITCHES[name].stated
