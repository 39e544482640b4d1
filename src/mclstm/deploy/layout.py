"""The folder of a packed model: model.json, the card README.md, and one file of weights a member."""

__all__ = ["CARD", "FORMAT", "LARGEST", "MODEL", "member_file"]

FORMAT = 1
MODEL, CARD = "model.json", "README.md"
LARGEST = 25_000_000  # bytes: what a repository can carry


def member_file(seed: int) -> str:
    """The file of a member's weights.

    >>> member_file(7)
    'member-7.safetensors'
    """
    return f"member-{seed}.safetensors"
