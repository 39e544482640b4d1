"""Run by the python of neuralhydrology, not by ours: `nh-run train` for many configs, one process each.

    OTHER/bin/python nh_trainings.py CONFIG.yml ...

Beside each config stand then `log.txt`, what the command said, and last `exit_code`. A config that has one
is left out. Its packages are imported once, because that takes longer than a training of one epoch.
"""

import os
import sys
import traceback
from pathlib import Path


def train(config: Path) -> int:
    """The exit code of the command in a forked process, as its own process would have ended."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    log = os.open(config.with_name("log.txt"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    code = 0
    try:
        sys.argv = ["nh-run", "train", "--config-file", str(config)]
        nh_run._main()
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    from neuralhydrology import nh_run

    for path in map(Path, sys.argv[1:]):
        if not path.with_name("exit_code").is_file():
            path.with_name("exit_code").write_text(f"{train(path)}\n")
