"""The process that does one job: `python -m mclstm_paper.bench.worker JOB`, JSON in and out.

The number of threads stands in the environment before torch is loaded, and never changes in a process.
"""

import contextlib
import json
import sys
from pathlib import Path

import torch

from mclstm_paper.bench.groups import measure
from mclstm_paper.bench.job import Job

__all__ = ["main"]


def prepare(threads: int) -> bool:
    """Threads, and denormal numbers flushed; whether this processor can do that.

    Before any parallel work: threads inherit the flag from the one that starts them.
    """
    torch.set_num_threads(threads)
    # The published implementations take gigabytes: if memory runs out, this process is to be the victim.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    return torch.set_flush_denormal(True)


def main() -> None:
    """Do the job on the command line and print what was measured as the last line."""
    job = Job(**json.loads(sys.argv[1]))
    flushed = prepare(job.threads)
    found = measure(job)
    about = {"flushed": flushed, "threads_of_torch": torch.get_num_threads()}
    print(json.dumps({"rows": found.rows, "missing": found.missing, **about}))


if __name__ == "__main__":
    main()
