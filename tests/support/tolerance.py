"""How far the results of a backend may be from those of the reference."""

from torch import Tensor

from support.cases import Results

__all__ = ["assert_close"]


def errors(results: dict[str, Tensor], exact: dict[str, Tensor]) -> dict[str, float]:
    """Largest error of each tensor, relative to its largest value.

    Terms cancel in a gradient that is much smaller than the others, and their rounding remains.
    """
    sizes = {name: value.abs().max().item() for name, value in exact.items() if value.numel() > 0}
    floor = 0.1 * max(sizes.values(), default=0.0)
    return {
        name: (results[name].double() - exact[name]).abs().max().item() / max(size, floor)
        for name, size in sizes.items()
        if max(size, floor) > 0
    }


def assert_close(results: Results, exact: Results, own: Results, eps: float, steps: int) -> float:
    """The largest error / bound; `own` are the results of the reference in the same precision."""
    worst = 0.0
    for part, factor in ((0, 8.0), (1, 64.0)):
        theirs = errors(own[part], exact[part])
        for name, error in errors(results[part], exact[part]).items():
            bound = max(factor * eps * steps**0.5, 4.0 * theirs[name])
            assert error <= bound, f"{name}: {error:.2e} > {bound:.2e}"
            worst = max(worst, error / bound)
    return worst
