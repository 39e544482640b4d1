"""Process models of hydrology: pure functions from parameters and weather to flow, stores and losses."""

from mclstm.models.process.hbv import HBV
from mclstm.models.process.process_model import ProcessModel
from mclstm.models.process.sac_sma import SAC_SMA

__all__ = ["PROCESS_MODELS"]

PROCESS_MODELS: dict[str, ProcessModel] = {"hbv": HBV, "sac-sma": SAC_SMA}
