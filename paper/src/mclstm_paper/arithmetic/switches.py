"""Where the protocols of recurrent and of static arithmetic differ in the same way."""

from mclstm_paper.protocols import Switch

__all__ = ["INCLUSIVE_SUBSETS"]

INCLUSIVE_SUBSETS = Switch(
    "thresholds: inclusive subsets",
    "Success thresholds are computed for subsets one element too large, by inclusive indexing.",
)
