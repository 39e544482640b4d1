"""The claims of the paper about rainfall and runoff, its variants and its ablation."""

from mclstm_paper.findings.evidence import Evidence, by_tests, first_of, number, order

__all__ = ["HYDROLOGICAL"]

HYDROLOGY, ABLATION = "hydrology/{protocol}.json", "hydrology/ablation-{protocol}.json"
REPETITIONS = 9  # of the ablation
VARIANTS = "hydrology/variants.json"
BASINS, THIRTY = "447 basins", "30 basins"
# The paper's design; until it has members, the best MC-LSTMs of the record.
OURS = r"mclstm(-mixed)?-ensemble"
LSTMS = r"lstm(-\w+)?-ensemble"
SNOW = ("mclstm", "basin 01031500, 4 cells", "swe-r")


def ensemble(metric: str, least: float) -> Evidence:
    """A number of the ensemble of the paper's design, or of that which stands for it."""
    models = ("mclstm-ensemble", "mclstm-mixed-ensemble")
    return first_of(*(number(HYDROLOGY, (model, BASINS, metric), least=least) for model in models))


def variant(*worse: str) -> Evidence:
    """The final design scores above these variants."""
    return order(VARIANTS, THIRTY, "nse", "mclstm", *(f"mclstm-{name}" for name in worse))


def ablated(pattern: str) -> Evidence:
    return by_tests(ABLATION, pattern, repetitions=REPETITIONS)


HYDROLOGICAL = (
    ("NSE of the MC-LSTM ensemble: 0.744.", "5.4", ensemble("nse", 0.744)),
    ("NSE of one MC-LSTM: 0.726.", "B.4", number(HYDROLOGY, ("mclstm", BASINS, "nse"), least=0.726)),
    ("FHV of the MC-LSTM ensemble: -14.7.", "5.4", ensemble("fhv", -14.7)),
    (
        "MC-LSTM has a better NSE than every other conserving model.",
        "5.4",
        by_tests(HYDROLOGY, OURS + r" is better in nse than every mass"),
    ),
    (
        "LSTM has a better NSE than MC-LSTM.",
        "5.4",
        by_tests(HYDROLOGY, LSTMS + " is better than " + OURS + r" in nse$"),
    ),
    (
        "MC-LSTM has a better FHV than every other model.",
        "5.4",
        by_tests(HYDROLOGY, OURS + r" is better in fhv than every model"),
    ),
    (
        "MC-LSTM has a better FLV than LSTM.",
        "5.4",
        by_tests(HYDROLOGY, OURS + " is better than " + LSTMS + r" in flv$"),
    ),
    (
        "MC-LSTM has a better bias than LSTM.",
        "5.4",
        by_tests(HYDROLOGY, OURS + " is better than " + LSTMS + r" in beta-nse$"),
    ),
    ("Four cells together follow snow, r >= 0.91.", "5.4", number(HYDROLOGY, SNOW, least=0.91)),
    ("An LSTM on the auxiliaries gains nothing.", "B.4", variant("aux-memory")),
    ("An evapotranspiration outlet is not better.", "B.4", variant("evapotranspiration")),
    ("The trash cell improves the model.", "B.4", variant("no-trash")),
    (
        "Scaling of inputs and outputs is worse than none.",
        "B.4",
        variant("input-scaling", "output-scaling", "both-scalings"),
    ),
    ("R as an outer product is worse.", "B.4", variant("outer")),
    ("Normalised ReLU is best for R.", "B.4", variant("softmax-r", "sigmoid-r")),
    ("The normalised sigmoid is best for the input gate.", "B.4", variant("softmax-input", "relu-input")),
    (
        "Without a conserving input gate the model is worse.",
        "5.5",
        ablated(r"mclstm-minus-input scores lower than mclstm$"),
    ),
    (
        "Without a conserving output gate the model is worse.",
        "5.5",
        ablated(r"mclstm-minus-output scores lower than mclstm$"),
    ),
    (
        "Without a conserving R the model is worse.",
        "5.5",
        ablated(r"mclstm-minus-redistribution scores lower than mclstm$"),
    ),
    (
        "Of the three, R costs most.",
        "5.5",
        ablated(r"mclstm-minus-redistribution scores lower than mclstm-minus-\w+$"),
    ),
    (
        "On single basins a softmax in the input gate is slightly better.",
        "B.5",
        ablated(r"mclstm scores lower than mclstm-softmax-input$"),
    ),
)
