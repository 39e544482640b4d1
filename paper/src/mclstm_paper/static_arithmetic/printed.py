"""The paper's table of static arithmetic, as printed there."""

from mclstm_paper.arithmetic.success_tables import Printed

__all__ = ["PRINTED"]

# Success rate and median updates until solved. Where the paper writes NAU / NMU, multiplication is NMU's.
PRINTED: dict[str, dict[str, Printed]] = {
    "mcfc": {"addition": (1.0, 2.1e5), "subtraction": (1.0, 1.6e5), "multiplication": (1.0, 1.4e6)},
    "nau": {"addition": (1.0, 1.8e4), "subtraction": (1.0, 5.0e3)},
    "nmu": {"multiplication": (0.98, 1.4e6)},
    "nac": {"addition": (1.0, 2.5e5), "subtraction": (1.0, 9.0e3)},
    "nac-mul": {"multiplication": (0.31, 2.8e6)},
    "nalu": {"addition": (0.14, 1.5e6), "subtraction": (0.14, 1.9e6), "multiplication": (0.0, None)},
}
