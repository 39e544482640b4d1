"""Where the protocols differ: every difference is one switch, on or off, with one sentence of reason."""

from typing import Literal, NamedTuple

from mclstm.nn.arguments import one_of

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
    # Those of the baselines; an experiment hands them to the constructors.
    "lstm: misaligned start": Switch(
        stated=False,
        published=True,
        why="Forward weights are orthogonal in blocks of their buffer that are not the gates' blocks.",
    ),
    "lstm: no forget bias": Switch(
        stated=False,
        published=True,
        why="The forget gate's bias starts at 0 and not at the paper's 3.",
    ),
    "ln-lstm: normalised cells carried": Switch(
        stated=False,
        published=True,
        why="The cells handed to the next step are the normalised ones, which cannot accumulate magnitude.",
    ),
    "urnn: squared modulus": Switch(
        stated=False,
        published=True,
        why="modReLU sees the squared modulus, for a square root is missing.",
    ),
    "nac-mul: adds in recurrent arithmetic": Switch(
        stated=False,
        published=True,
        why="The recurrent network ignores the request for the multiplicative unit and computes a NAC.",
    ),
    "nau: schedule of nmu in recurrent arithmetic": Switch(
        stated=False,
        published=True,
        why="NAU is regularised with 10 from update 1e6 to 2e6, the setting of NMU, not with its own.",
    ),
}


def switched(name: str, protocol: Protocol) -> bool:
    """Whether a switch is on under a protocol.

    >>> switched("addition: random summands", "published")
    True
    """
    chosen = one_of("protocol", protocol, ("stated", "published"))
    return SWITCHES[name].published if chosen == "published" else SWITCHES[name].stated
