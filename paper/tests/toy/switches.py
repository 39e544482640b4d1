"""Where the protocols of the toy experiment differ."""

from mclstm_paper.protocols import Switch

__all__ = ["FEW_NUMBERS", "SWITCHES"]

FEW_NUMBERS = Switch("toy: few numbers", "An estimate sees 10 numbers instead of 1000.")

SWITCHES = (FEW_NUMBERS,)
