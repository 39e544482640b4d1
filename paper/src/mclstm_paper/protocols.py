"""Where the protocols differ: every difference is one switch, on or off, with one sentence of reason."""

from typing import Literal

from mclstm.nn.arguments import one_of

__all__ = ["SWITCHES", "Protocol", "switched"]

Protocol = Literal["stated", "published"]
ON: Protocol = "published"  # the protocol under which a switch is on

# What each does when it is on, a sentence.
SWITCHES: dict[str, str] = {
    "addition: random summands": (
        "Test sets 'count' and 'combo' mark 2 to 20 (10) summands at random instead of exactly 20 (10)."
    ),
    "addition: overlapping samples": (
        "Training samples are numbered from 1806 and test samples from 1302 of one stream, so that 496 of "
        "the 1000 reference test samples are training samples."
    ),
    "recurrent arithmetic: fresh evaluation": (
        "Every evaluation draws new validation and test samples instead of using the same ones."
    ),
    "thresholds: inclusive subsets": (
        "Success thresholds are computed for subsets one element too large, by inclusive indexing."
    ),
    "mnist sum: every step": (
        "The loss compares all cumulative sums, not only the sum at the end of the sequence."
    ),
    "mnist sum: one unit": (
        "Models are one recurrent unit whose state is the prediction, MC-LSTM without its output gate, NAU "
        "from a fixed 0 instead of a learned state; the text has two units, an output layer, and an outlet "
        "that opens at the end marker."
    ),
    "mnist sum: negative masses": (
        "What is read from the images goes to MC-LSTM as mass even if negative, not through softplus."
    ),
    "mnist sum: a degree of freedom too few": (
        "The success threshold takes Student's t with n - 2 degrees of freedom for n reference networks."
    ),
    "mnist sum: lstm at the rate of all": (
        "LSTM learns with the rate of all models, 0.001; the text names no LSTM here, ours has 0.05."
    ),
    "mnist sum: lstm started by torch": (
        "LSTM starts as torch.nn.LSTMCell does, all uniform within ±1 / √units, not as the text says."
    ),
    # Those of the models; an experiment hands them to the constructors.
    "mclstm: gates see aux only": (
        "The gates of MC-LSTM see the auxiliary input but not the normalised cells of the equations."
    ),
    "mclstm: weak identity": (
        "A static R starts as softmax(identity), 0.23 on the diagonal for 10 cells, a time-dependent one "
        "uniform; the text says close to the identity, here 0.9."
    ),
    "recurrent arithmetic: static input gate": (
        "The input gate of MC-LSTM is one learned matrix that does not see the auxiliary input either."
    ),
    "recurrent arithmetic: learned initial state": (
        "The cells of MC-LSTM start at a learned, unconstrained state, which can be negative."
    ),
    "recurrent arithmetic: short subtraction": (
        "MC-LSTM learns subtraction for 500,000 updates and not for the two million of the text."
    ),
    "recurrent arithmetic: lstm started by torch": (
        "LSTM starts as torch.nn.LSTMCell does, all uniform within ±1 / √units, not as the text says."
    ),
    "lstm: misaligned start": (
        "Forward weights are orthogonal in blocks of their buffer that are not the gates' blocks."
    ),
    "lstm: no forget bias": "The forget gate's bias starts at 0 and not at the paper's 3.",
    "ln-lstm: normalised cells carried": (
        "The cells handed to the next step are the normalised ones, which cannot accumulate magnitude."
    ),
    "urnn: squared modulus": (
        "modReLU sees the squared modulus, for a square root is missing, and its bias starts at 0 instead "
        "of within ±0.01."
    ),
    "nau: no weight penalty in the addition problem": (
        "NAU is trained without the L2 penalty of 1e-4 that the text gives it."
    ),
    "nalu: nau as output layer in the addition problem": "The output layer of the NALU network is an NAU.",
    "nac-mul: adds in recurrent arithmetic": (
        "The recurrent network ignores the request for the multiplicative unit and computes a NAC."
    ),
    "nau: schedule of nmu in recurrent arithmetic": (
        "NAU is regularised with 10 from update 1e6 to 2e6, the setting of NMU, not with its own."
    ),
    # Those of the hydrology experiment.
    "hydrology: last day scored": (
        "There is a window of 365 days for each day, of which the last one is scored, as in the text too; "
        "by default half a year of a longer window is scored, for about a hundredth of the cost."
    ),
    "hydrology: state normalised over the batch": (
        "Gates see the cells divided by the sum over the whole batch: basins influence each other, and the "
        "state is about 1/256 of what it should be."
    ),
    "hydrology: output gate starts open": "The output gate's bias starts at +3 and not at the paper's -3.",
    "hydrology: 26 attributes": (
        "The seasonality of precipitation, p_seasonality, is missing among the 27 attributes."
    ),
    "hydrology: schedule an epoch early": (
        "The learning rate falls at the start of epochs 20 and 25, after 19 and 24 epochs, not 20, 25."
    ),
}


def switched(name: str, protocol: Protocol) -> bool:
    """Whether a switch is on under a protocol.

    >>> switched("addition: random summands", "published")
    True
    """
    one_of("switch", name, SWITCHES)
    return one_of("protocol", protocol, ("stated", "published")) == ON
