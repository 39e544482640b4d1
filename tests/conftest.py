"""Fixtures of all tests of the library."""

from support.kernels import each_kernel

__all__ = ["each_kernel"]
