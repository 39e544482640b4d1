"""The claims of the paper about rainfall and runoff, its variants and its ablation."""

from mclstm_paper.findings.evidence import (
    HOLDS,
    NOT,
    Bound,
    Evidence,
    Verdict,
    by_tests,
    first_of,
    number,
    order,
    standing_in,
)

__all__ = ["HYDROLOGICAL"]

HYDROLOGY, ABLATION = "hydrology/{protocol}.json", "hydrology/ablation-{protocol}.json"
REPETITIONS = 9  # of the ablation
VARIANTS = "hydrology/variants.json"
BASINS, THIRTY = "447 basins", "30 basins"
# The paper's design, and the best MC-LSTMs of the record, which stand for it until it has members.
PAPERS, OURS = "mclstm-ensemble", "mclstm-mixed-ensemble"
OTHER_TRAINING = "trained for 1,500 updates of 180 scored days instead of 172,000 of one"
OTHER_DESIGN = "smaller models of another design, with 2,000 to 6,000 of the paper's 172,000 updates"
LSTMS = r"lstm-(steered|kratzert2019)-ensemble"  # ten members of ours, and eight published ones
SNOW = ("mclstm", "basin 01031500, 4 cells", "swe-r")
SEQUENCES = f"{BASINS}, scheme sequence"  # the setting of members of the published protocol


def member(metric: str, bound: Bound) -> Evidence:
    """A number of single members of the paper's design."""
    settings = (number(HYDROLOGY, ("mclstm", name, metric), bound) for name in (BASINS, SEQUENCES))
    return standing_in(first_of(*settings), OTHER_TRAINING)


def ensemble(metric: str, bound: Bound) -> Evidence:
    """A number of the ensemble of the paper's design, or of that which stands for it."""
    settings = [(PAPERS, BASINS), (PAPERS, SEQUENCES), (OURS, BASINS)]
    papers, published, ours = (
        number(HYDROLOGY, (model, setting, metric), bound) for model, setting in settings
    )
    return first_of(standing_in(first_of(papers, published), OTHER_TRAINING), standing_in(ours, OTHER_DESIGN))


def compared(pattern: str, weakens: Verdict = NOT) -> Evidence:
    """Tests of the same ensemble, which the pattern calls OURS."""
    papers, ours = (by_tests(HYDROLOGY, pattern.replace("OURS", model)) for model in (PAPERS, OURS))
    return first_of(standing_in(papers, OTHER_TRAINING, weakens), standing_in(ours, OTHER_DESIGN, weakens))


def variant(*worse: str, no_gain: bool = False) -> Evidence:
    """The final design scores above these variants, or at least not below them."""
    others = (f"mclstm-{name}" for name in worse)
    return order(VARIANTS, THIRTY, "nse", "mclstm", *others, no_gain=no_gain)


def ablated(pattern: str) -> Evidence:
    return by_tests(ABLATION, pattern, repetitions=REPETITIONS)


HYDROLOGICAL = (
    ("NSE of the MC-LSTM ensemble: 0.744.", "5.4", ensemble("nse", Bound("at least", 0.744))),
    ("NSE of one MC-LSTM: 0.726.", "B.4", member("nse", Bound("at least", 0.726))),
    ("FHV of the MC-LSTM ensemble: -14.7.", "5.4", ensemble("fhv", Bound("nearer to 0 than", 14.7))),
    ("FHV of one MC-LSTM: -13.9.", "B.4", member("fhv", Bound("nearer to 0 than", 13.9))),
    (
        "MC-LSTM has a better NSE than every other conserving model.",
        "5.4",
        compared("OURS is better in nse than every mass"),
    ),
    (
        "LSTM has a better NSE than MC-LSTM.",
        "5.4",
        compared(f"{LSTMS} is better than OURS in nse$", weakens=HOLDS),
    ),
    (
        "MC-LSTM has a better FHV than every other model (p = 0.025).",
        "5.4",
        compared("OURS is better in fhv than every "),
    ),
    (
        "MC-LSTM has a better FLV than LSTM.",
        "5.4",
        compared(f"OURS is better than {LSTMS} in flv$"),
    ),
    (
        "MC-LSTM has a better bias than LSTM.",
        "5.4",
        compared(f"OURS is better than {LSTMS} in beta-nse$"),
    ),
    ("Four cells together follow snow, r >= 0.91.", "5.4", number(HYDROLOGY, SNOW, Bound("at least", 0.91))),
    ("An LSTM on the auxiliaries gains nothing.", "B.4", variant("aux-memory", no_gain=True)),
    ("An evapotranspiration outlet is not better.", "B.4", variant("evapotranspiration", no_gain=True)),
    ("The trash cell improves the model.", "B.4", variant("no-trash")),
    (
        "Each of three scalings of inputs or outputs is worse than none.",
        "B.4",
        variant("input-scaling", "output-scaling", "both-scalings"),
    ),
    (
        "Of the three, scaling of inputs is best.",
        "B.4",
        order(
            VARIANTS, THIRTY, "nse", "mclstm-input-scaling", "mclstm-output-scaling", "mclstm-both-scalings"
        ),
    ),
    ("R has to depend on time.", "B.4", variant("static-r")),
    ("R as an outer product is worse.", "B.4", variant("outer")),
    ("The gates have to see the precipitation.", "B.4", variant("no-rain")),
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
