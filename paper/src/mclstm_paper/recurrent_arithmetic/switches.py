"""Where the protocols of recurrent arithmetic differ."""

from mclstm_paper.arithmetic.switches import INCLUSIVE_SUBSETS
from mclstm_paper.protocols import Switch
from mclstm_paper.seeds.switches import GATES_SEE_AUX_ONLY, WEAK_IDENTITY

__all__ = [
    "FRESH_EVALUATION",
    "LEARNED_INITIAL_STATE",
    "LSTM_STARTED_BY_TORCH",
    "NAC_MUL_ADDS",
    "NAU_SCHEDULE_OF_NMU",
    "SHORT_SUBTRACTION",
    "STATIC_INPUT_GATE",
    "SWITCHES",
]

FRESH_EVALUATION = Switch(
    "recurrent arithmetic: fresh evaluation",
    "Every evaluation draws new validation and test samples instead of using the same ones.",
)

STATIC_INPUT_GATE = Switch(
    "recurrent arithmetic: static input gate",
    "The input gate of MC-LSTM is one learned matrix that does not see the auxiliary input either.",
)

LEARNED_INITIAL_STATE = Switch(
    "recurrent arithmetic: learned initial state",
    "The cells of MC-LSTM start at a learned, unconstrained state, which can be negative.",
)

SHORT_SUBTRACTION = Switch(
    "recurrent arithmetic: short subtraction",
    "MC-LSTM learns subtraction for 500,000 updates and not for the two million of the text.",
)

LSTM_STARTED_BY_TORCH = Switch(
    "recurrent arithmetic: lstm started by torch",
    "LSTM starts as torch.nn.LSTMCell does, all uniform within ±1 / √units, not as the text says.",
)

NAC_MUL_ADDS = Switch(
    "nac-mul: adds in recurrent arithmetic",
    "The recurrent network ignores the request for the multiplicative unit and computes a NAC.",
)

NAU_SCHEDULE_OF_NMU = Switch(
    "nau: schedule of nmu in recurrent arithmetic",
    "NAU is regularised with 10 from update 1e6 to 2e6, the setting of NMU, not with its own.",
)

SWITCHES = (
    FRESH_EVALUATION,
    INCLUSIVE_SUBSETS,
    GATES_SEE_AUX_ONLY,
    WEAK_IDENTITY,
    STATIC_INPUT_GATE,
    LEARNED_INITIAL_STATE,
    SHORT_SUBTRACTION,
    LSTM_STARTED_BY_TORCH,
    NAC_MUL_ADDS,
    NAU_SCHEDULE_OF_NMU,
)
