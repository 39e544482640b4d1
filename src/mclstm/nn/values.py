"""What every module asks of a tensor it is given, and the one sentence said about anything else."""

import sys
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor

from mclstm.errors import NotFiniteError

__all__ = [
    "full_precision",
    "has_values",
    "like_weights",
    "require_tensor",
    "require_values",
    "require_width",
]


def require_tensor(name: str, value: object) -> None:
    """Refuse arrays and lists: only a tensor says on which device and in which precision it lives."""
    if not isinstance(value, Tensor):
        kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
        raise ValueError(f"{name} is a {kind}; give a torch tensor, such as torch.as_tensor({name}).")


def require_width(name: str, value: Tensor, size: int) -> None:
    """Refuse a tensor that is not (..., size)."""
    require_tensor(name, value)
    if value.dim() == 0 or value.shape[-1] != size:
        raise ValueError(f"{name} has shape {tuple(value.shape)}, expected (..., {size}).")


def like_weights(name: str, value: Tensor, weight: Tensor) -> Tensor:
    """The value if it lives where the weights do and in their precision; autocast may widen it."""
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
    """Whether there are numbers in it: meta and fake tensors, of any shape, have none.

    >>> has_values(torch.ones(2)), has_values(torch.ones(2, device="meta"))
    (True, False)
    """
    return not (value.is_meta or isinstance(value, FakeTensor))


def require_values(name: str, value: Tensor, places: tuple[str, ...], negative: bool) -> None:
    """Refuse what no store can hold, naming the first place; skipped where there are no values to look at.

    places: what the dimensions are called; where there are fewer dimensions, the first names drop out.
    """
    if not has_values(value) or torch.compiler.is_compiling() or value.numel() == 0:
        return
    least, most = torch.aminmax(_as_stored(value))  # one pass over the values; NaN comes through
    if most.item() < torch.inf and least.item() >= (-sys.float_info.max if negative else 0.0):
        return
    bad = ~torch.isfinite(value) if negative else ~(torch.isfinite(value) & (value >= 0))
    place = tuple(bad.nonzero()[0].tolist())
    named = ", ".join(f"{label} {at}" for label, at in zip(places[-len(place) :], place, strict=True))
    remedy = "replace missing values before the layer" + (
        "" if negative else ", and pass allow_negative_mass=True if negative amounts are meant"
    )
    expected = "finite" if negative else "finite and >= 0"
    raise NotFiniteError(f"{name} is {value[place].item()} at {named}; it must be {expected}: {remedy}.")


def _as_stored(value: Tensor) -> Tensor:
    """The same values in the order of memory, those that are seen several times once: nothing is copied."""
    value = value.detach() if value.requires_grad else value
    if value.is_contiguous():
        return value
    for dim in range(value.dim() - 1, -1, -1):
        value = value.select(dim, 0) if value.stride(dim) == 0 else value
    strides = value.stride()
    return value.permute(sorted(range(len(strides)), key=lambda dim: -strides[dim]))


def full_precision(device: torch.device) -> AbstractContextManager[object]:
    """Autocast off: gates normalised in half precision would leak a thousandth of the mass a step."""
    if torch.amp.is_autocast_available(device.type) and torch.is_autocast_enabled(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()
