"""Where the protocols of the addition problem differ."""

from mclstm_paper.protocols import Switch
from mclstm_paper.seeds.switches import GATES_SEE_AUX_ONLY, WEAK_IDENTITY

__all__ = [
    "LN_LSTM_CARRIES_NORMALISED",
    "LSTM_MISALIGNED_START",
    "LSTM_NO_FORGET_BIAS",
    "NALU_ENDS_IN_NAU",
    "NAU_WITHOUT_PENALTY",
    "OVERLAPPING_SAMPLES",
    "RANDOM_SUMMANDS",
    "SWITCHES",
    "URNN_SQUARED_MODULUS",
]

RANDOM_SUMMANDS = Switch(
    "addition: random summands",
    "Test sets 'count' and 'combo' mark 2 to 20 (10) summands at random instead of exactly 20 (10).",
)

OVERLAPPING_SAMPLES = Switch(
    "addition: overlapping samples",
    "Training samples are numbered from 1806 and test samples from 1302 of one stream, so that 496 of the "
    "1000 reference test samples are training samples.",
)

LSTM_MISALIGNED_START = Switch(
    "lstm: misaligned start",
    "Forward weights are orthogonal in blocks of their buffer that are not the gates' blocks.",
)

LSTM_NO_FORGET_BIAS = Switch(
    "lstm: no forget bias",
    "The forget gate's bias starts at 0 and not at the paper's 3.",
)

LN_LSTM_CARRIES_NORMALISED = Switch(
    "ln-lstm: normalised cells carried",
    "The cells handed to the next step are the normalised ones, which cannot accumulate magnitude.",
)

URNN_SQUARED_MODULUS = Switch(
    "urnn: squared modulus",
    "modReLU sees the squared modulus, for a square root is missing, and its bias starts at 0 instead of "
    "within ±0.01.",
)

NAU_WITHOUT_PENALTY = Switch(
    "nau: no weight penalty in the addition problem",
    "NAU is trained without the L2 penalty of 1e-4 that the text gives it.",
)

NALU_ENDS_IN_NAU = Switch(
    "nalu: nau as output layer in the addition problem",
    "The output layer of the NALU network is an NAU.",
)

SWITCHES = (
    RANDOM_SUMMANDS,
    OVERLAPPING_SAMPLES,
    GATES_SEE_AUX_ONLY,
    WEAK_IDENTITY,
    LSTM_MISALIGNED_START,
    LSTM_NO_FORGET_BIAS,
    LN_LSTM_CARRIES_NORMALISED,
    URNN_SQUARED_MODULUS,
    NAU_WITHOUT_PENALTY,
    NALU_ENDS_IN_NAU,
)
