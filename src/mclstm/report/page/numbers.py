"""Numbers as short JSON: a page of ten years must load at once."""

import json
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["rounded", "script_text"]

FINEST = 15  # decimals


def rounded(values: ArrayLike, digits: int = 4) -> list[float | None]:
    """Values (T,) with so many significant digits; None where a value is not known.

    >>> rounded([0.123456, 98765.4, 5.0, float("nan")], 3)
    [0.123, 98800, 5, None]
    """
    numbers = np.asarray(values, dtype=np.float64)
    sizes = np.where(np.isfinite(numbers) & (numbers != 0), np.abs(numbers), 1.0)
    decimals = np.minimum(digits - 1 - np.floor(np.log10(sizes)), FINEST)
    # A power of ten is exact, its inverse is not: small numbers are divided by it, large ones multiplied.
    up, down = 10.0 ** np.maximum(decimals, 0), 10.0 ** np.maximum(-decimals, 0)
    short = np.round(numbers * up / down) / up * down
    return [plain(value) for value in short.tolist()]


def plain(value: float) -> float | None:
    if not np.isfinite(value):
        return None
    return int(value) if value.is_integer() else value


def script_text(content: Any) -> str:
    """JSON that is also JavaScript, and that no text in it can end: neither `</script>` nor a line separator.

    >>> script_text({"site": "</script>"})
    '{"site":"\\\\u003c/script>"}'
    """
    return json.dumps(content, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
