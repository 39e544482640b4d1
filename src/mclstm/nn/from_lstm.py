"""What people who come from `nn.LSTM` bring along: packed sequences, its keywords, its state (h, c)."""

from typing import NamedTuple, NoReturn

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

__all__ = ["Padded", "packed_like", "padded", "refuse_keyword", "refuse_state"]

# What to do here instead of a keyword of nn.LSTM.
KEYWORDS = {
    "input_size": "say which inputs are mass and which only steer the gates: mass_size and aux_size",
    "num_layers": "raise hidden_size, or stack layers yourself: the outflow of one is the mass of the next, "
    "MCLSTM(mass_size=K, ...)",
    "bidirectional": "mass cannot flow back in time. Leave it out, or run a second layer on auxiliary inputs",
    "dropout": "dropped outflow would be lost mass. Use nn.Dropout on the auxiliary inputs",
    "bias": "its gates always have biases. Leave it out",
    "proj_size": "put a head behind it, such as mclstm.LinearHead(hidden_size)",
}
# What to do with its state (h, c), by the argument that it was passed as.
REMEDIES = {"a": "pass c0=c, and auxiliary inputs as a", "c0": "pass c0=c"}


class Padded(NamedTuple):
    """The tensors of packed sequences, in the order in which they were before packing."""

    x: Tensor | None  # (T, B, M), or (B, T, M)
    a: Tensor | None  # (T, B, A), or (B, T, A)
    lengths: Tensor  # (B,)


def padded(x: object, a: object, lengths: object, members: int | None, batch_first: bool) -> Padded:
    """The padded tensors and the lengths of x and a, at least one of which is packed.

    >>> packed = pack_padded_sequence(torch.ones(3, 2, 1), [3, 1])
    >>> padded(packed, None, None, None, False).lengths.tolist()
    [3, 1]
    """
    if members is not None:
        raise ValueError(
            "x or a is a PackedSequence and the layer has members; give padded tensors and lengths."
        )
    if lengths is not None:
        raise ValueError("lengths is given beside a PackedSequence, which has its own; leave lengths out.")
    tensors: list[Tensor | None] = []
    counts: list[Tensor] = []
    for name, value in (("x", x), ("a", a)):
        if value is None:
            tensors.append(None)
        elif isinstance(value, PackedSequence):
            tensor, count = pad_packed_sequence(value, batch_first)
            tensors.append(tensor)
            counts.append(count)
        else:
            refuse_state(name, value)
            raise ValueError(f"{name} is not packed and the other input is; pack both with the same lengths.")
    if not counts[0].equal(counts[-1]):
        raise ValueError("x and a are packed with different lengths; pack both with the same.")
    return Padded(tensors[0], tensors[1], counts[0])


def packed_like(packed: PackedSequence, h: Tensor, batch_first: bool) -> PackedSequence:
    """The outflow h (T, B, K), or (B, T, K), packed as an input was: the same order, and no padding."""
    order, sizes = packed.sorted_indices, packed.batch_sizes  # how many sequences have a step, (T,)
    lengths = (sizes.unsqueeze(-1) > torch.arange(int(sizes[0]))).sum(dim=0)
    h = h if order is None else h.index_select(0 if batch_first else 1, order)
    data = pack_padded_sequence(h, lengths, batch_first).data
    return PackedSequence(data, sizes, order, packed.unsorted_indices)


def refuse_keyword(kind: str, name: str, otherwise: str) -> NoReturn:
    """A TypeError that says what to do instead of a keyword that nn.LSTM has, or else `otherwise`."""
    raise TypeError(f"{kind} has no keyword {name!r}; {KEYWORDS.get(name, otherwise)}.")


def refuse_state(name: str, value: object) -> None:
    """Refuse nn.LSTM's pair (h, c) where a tensor belongs."""
    if name not in REMEDIES or isinstance(value, PackedSequence) or not isinstance(value, tuple):
        return
    here = f"here the state is the stored mass c alone, (B, K): {REMEDIES[name]}"
    raise ValueError(f"{name} is a tuple, as nn.LSTM's state (h, c) is; {here}.")
