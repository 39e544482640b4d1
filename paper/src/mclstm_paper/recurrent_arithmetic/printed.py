"""The paper's table of recurrent arithmetic, as printed there."""

from mclstm_paper.arithmetic.success_tables import Printed

__all__ = ["PRINTED"]

# Success rate and median updates until solved. Where the paper writes NAU / NMU, multiplication is NMU's.
PRINTED: dict[str, dict[str, Printed]] = {
    "mclstm": {"addition": (0.96, 4.6e5), "subtraction": (0.81, 1.2e5), "multiplication": (0.67, 1.8e5)},
    "lstm": {"addition": (0.0, None), "subtraction": (0.0, None), "multiplication": (0.0, None)},
    "nau": {"addition": (0.88, 8.1e4), "subtraction": (0.60, 6.1e4)},
    "nmu": {"multiplication": (0.34, 8.5e4)},
    "nac": {"addition": (0.56, 3.2e5), "subtraction": (0.86, 4.5e4)},
    "nac-mul": {"multiplication": (0.0, None)},
    "nalu": {"addition": (0.10, 1.0e6), "subtraction": (0.0, None), "multiplication": (0.01, 4.3e5)},
}
