"""Where the protocols of the hydrology experiment differ."""

from mclstm_paper.protocols import Switch

__all__ = [
    "ATTRIBUTES_26",
    "LAST_DAY_SCORED",
    "OUTPUT_GATE_STARTS_OPEN",
    "SCHEDULE_EPOCH_EARLY",
    "STATE_NORMALISED_OVER_BATCH",
    "SWITCHES",
]

LAST_DAY_SCORED = Switch(
    "hydrology: last day scored",
    "There is a window of 365 days for each day, of which the last one is scored, as in the text too; by "
    "default half a year of a longer window is scored, for about a hundredth of the cost.",
)

STATE_NORMALISED_OVER_BATCH = Switch(
    "hydrology: state normalised over the batch",
    "Gates see the cells divided by the sum over the whole batch: basins influence each other, and the "
    "state is about 1/256 of what it should be.",
)

OUTPUT_GATE_STARTS_OPEN = Switch(
    "hydrology: output gate starts open",
    "The output gate's bias starts at +3 and not at the paper's -3.",
)

ATTRIBUTES_26 = Switch(
    "hydrology: 26 attributes",
    "The seasonality of precipitation, p_seasonality, is missing among the 27 attributes.",
)

SCHEDULE_EPOCH_EARLY = Switch(
    "hydrology: schedule an epoch early",
    "The learning rate falls at the start of epochs 20 and 25, after 19 and 24 epochs, not 20, 25.",
)

SWITCHES = (
    LAST_DAY_SCORED,
    STATE_NORMALISED_OVER_BATCH,
    OUTPUT_GATE_STARTS_OPEN,
    ATTRIBUTES_26,
    SCHEDULE_EPOCH_EARLY,
)
