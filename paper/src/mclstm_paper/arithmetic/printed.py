"""The numbers of the paper's tables of neural arithmetic, as printed there."""

__all__ = ["ADDITION", "ADDITION_FAILED", "RECURRENT", "STATIC", "Printed"]

Printed = tuple[float, float | None]

# Mean squared error and half of its 95 % interval; NALU and NAU over the runs that converged.
ADDITION: dict[str, dict[str, Printed]] = {
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
ADDITION_FAILED: dict[str, int] = dict.fromkeys(ADDITION, 0) | {"nalu": 93, "nau": 24}

# Success rate and median updates until solved. Where the paper writes NAU / NMU, multiplication is NMU's.
RECURRENT: dict[str, dict[str, Printed]] = {
    "mclstm": {"addition": (0.96, 4.6e5), "subtraction": (0.81, 1.2e5), "multiplication": (0.67, 1.8e5)},
    "lstm": {"addition": (0.0, None), "subtraction": (0.0, None), "multiplication": (0.0, None)},
    "nau": {"addition": (0.88, 8.1e4), "subtraction": (0.60, 6.1e4)},
    "nmu": {"multiplication": (0.34, 8.5e4)},
    "nac": {"addition": (0.56, 3.2e5), "subtraction": (0.86, 4.5e4)},
    "nac-mul": {"multiplication": (0.0, None)},
    "nalu": {"addition": (0.10, 1.0e6), "subtraction": (0.0, None), "multiplication": (0.01, 4.3e5)},
}
STATIC: dict[str, dict[str, Printed]] = {
    "mcfc": {"addition": (1.0, 2.1e5), "subtraction": (1.0, 1.6e5), "multiplication": (1.0, 1.4e6)},
    "nau": {"addition": (1.0, 1.8e4), "subtraction": (1.0, 5.0e3)},
    "nmu": {"multiplication": (0.98, 1.4e6)},
    "nac": {"addition": (1.0, 2.5e5), "subtraction": (1.0, 9.0e3)},
    "nac-mul": {"multiplication": (0.31, 2.8e6)},
    "nalu": {"addition": (0.14, 1.5e6), "subtraction": (0.14, 1.9e6), "multiplication": (0.0, None)},
}
