"""Where the protocols of the traffic forecast differ."""

from mclstm_paper.protocols import Switch
from mclstm_paper.seeds.switches import WEAK_IDENTITY

__all__ = [
    "FREE_START",
    "INTERVAL_OF_100",
    "LSTM_MISALIGNED_START",
    "NORMALISED_PER_DAY",
    "NO_HEAD_GATE",
    "RMSE_OF_MIDNIGHT",
    "SWITCHES",
]

RMSE_OF_MIDNIGHT = Switch(
    "traffic: RMSE of midnight",
    "The RMSE of MC-LSTM is that of the last step of the day alone; MAE, and both of LSTM, are of all steps. "
    "Here it has a column of its own, and no test uses it.",
)
NORMALISED_PER_DAY = Switch(
    "traffic: LSTM normalised per day",
    "The counts of LSTM are normalised by the mean and deviation of the day's own inputs instead of those of "
    "the training data.",
)
NO_HEAD_GATE = Switch(
    "traffic: no output gate in the MC-FC layer",
    "The output layer splits all that leaves the cells; the text's MC-FC layer also has an output gate.",
)
FREE_START = Switch(
    "traffic: free initial state",
    "A learned initial state may become negative; here it is kept at 0 or above.",
)
LSTM_MISALIGNED_START = Switch(
    "traffic: misaligned start of LSTM",
    "Forward weights are orthogonal in blocks of their buffer that are not the gates' blocks.",
)
INTERVAL_OF_100 = Switch(
    "traffic: interval of a hundred runs",
    "Intervals of 50 runs are 1.984 standard errors wide, the factor for 100 runs, instead of 2.010.",
)

SWITCHES = (
    RMSE_OF_MIDNIGHT,
    NORMALISED_PER_DAY,
    NO_HEAD_GATE,
    FREE_START,
    WEAK_IDENTITY,
    LSTM_MISALIGNED_START,
    INTERVAL_OF_100,
)
