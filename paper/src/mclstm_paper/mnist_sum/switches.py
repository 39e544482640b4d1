"""Where the protocols of the MNIST sum differ."""

from mclstm_paper.protocols import Switch

__all__ = [
    "DEGREE_OF_FREEDOM_TOO_FEW",
    "EVERY_STEP_SCORED",
    "LSTM_AT_RATE_OF_ALL",
    "LSTM_STARTED_BY_TORCH",
    "NEGATIVE_MASSES",
    "ONE_UNIT",
    "SWITCHES",
]

EVERY_STEP_SCORED = Switch(
    "mnist sum: every step",
    "The loss compares all cumulative sums, not only the sum at the end of the sequence.",
)

ONE_UNIT = Switch(
    "mnist sum: one unit",
    "Models are one recurrent unit whose state is the prediction, MC-LSTM without its output gate, NAU "
    "from a fixed 0 instead of a learned state; the text has two units, an output layer, and an outlet "
    "that opens at the end marker.",
)

NEGATIVE_MASSES = Switch(
    "mnist sum: negative masses",
    "What is read from the images goes to MC-LSTM as mass even if negative, not through softplus.",
)

DEGREE_OF_FREEDOM_TOO_FEW = Switch(
    "mnist sum: a degree of freedom too few",
    "The success threshold takes Student's t with n - 2 degrees of freedom for n reference networks.",
)

LSTM_AT_RATE_OF_ALL = Switch(
    "mnist sum: lstm at the rate of all",
    "LSTM learns with the rate of all models, 0.001; the text names no LSTM here, ours has 0.05.",
)

LSTM_STARTED_BY_TORCH = Switch(
    "mnist sum: lstm started by torch",
    "LSTM starts as torch.nn.LSTMCell does, all uniform within ±1 / √units, not as the text says.",
)

SWITCHES = (
    EVERY_STEP_SCORED,
    ONE_UNIT,
    NEGATIVE_MASSES,
    DEGREE_OF_FREEDOM_TOO_FEW,
    LSTM_AT_RATE_OF_ALL,
    LSTM_STARTED_BY_TORCH,
)
