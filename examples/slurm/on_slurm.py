"""Many runs on SLURM: every worker is a job of the queue, and a worker that dies is replaced.

    pip install "mclstm[app,dask,tune]" dask-jobqueue
    python on_slurm.py 20 tune river.yaml --out /scratch/me/runs

20 workers; then the words of a command that takes --dask: tune, train --runs, experiment. Start it on a login
node, in tmux or screen. Data and --out must lie where all nodes see them. After a stop, run it again.
"""

import shutil
import sys
from contextlib import AbstractContextManager
from typing import Any

from mclstm.cli.main import main


def slurm_workers(number: int) -> AbstractContextManager[Any]:
    """So many workers with one core each; what your cluster asks for goes here."""
    from dask_jobqueue import SLURMCluster

    cluster = SLURMCluster(
        cores=1,
        processes=1,
        memory="4GB",
        walltime="04:00:00",
        # Workers end by themselves before the queue kills them; a run goes on from its checkpoint elsewhere.
        worker_extra_args=["--lifetime", "225m", "--lifetime-stagger", "10m"],
        job_extra_directives=["--requeue"],  # also "--account=...", "--partition=..."
    )
    cluster.adapt(minimum_jobs=number, maximum_jobs=number)  # new jobs take the places of ended ones
    return cluster


def run(number: int, words: list[str]) -> int:
    """The exit code of the command, run on SLURM."""
    if shutil.which("sbatch") is None:
        print("There is no SLURM here (no sbatch). Use --workers or --dask local instead.", file=sys.stderr)
        return 2
    with slurm_workers(number) as cluster:
        return main([*words, "--dask", cluster.scheduler_address])


if __name__ == "__main__":
    if len(sys.argv) < 3 or not sys.argv[1].isdigit():
        sys.exit("usage: python on_slurm.py WORKERS COMMAND..., such as: on_slurm.py 20 tune river.yaml")
    sys.exit(run(int(sys.argv[1]), sys.argv[2:]))
