"""Switches between the protocols about MC-LSTM networks of more than one experiment."""

from mclstm_paper.protocols import Switch

__all__ = ["GATES_SEE_AUX_ONLY", "WEAK_IDENTITY"]

GATES_SEE_AUX_ONLY = Switch(
    "mclstm: gates see aux only",
    "The gates of MC-LSTM see the auxiliary input but not the normalised cells of the equations.",
)

WEAK_IDENTITY = Switch(
    "mclstm: weak identity",
    "A static R starts as softmax(identity), 0.23 on the diagonal for 10 cells, a time-dependent one "
    "uniform; the text says close to the identity, here 0.9.",
)
