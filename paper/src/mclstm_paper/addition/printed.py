"""The paper's table of the addition problem, as printed there."""

__all__ = ["FAILED", "PRINTED"]

# Mean squared error and half of its 95 % interval; NALU and NAU over the runs that converged.
PRINTED: dict[str, dict[str, tuple[float, float]]] = {
    model: dict(zip(("reference", "seq length", "input range", "count", "combo"), printed, strict=True))
    for model, printed in {
        "mclstm-dynamic": [(0.013, 0.004), (0.022, 0.010), (2.6, 0.8), (2.2, 0.7), (13.6, 4.0)],
        "mclstm": [(0.004, 0.003), (0.009, 0.004), (0.8, 0.5), (0.6, 0.4), (4.0, 2.5)],
        "lstm": [(0.008, 0.003), (0.727, 0.169), (21.4, 0.6), (9.5, 0.6), (54.6, 1.0)],
        "ln-lstm": [(0.026, 0.003), (0.055, 0.010), (24.5, 0.3), (7.5, 0.2), (62.0, 0.5)],
        "urnn": [(0.043, 0.001), (0.139, 0.133), (99.9, 63.8), (7.0, 0.1), (88.1, 3.4)],
        "nalu": [(0.060, 0.008), (0.059, 0.009), (25.3, 0.2), (7.4, 0.1), (63.7, 0.6)],
        "nau": [(0.248, 0.019), (0.252, 0.020), (28.3, 0.5), (9.1, 0.2), (68.5, 0.8)],
    }.items()
}
# Runs out of a hundred that failed.
FAILED: dict[str, int] = dict.fromkeys(PRINTED, 0) | {"nalu": 93, "nau": 24}
