"""The claims of the paper, in its order, each with the evidence that settles it here."""

from typing import NamedTuple

from mclstm_paper.arithmetic.subsets import OPERATIONS
from mclstm_paper.findings.evidence import (
    NOT,
    Bound,
    Evidence,
    by_tests,
    first_of,
    number,
    proven,
    shares_below_one,
    standing_in,
)
from mclstm_paper.findings.hydrology_claims import HYDROLOGICAL
from mclstm_paper.protocols import PROTOCOLS

__all__ = ["CLAIMS", "PaperClaim"]


class PaperClaim(NamedTuple):
    """What the paper says, where, and what here is about it."""

    text: str
    where: str
    evidence: Evidence


ADDITION, RECURRENT = "addition/{protocol}.json", "recurrent-arithmetic/{protocol}.json"
STATIC, MNIST = "static-arithmetic/{protocol}.json", "mnist-sum/{protocol}.json"
TRAFFIC, PENDULUM, HNN = "traffic/{protocol}.json", "pendulum/{protocol}.json", "hnn/{protocol}.json"
UPDATES = dict.fromkeys(PROTOCOLS, 2_000_000)  # of recurrent arithmetic
SUBTRACTION_UPDATES = UPDATES | {"published": 500_000}  # of MC-LSTM
NONE = Bound("at most", 0)
DIGIT_UPDATES = dict.fromkeys(PROTOCOLS, 86_000)  # of sums of digits: 1,000 epochs

THEORY = (
    (
        "Mass is conserved over time (theorem 1).",
        "3",
        shares_below_one("conservation/properties.json", "configurations"),
    ),
    (
        "Cells are bounded by the sum of mass inputs.",
        "3",
        proven("test_bound.py", text="proven for x, c(0) >= 0"),
    ),
    ("If the inputs' series converges, so does the sum of cells.", "3", proven("test_bound.py")),
    ("With R = I the gradient flows as in an LSTM with forget gate.", "3", proven("test_gradient.py")),
    ("R close to the identity gives a stable gradient flow.", "3", proven("test_gradient.py")),
    (
        "Singular values of random R follow the quarter-circular law on [0, sigma].",
        "D",
        proven("test_spectra.py", NOT, "the law holds on [0, 2 sigma / mean]"),
    ),
    ("The norm of R tends to one, so that gradients do not explode.", "D", proven("test_gradient.py")),
    (
        "A step takes O(K^3 + K^2 (M + L) + K M L) multiply-adds.",
        "3",
        proven("test_operations.py", text="counted"),
    ),
    (
        "As a Markov chain it converges if R is irreducible.",
        "4",
        proven(
            "test_markov_chain.py", NOT, "a cycle is irreducible and does not converge; aperiodic ones do"
        ),
    ),
    ("Without gates it is a linear flow.", "4", proven("test_flow.py")),
    ("The determinant of its Jacobian is below one but for degenerate cases.", "4", proven("test_flow.py")),
    ("R preserves the L1 norm.", "4", proven("test_flow.py")),
    (
        "The mapping of mass is equivariant to scale.",
        "4",
        proven("test_scale.py", text="proven where no gate sees raw mass and c(0) scales too"),
    ),
    (
        "The mapping of mass is equivariant to shift.",
        "4",
        proven("test_shift.py", NOT, "a counterexample; delays are"),
    ),
)

# The settings of the addition problem, with MC-LSTM's mean error there.
REGIMES = {"reference": 0.004, "seq length": 0.009, "input range": 0.8, "count": 0.6, "combo": 4.0}
ARITHMETIC = (
    *(
        (
            f"Addition, {regime}: MC-LSTM's error is below those of LSTM, LN-LSTM, uRNN and NAU.",
            "5.1",
            by_tests(ADDITION, rf"mclstm, {regime}: the error is below that of (ln-lstm|lstm|urnn|nau)$"),
        )
        for regime in REGIMES
    ),
    *(
        (
            f"Addition, {regime}: MC-LSTM's mean error is {error:g}.",
            "5.1",
            by_tests(ADDITION, rf"mclstm, {regime}: the error is at most the paper's"),
        )
        for regime, error in REGIMES.items()
    ),
    (
        "Addition: MC-LSTM with a time-dependent R is slightly worse than with a static one.",
        "B.1",
        by_tests(ADDITION, r"mclstm, .*: the error is below that of mclstm-dynamic$"),
    ),
    (
        "Addition: with a time-dependent R it still generalises better than all baselines.",
        "B.1",
        by_tests(ADDITION, r"mclstm-dynamic, .*: the error is below that of (ln-lstm|lstm|urnn|nau)$"),
    ),
    (
        "Addition: no training of MC-LSTM fails.",
        "5.1",
        number(ADDITION, ("mclstm", "reference", "nan"), NONE),
    ),
    (
        "Addition: most trainings of NALU fail (93 of 100).",
        "5.1",
        number(ADDITION, ("nalu", "reference", "nan"), Bound("at least", 0.9), share=True),
    ),
    *(
        (
            f"Recurrent {operation}: MC-LSTM solves {rate} %.",
            "5.1",
            by_tests(RECURRENT, rf"mclstm, {operation}: the interval of the success rate reaches", updates),
        )
        for operation, rate, updates in (
            ("addition", 96, UPDATES),
            ("subtraction", 81, SUBTRACTION_UPDATES),
            ("multiplication", 67, UPDATES),
        )
    ),
    *(
        (
            f"Recurrent {operation}: MC-LSTM solves more than {rival.upper()}.",
            "5.1",
            by_tests(RECURRENT, rf"mclstm solves {operation} more often than {rival}", updates),
        )
        for operation, rival, updates in (
            ("addition", "nau", UPDATES),
            ("subtraction", "nau", SUBTRACTION_UPDATES),
            ("multiplication", "nmu", UPDATES),
        )
    ),
    *(
        (
            f"Recurrent {operation}: LSTM solves nothing.",
            "5.1",
            number(RECURRENT, ("lstm", operation, "success"), NONE, updates=UPDATES),
        )
        for operation in OPERATIONS
    ),
    (
        "Recurrent subtraction: two cells are not enough.",
        "B.1",
        number(
            "recurrent-arithmetic/{protocol}-variants.json",
            ("mclstm-two-cells", "subtraction", "success"),
            NONE,
        ),
    ),
    *(
        (
            f"Static {operation}: MC-FC solves all.",
            "B.1",
            by_tests(STATIC, rf"mcfc, {operation}: the interval of the success rate reaches"),
        )
        for operation in OPERATIONS
    ),
    (
        "Static arithmetic: MC-FC solves as much as NAU and NMU.",
        "B.1",
        by_tests(STATIC, r"mcfc solves \w+ at least as often"),
    ),
    (
        "Static arithmetic: MC-FC solves more than NALU.",
        "B.1",
        by_tests(STATIC, r"mcfc solves \w+ more often than nalu"),
    ),
    (
        "Sums of digits: MC-LSTM (stated: `mclstm-softplus`) succeeds more often than NAU.",
        "5.1",
        first_of(
            by_tests(MNIST, r"mclstm succeeds more often than nau", DIGIT_UPDATES),
            standing_in(
                by_tests(MNIST, r"mclstm-softplus succeeds more often than nau", DIGIT_UPDATES),
                "with softplus masses and a head that starts as a sum, which the text does not name",
            ),
        ),
    ),
)

PHYSICS = (
    *(
        (
            f"Traffic (here flights instead of three cities): MC-LSTM's {metric.upper()} is below LSTM's.",
            where,
            by_tests(TRAFFIC, rf"flights-sparse-step: {metric} of mclstm is below that of lstm$"),
        )
        for metric, where in (("rmse", "5.2"), ("mae", "B.2"))
    ),
    (
        "Pendulum: the mean error of MC-LSTM is 0.01.",
        "5.3",
        number(PENDULUM, ("mclstm", "all", "mse"), Bound("at most", 0.01)),
    ),
    (
        "Pendulum: the mean error of LSTM is 0.07.",
        "5.3",
        number(PENDULUM, ("lstm", "all", "mse"), Bound("at most", 0.075)),
    ),
    (
        "Pendulum: MC-LSTM's error is below LSTM's.",
        "5.3",
        by_tests(PENDULUM, r"mclstm: the error is below that of lstm"),
    ),
    (
        "Pendulum without friction: neither MC-LSTM nor HNN is better.",
        "5.3",
        by_tests(HNN, r"mclstm: neither it nor"),
    ),
    (
        "Pendulum without friction: the mean error of MC-LSTM is 0.00043.",
        "B.3",
        number(HNN, ("mclstm", "all", "mse"), Bound("at most", 0.00043)),
    ),
    (
        "Pendulum without friction: the mean error of HNN is 0.0003.",
        "B.3",
        number(HNN, ("hnn", "all", "mse"), Bound("at most", 0.00035)),
    ),
)

CLAIMS: tuple[PaperClaim, ...] = tuple(
    PaperClaim(*claim) for part in (THEORY, ARITHMETIC, PHYSICS, HYDROLOGICAL) for claim in part
)
