"""What every module asks of a tensor it is given, and the one sentence said about anything else."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from mclstm.errors import NotFiniteError

__all__ = ["full_precision", "like_weights", "require_tensor", "require_values"]


def require_tensor(name: str, value: object) -> None:
    """Refuse arrays and lists: only a tensor says on which device and in which precision it lives."""
    if not isinstance(value, Tensor):
        kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
        raise ValueError(f"{name} is a {kind}; give a torch tensor, such as torch.as_tensor({name}).")


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


def require_values(name: str, value: Tensor, places: tuple[str, ...], negative: bool) -> None:
    """Refuse what no store can hold, naming the first place; skipped where there are no values to look at.

    places: what the dimensions are called; where there are fewer dimensions, the first names drop out.
    """
    if value.is_meta or torch.compiler.is_compiling() or value.numel() == 0:
        return
    least, most = torch.aminmax(in_memory_order(value.detach()))  # one pass; NaN comes through
    if bool((most < torch.inf) & (least > -torch.inf if negative else least >= 0)):
        return
    bad = ~torch.isfinite(value) if negative else ~(torch.isfinite(value) & (value >= 0))
    place = tuple(bad.nonzero()[0].tolist())
    named = ", ".join(f"{label} {at}" for label, at in zip(places[-len(place) :], place, strict=True))
    remedy = "replace missing values before the layer" + (
        "" if negative else ", and pass allow_negative_mass=True if negative amounts are meant"
    )
    expected = "finite" if negative else "finite and >= 0"
    raise NotFiniteError(f"{name} is {value[place].item()} at {named}; it must be {expected}: {remedy}.")


def in_memory_order(value: Tensor) -> Tensor:
    """The same numbers, dimensions by stride: a reduction over a permuted tensor would copy it first."""
    return value.permute(sorted(range(value.dim()), key=value.stride, reverse=True))


@contextmanager
def full_precision(device: torch.device) -> Iterator[None]:
    """Autocast off: gates normalised in half precision would leak a thousandth of the mass a step."""
    if torch.amp.is_autocast_available(device.type):
        with torch.autocast(device.type, enabled=False):
            yield
    else:
        yield
