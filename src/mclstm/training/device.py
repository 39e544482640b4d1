"""Where a model trains: from `training.device` to a device that this machine has."""

import torch

from mclstm.errors import ConfigError

__all__ = ["find_device"]


def find_device(name: str, gpus: int, local_rank: int = 0, ranks: int = 1) -> torch.device:
    """The device of a name such as cpu, cuda, cuda:1 or auto, for one of the processes of this machine.

    gpus: how many there are · local_rank: the number of the process on this machine · ranks: processes in all

    >>> find_device("auto", gpus=0), find_device("cuda", gpus=2, local_rank=1, ranks=2)
    (device(type='cpu'), device(type='cuda', index=1))
    """
    if name == "cpu" or (name == "auto" and not gpus):
        return torch.device("cpu")
    if ":" in name and ranks > 1:
        raise ConfigError(
            f"training.device is {name}, one GPU for {ranks} processes. "
            "Set it to cuda: each then takes its own."
        )
    at = int(name.partition(":")[2] or local_rank)
    if at < gpus:
        return torch.device("cuda", at)
    there = ", ".join(["cpu", *(f"cuda:{number}" for number in range(gpus))])
    if gpus and ":" not in name:
        raise ConfigError(
            f"training.device is {name}, but process {at + 1} of this machine finds only {there}. "
            f"Start at most {gpus} here: torchrun --nproc-per-node {gpus}."
        )
    raise ConfigError(f"training.device is {name}, but torch finds only {there} here. Choose one of these.")
