"""What every module asks of its arguments, and the one sentence it says about anything else.

First the options of constructors, then the tensors of calls.
"""

import math
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from numbers import Real

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor

from mclstm.errors import NotFiniteError


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
    chosen = (values,) if isinstance(values, str) else tuple(values)
    for value in chosen:
        one_of(name, value, known)
    return tuple(value for value in known if value in chosen)


def require_names(name: str, names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise ValueError(f"{name} is {names!r}; give a tuple of names, such as ({names!r},).")
    names = tuple(names)
    if not names or len(set(names)) < len(names):
        raise ValueError(f"{name} is {names!r}; give at least one name, and each once.")
    return names


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


def require_from(amount: float, initial: str | float) -> float:
    if not (is_number(amount) and math.isfinite(amount) and amount >= 0):
        raise ValueError(f"learned_from is {amount!r}; give a finite amount >= 0.")
    if amount != 1.0 and initial != "learned":
        raise ValueError(
            f"learned_from is {amount!r} and initial_state is {initial!r}; set initial_state='learned', "
            "or leave it out."
        )
    return float(amount)


def require_members(module: nn.Module | None, members: int | None) -> None:
    own = getattr(module, "members", None)
    if module is not None and own != members:
        raise ValueError(
            f"redistribution is a module whose members is {own}, and the layer's is {members}; "
            f"give both the same, such as Hypernetwork(..., members={members})."
        )


def require_outlet(outlet: str, not_conserving: tuple[str, ...]) -> None:
    if outlet == "none" and "output" in not_conserving:
        raise ValueError("outlet is 'none' and not_conserving names 'output'; without outlet nothing leaves.")


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


def require_tensor(name: str, value: object) -> None:
    """Refuse arrays and lists: only a tensor has a device and a dtype that can be checked."""
    if not isinstance(value, Tensor):
        kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
        raise ValueError(f"{name} is a {kind}; give a torch tensor, such as torch.as_tensor({name}).")


def require_width(name: str, value: Tensor, size: int) -> None:
    """Refuse a tensor that is not (..., size)."""
    require_tensor(name, value)
    if value.dim() == 0 or value.shape[-1] != size:
        raise ValueError(f"{name} has shape {tuple(value.shape)}, expected (..., {size}).")


def like_weights(name: str, value: Tensor, weight: Tensor) -> Tensor:
    """The value, if it has the device and dtype of the weights; under autocast it is converted."""
    if weight.dtype not in (torch.float32, torch.float64):
        raise ValueError(
            f"The layer's weights are {weight.dtype}, in which mass cannot be kept; call layer.float() and "
            "use autocast around it."
        )
    if value.device != weight.device:
        raise ValueError(
            f"{name} is on {value.device}, the layer on {weight.device}; call {name}.to('{weight.device}')."
        )
    if value.dtype == weight.dtype:
        return value
    if torch.is_autocast_enabled(value.device.type) and value.is_floating_point():
        return value.to(weight.dtype)
    raise ValueError(
        f"{name} is {value.dtype}, the layer {weight.dtype}; convert one of them, "
        f"such as {name}.to({weight.dtype})."
    )


def has_values(value: Tensor) -> bool:
    """Whether a tensor holds numbers: meta and fake tensors do not.

    >>> has_values(torch.ones(2)), has_values(torch.ones(2, device="meta"))
    (True, False)
    """
    return not (value.is_meta or isinstance(value, FakeTensor))


def require_values(name: str, value: Tensor, places: tuple[str, ...], negative: bool) -> None:
    """Refuse values that are not finite, or negative where they must not be, and name the first of them.

    places: the names of the dimensions; a tensor of fewer dimensions has the last ones.
    """
    if not has_values(value) or torch.compiler.is_compiling() or value.numel() == 0:
        return
    low, high = _extremes(name, value)
    if high < torch.inf and low >= (-sys.float_info.max if negative else 0.0):
        return
    bad = ~torch.isfinite(value) if negative else ~(torch.isfinite(value) & (value >= 0))
    place = tuple(bad.nonzero()[0].tolist())
    named = ", ".join(f"{label} {at}" for label, at in zip(places[-len(place) :], place, strict=True))
    remedy = "replace missing values before the layer" + (
        "" if negative else ", and pass allow_negative_mass=True if negative amounts are meant"
    )
    expected = "finite" if negative else "finite and >= 0"
    raise NotFiniteError(f"{name} is {value[place].item()} at {named}; it must be {expected}: {remedy}.")


def _extremes(name: str, value: Tensor) -> tuple[float, float]:
    """The lowest and the highest value, in one pass; NaN comes through."""
    least, most = torch.aminmax(_as_stored(value))
    try:
        return least.item(), most.item()
    except RuntimeError as error:
        if not torch._C._are_functorch_transforms_active():
            raise
        raise ValueError(
            f"{name} is inside torch.vmap, where no value can be looked at; build the layer with check=False."
        ) from error


def _as_stored(value: Tensor) -> Tensor:
    """The same values in the order of memory, expanded ones once: a view, nothing is copied."""
    value = value.detach() if value.requires_grad else value
    if value.is_contiguous():
        return value
    for dim in range(value.dim() - 1, -1, -1):
        value = value.select(dim, 0) if value.stride(dim) == 0 else value
    strides = value.stride()
    return value.permute(sorted(range(len(strides)), key=lambda dim: -strides[dim]))


def full_precision(device: torch.device) -> AbstractContextManager[object]:
    """Autocast off: gates normalised in half precision would lose a thousandth of the mass per step."""
    if torch.amp.is_autocast_available(device.type) and torch.is_autocast_enabled(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()
