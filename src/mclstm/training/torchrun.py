"""From a process that `torchrun` started to one of the ranks that train together."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch

from mclstm.training.device import find_device
from mclstm.training.ranks import Ranks, partners

__all__ = ["joined"]

PATIENCE = timedelta(hours=1)  # the others wait while rank 0 validates; a rank silent for longer is lost
VARIABLES = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}  # set by torchrun; here as without it


@contextmanager
def joined(device: str) -> Iterator[Ranks]:
    """Within the context, this process is one of those that `torchrun` started, or alone without it.

    device: `training.device` of the config

    >>> with joined("cpu") as ranks:
    ...     ranks.first, ranks.size
    (True, 1)
    """
    rank, size, local = (int(os.environ.get(name, usual)) for name, usual in VARIABLES.items())
    place = find_device(device, torch.cuda.device_count(), local, size)
    if size == 1:
        yield Ranks(place)
        return
    # What ranks tell each other stays on the CPU, with gloo; gradients travel from GPU to GPU.
    with partners():
        backend = "gloo" if place.type == "cpu" else "cpu:gloo,cuda:nccl"
        torch.distributed.init_process_group(backend, timeout=PATIENCE)
    try:
        yield Ranks(place, rank, size)
    except BaseException:
        # torchrun ends all ranks when one fails: that must not cut off what this one has to say.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise
    finally:
        torch.distributed.destroy_process_group()
