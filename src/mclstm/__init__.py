"""Mass-Conserving LSTM: what flows in is stored or flows out, exactly.

Public names are loaded on first use, so that commands that need no tensors never import torch.

>>> import mclstm
>>> mclstm.MCLSTM(mass_size=1, aux_size=0, hidden_size=4).conserving
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mclstm.errors import missing_extra

if TYPE_CHECKING:
    from mclstm.dataframe import fit as fit
    from mclstm.deploy.stepper import Stepper as Stepper
    from mclstm.errors import ConservationError as ConservationError
    from mclstm.errors import DataError as DataError
    from mclstm.errors import NotFiniteError as NotFiniteError
    from mclstm.fitted import Fitted as Fitted
    from mclstm.nn.autoregressive_lstm import AutoregressiveLSTM as AutoregressiveLSTM
    from mclstm.nn.cell import MCLSTMCell as MCLSTMCell
    from mclstm.nn.flows import Flows as Flows
    from mclstm.nn.heads import LinearHead as LinearHead
    from mclstm.nn.heads import MCFCHead as MCFCHead
    from mclstm.nn.heads import ScaledHead as ScaledHead
    from mclstm.nn.heads import SumHead as SumHead
    from mclstm.nn.hydrology import AuxMemory as AuxMemory
    from mclstm.nn.hydrology import InputScaling as InputScaling
    from mclstm.nn.hydrology import cell_penalty as cell_penalty
    from mclstm.nn.hydrology import closure_penalty as closure_penalty
    from mclstm.nn.hydrology import guide_penalty as guide_penalty
    from mclstm.nn.hydrology import scaling_penalty as scaling_penalty
    from mclstm.nn.layer import MCLSTM as MCLSTM
    from mclstm.nn.mcfc import MCFC as MCFC
    from mclstm.nn.mcfc import MultiplicativeMCFC as MultiplicativeMCFC
    from mclstm.nn.redistribution_network import Hypernetwork as Hypernetwork
    from mclstm.nn.rollout import Rollout as Rollout
    from mclstm.nn.rollout import rollout as rollout

__version__ = "0.1.0"

# The imports above, which only type checkers read, by module: `__getattr__` does them on first use.
NAMES = {
    "mclstm.nn.layer": "MCLSTM",
    "mclstm.nn.cell": "MCLSTMCell",
    "mclstm.nn.redistribution_network": "Hypernetwork",
    "mclstm.nn.autoregressive_lstm": "AutoregressiveLSTM",
    "mclstm.nn.rollout": "Rollout rollout",
    "mclstm.nn.mcfc": "MCFC MultiplicativeMCFC",
    "mclstm.nn.flows": "Flows",
    "mclstm.nn.heads": "SumHead LinearHead MCFCHead ScaledHead",
    "mclstm.nn.hydrology": "AuxMemory InputScaling "
    "cell_penalty closure_penalty guide_penalty scaling_penalty",
    "mclstm.dataframe": "fit",
    "mclstm.fitted": "Fitted",
    "mclstm.deploy.stepper": "Stepper",
    "mclstm.errors": "ConservationError DataError NotFiniteError",
}
PUBLIC = {name: module for module, names in NAMES.items() for name in names.split()}

__all__ = list(PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module 'mclstm' has no attribute {name!r}")
    try:
        return getattr(import_module(PUBLIC[name]), name)
    except ModuleNotFoundError as error:
        if (remedy := missing_extra(error)) is None:
            raise
        raise ImportError(f"mclstm.{name}: {remedy}") from None


def __dir__() -> list[str]:
    return sorted([*PUBLIC, "__version__"])
