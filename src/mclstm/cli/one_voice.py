"""Of several processes that `torchrun` started for one training, one says what went wrong.

A wrong config is met by all of them, and a process that ends takes its partners with it, which lose their
connection. The first to fail has the reason; the others would only repeat it, or tell of a consequence.
"""

import os
from contextlib import suppress
from datetime import timedelta

from mclstm.errors import ConfigError

__all__ = ["helping", "may_speak", "require_alone"]

WAIT = timedelta(seconds=2)  # for the answer of torchrun's store


def helping() -> bool:
    """Whether this process helps another to train: warnings are the other's to show."""
    return os.environ.get("RANK", "0") != "0"


def require_alone(command: str) -> None:
    """Refuse a command that each process of torchrun would do for itself, into the same files."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ConfigError(
            f"mclstm {command} does not share its work among the processes of torchrun. Start it without "
            "torchrun, which is for one large training: mclstm train without --runs, or mclstm resume."
        )


def may_speak() -> bool:
    """Whether this process is the first of its training to fail, or alone; where that is unknown it speaks.

    >>> may_speak()
    True
    """
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        return True
    from torch import distributed

    # torchrun may be gone already, and who started it wants to hear why.
    with suppress(RuntimeError):
        place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
        store = distributed.TCPStore(*place, is_master=False, timeout=WAIT)  # type: ignore[attr-defined]
        return store.add(f"mclstm failed {os.environ.get('TORCHELASTIC_RESTART_COUNT', 0)}", 1) == 1
    return True
