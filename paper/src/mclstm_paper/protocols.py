"""The two protocols of every experiment, and the switches that are all their differences."""

from collections.abc import Collection
from typing import Literal, NamedTuple

from mclstm.nn.arguments import one_of

__all__ = ["PROTOCOLS", "Protocol", "Switch", "is_on", "other_protocol"]

Protocol = Literal["stated", "published"]
PROTOCOLS: tuple[Protocol, ...] = ("stated", "published")


class Switch(NamedTuple):
    """One difference between the protocols: on is what the published code did, off what the text says."""

    name: str
    effect: str  # one sentence: what it does when it is on

    def on(self, protocol: Protocol) -> bool:
        """Whether the switch is on under a protocol.

        >>> Switch("addition: random summands", "Some are left out.").on("published")
        True
        """
        return one_of("protocol", protocol, PROTOCOLS) == "published"


def is_on(switch: Switch, protocol: Protocol, flipped: Collection[Switch]) -> bool:
    """Whether a switch is on under a protocol from which the `flipped` ones differ.

    >>> gates, start = Switch("gates", ""), Switch("start", "")
    >>> is_on(gates, "published", flipped=[start]), is_on(gates, "published", flipped=[gates])
    (True, False)
    """
    return switch.on(protocol) != (switch in flipped)


def other_protocol(protocol: Protocol) -> Protocol:
    """The other of the two protocols.

    >>> other_protocol("stated")
    'published'
    """
    return "published" if protocol == "stated" else "stated"
