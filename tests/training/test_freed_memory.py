"""Freed memory stays with the process: counted in pages that the kernel had to give, not in time."""

import subprocess
import sys

PROGRAM = """
import resource, sys
import torch
from mclstm.training.freed_memory import keep_freed_memory

kept = sys.argv[1] == "keep" and keep_freed_memory()
if sys.argv[1] == "keep" and not kept:
    print("another malloc")
    raise SystemExit

def pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(2**24)  # 64 MB
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

pages()
print(min(pages() for _ in range(3)))
"""


def pages_of_a_later_tensor(word: str) -> str:
    words = [sys.executable, "-c", PROGRAM, word]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def test_a_tensor_takes_the_pages_of_the_one_before() -> None:
    kept = pages_of_a_later_tensor("keep")
    assert kept == "another malloc" or int(kept) < 100
    if kept != "another malloc":
        assert int(pages_of_a_later_tensor("usual")) > 16  # at least the pages of 2 MB each
