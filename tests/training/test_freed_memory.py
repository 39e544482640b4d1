"""Freed memory stays with the process: counted in pages that the kernel had to give, not in time."""

import json
import subprocess
import sys

PROGRAM = """
import ctypes, json, resource
import torch
from mclstm.training.freed_memory import freed_memory_kept

def pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(2**24)  # 64 MB
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def resident():
    return int(open("/proc/self/statm").read().split()[1])

before = resident()
usual = pages()
with freed_memory_kept():
    # malloc sets a few bytes beside such a tensor aside, up to seven times, and they keep the parts around
    # them from becoming one again.
    kept = [pages() for _ in range(16)][-1]
    most = resident() - before
after = [pages(), resident() - before]
print(json.dumps([hasattr(ctypes.CDLL(None), "mallopt"), usual, kept, most, *after]))
"""


def test_a_tensor_takes_the_pages_of_the_one_before_until_the_training_ends() -> None:
    words = [sys.executable, "-c", PROGRAM]
    output = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    glibc, usual, kept, most, again, left = json.loads(output)
    if not glibc:
        return
    assert min(usual, again) > 16  # at least the pages of 2 MB each
    assert kept == 0
    assert left < most / 4
