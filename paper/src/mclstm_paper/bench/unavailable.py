"""A candidate that cannot run on this machine."""

__all__ = ["Unavailable"]


class Unavailable(Exception):
    """Why a candidate is missing; the bench says so and goes on without it."""
