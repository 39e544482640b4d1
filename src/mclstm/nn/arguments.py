"""What a constructor accepts, and the one sentence said about anything else."""

import math
from collections.abc import Iterable
from numbers import Real

import torch
from torch import Tensor

from mclstm.nn.values import has_values, require_tensor

__all__ = [
    "one_of",
    "require_dtype",
    "require_initial",
    "require_mask",
    "require_names",
    "require_number",
    "require_size",
    "require_stay",
    "some_of",
]


def require_size(name: str, size: int, least: int) -> None:
    if not isinstance(size, int) or isinstance(size, bool) or size < least:
        raise ValueError(f"{name} is {size!r}; give a whole number of at least {least}.")


def one_of(name: str, value: object, known: Iterable[str]) -> str:
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} is {value!r}; choose one of {', '.join(known)}.")
    return value


def some_of(name: str, values: Iterable[str], known: tuple[str, ...]) -> tuple[str, ...]:
    if not isinstance(values, Iterable):
        raise ValueError(f"{name} is {values!r}; give any of {', '.join(known)}, as a tuple.")
    given = (values,) if isinstance(values, str) else tuple(values)
    for value in given:
        one_of(name, value, known)
    return tuple(value for value in known if value in given)


def require_names(name: str, names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise ValueError(f"{name} is {names!r}; give a tuple of names, such as ({names!r},).")
    given = tuple(names)
    if not given or len(set(given)) < len(given):
        raise ValueError(f"{name} is {given!r}; give at least one name, and each once.")
    return given


def is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def require_number(name: str, value: float) -> float:
    if not is_number(value) or not math.isfinite(value):
        raise ValueError(f"{name} is {value!r}; give a finite number.")
    return float(value)


def require_stay(stay: float | None) -> float | None:
    if stay is not None and not (is_number(stay) and 0.0 < stay < 1.0):
        raise ValueError(f"stay is {stay!r}; give a share between 0 and 1 (both excluded), or None.")
    return stay


def require_initial(initial: str | float) -> str | float:
    if isinstance(initial, str):
        return one_of("initial_state", initial, ("zero", "learned"))
    if not (is_number(initial) and math.isfinite(initial) and initial >= 0):
        raise ValueError(f"initial_state is {initial!r}; give 'zero', 'learned', or a finite amount >= 0.")
    return float(initial)


def require_dtype(dtype: torch.dtype) -> torch.dtype:
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"dtype is {dtype}; mass is kept in torch.float32 or torch.float64.")
    return dtype


def require_mask(mask: Tensor, hidden_size: int, must_stay: bool) -> Tensor:
    require_tensor("mask", mask)
    if mask.dtype != torch.bool or mask.shape != (hidden_size, hidden_size):
        shape = tuple(mask.shape)
        raise ValueError(
            f"mask is {mask.dtype} of shape {shape}; give a bool tensor ({hidden_size}, {hidden_size}), "
            "row = from, column = to."
        )
    if not has_values(mask):
        return mask
    closed = (~mask.any(dim=-1)).nonzero().flatten().tolist()
    if closed:
        raise ValueError(
            f"mask forbids every transfer of cell {closed[0]}; allow at least one, such as staying."
        )
    if must_stay and not bool(mask.diagonal().all()):
        raise ValueError("mask forbids staying, which is all that redistribution='identity' does; drop one.")
    return mask
