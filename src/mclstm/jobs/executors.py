"""Where jobs run: processes of this machine, or workers of a Dask cluster."""

import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context

from mclstm.errors import ConfigError

__all__ = ["LOCAL", "cluster", "lost", "process_pool", "without_cluster"]

LOCAL = "local"  # in place of the address of a scheduler: a cluster on this machine
PATIENCE = 10  # seconds to wait for a scheduler


def process_pool(workers: int) -> Executor:
    """A pool of processes of this machine."""
    return ProcessPoolExecutor(workers, get_context("spawn"), prepare, (workers,))


def prepare(workers: int) -> None:
    """Set up a worker of the pool: it leaves Ctrl-C to its parent and shares the cores."""
    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // workers))


@contextmanager
def cluster(address: str | None, workers: int = 1) -> Iterator[Executor | None]:
    """Within the context, the executor of a Dask cluster; None without an address, for processes.

    address: of a scheduler, or `local` for a cluster of so many workers on this machine

    >>> with cluster(None) as executor:
    ...     print(executor)
    None
    """
    if address is None:
        yield None
    elif address == LOCAL:
        with local_cluster(workers) as scheduler, dask_executor(scheduler) as executor:
            yield executor
    elif workers > 1:
        raise ConfigError(
            f"--dask {address} has workers of its own, and --workers {workers} counts processes of this "
            "machine. Leave out one of them."
        )
    else:
        with dask_executor(address) as executor:
            yield executor


@contextmanager
def local_cluster(workers: int) -> Iterator[str]:
    """Within the context, a Dask cluster on this machine, by the address of its scheduler."""
    from distributed import LocalCluster  # isort: skip  # the package that a message about extras names
    import dask

    # A worker that takes the place of a dead one is forked from a server that has imported Dask.
    settings = {"distributed.worker.multiprocessing-method": "forkserver"}
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
        ) as here,
    ):
        # A nanny replaces its worker; where it fails itself, the cluster starts another one.
        here.adapt(minimum=workers, maximum=workers)
        yield here.scheduler_address


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """Within the context, an executor for the workers behind a scheduler."""
    from distributed import Client  # isort: skip  # the package that a message about extras names
    from distributed.comm.addressing import resolve_address

    try:
        resolve_address(address)  # a client refuses a wrong one too, but then waits 20 s to close
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = str(error) or type(error).__name__
        raise ConfigError(
            f"--dask {address}: no scheduler answers ({reason[:80]}). Give the address that `dask scheduler` "
            f"prints, such as tcp://10.0.0.1:8786, or {LOCAL}."
        ) from None
    with client:
        for name, worker in client.scheduler_info(n_workers=-1)["workers"].items():
            if worker["nthreads"] > 1:  # torch's random numbers belong to the process, not to the thread
                raise ConfigError(
                    f"--dask {address}: the worker {name} has {worker['nthreads']} threads, and a job needs "
                    "a process of its own. Start workers with --nthreads 1, and more of them."
                )
        yield client.get_executor(pure=False)


@contextmanager
def without_cluster() -> Iterator[None]:
    """Within the context, libraries leave the cluster alone: xarray would lock its files through Dask's."""
    if "distributed" not in sys.modules:
        yield
        return
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield


def lost(error: BaseException) -> bool:
    """Whether a job has no result because its worker died, and may run again elsewhere.

    >>> from concurrent.futures.process import BrokenProcessPool
    >>> lost(BrokenProcessPool()), lost(ValueError())
    (True, False)
    """
    # By name: distributed is only imported by those who use it.
    return bool({kind.__name__ for kind in type(error).__mro__} & {"BrokenExecutor", "KilledWorker"})
