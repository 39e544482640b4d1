"""Markov chains: a closed layer is one, and the spectra of random Markov matrices.

Take S with iid non-negative entries of mean m and standard deviation σ, divide every row by its sum, and
call the result R (K, K). One singular value and one eigenvalue are close to 1: the total mass. The others
are of order 1/sqrt(K). As K grows, the singular values times sqrt(K) m / σ follow the quarter-circular law on
[0, 2], and the eigenvalues times sqrt(K) m / σ the uniform law on the disk of radius 1.
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import kstest
from torch import Tensor

from mclstm.nn.layer import MCLSTM

__all__ = [
    "ENTRIES",
    "SHUT",
    "bulk_eigenvalues",
    "bulk_singular_values",
    "circular_distance",
    "closed_layer",
    "first_redistribution",
    "lognormal_ratio",
    "quarter_circular_cdf",
    "quarter_circular_distance",
    "random_markov",
    "trajectory",
]

# With this output-gate bias o is about 2e-35 for every input: h is not zero, but what stays rounds to m.
SHUT = -1000.0

Floats = NDArray[np.float64]


def closed_layer(R: Tensor) -> MCLSTM:
    """The gate-free layer c_t = c_{t-1} R in float64, with R's zeros forbidden by the mask.

    R: (K, K), rows sum to one

    >>> swap = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    >>> trajectory(closed_layer(swap), torch.tensor([1.0, 3.0]), 2).tolist()
    [[1.0, 3.0], [3.0, 1.0], [1.0, 3.0]]
    """
    cells, mask = R.shape[0], R > 0
    layer = MCLSTM(0, 0, cells, redistribution="static", mask=mask, output_bias=SHUT, dtype=torch.float64)
    assert layer.gates.B_r is not None
    with torch.no_grad():  # softmax undoes the logarithm, for the rows already sum to one
        layer.gates.B_r.copy_(torch.log(torch.where(mask, R, 1.0)))
    return layer


def trajectory(layer: MCLSTM, c0: Tensor, steps: int) -> Tensor:
    """The cells of a closed layer after 0, 1, ..., `steps` steps.

    c0: (K,) or (B, K) · result: (steps + 1, K) or (steps + 1, B, K)
    """
    x = torch.zeros(steps, *c0.shape[:-1], layer.gates.mass_size, dtype=torch.float64)
    with torch.no_grad():
        return layer.trajectory(x, c0=c0.double())[1]


def lognormal_ratio(scale: float) -> float:
    """σ/m of exp(z), z normal with standard deviation `scale`: entries under a softmax of random logits."""
    return math.sqrt(math.expm1(scale**2))


# The entries of S, each with its σ/m.
ENTRIES: dict[str, tuple[Callable[[np.random.Generator, tuple[int, int]], Floats], float]] = {
    "exponential": (lambda draw, shape: draw.exponential(size=shape), 1.0),
    "uniform": (lambda draw, shape: draw.uniform(size=shape), 1.0 / math.sqrt(3.0)),
    "softmax": (lambda draw, shape: np.exp(draw.normal(scale=0.5, size=shape)), lognormal_ratio(0.5)),
}


def random_markov(cells: int, entries: str, seed: int) -> Floats:
    """Iid non-negative entries, rows divided by their sum: (K, K).

    >>> random_markov(3, "uniform", seed=0).sum(axis=1).round(12).tolist()
    [1.0, 1.0, 1.0]
    """
    S = ENTRIES[entries][0](np.random.default_rng(seed), (cells, cells))
    return np.asarray(S / S.sum(axis=1, keepdims=True))


def bulk_singular_values(R: Floats, ratio: float) -> Floats:
    """All singular values but the largest, times sqrt(K) m / σ: R (K, K), ratio σ/m -> (K - 1,)."""
    values = np.linalg.svd(R, compute_uv=False)[1:].astype(np.float64)
    return values * (math.sqrt(len(R)) / ratio)


def bulk_eigenvalues(R: Floats, ratio: float) -> NDArray[np.complex128]:
    """All eigenvalues but 1, times sqrt(K) m / σ: R (K, K), ratio σ/m -> (K - 1,)."""
    # LAPACK's order changes with the number of threads; a figure's file must not.
    values = np.sort_complex(np.linalg.eigvals(R)).astype(np.complex128)
    others = np.delete(values, np.argmin(np.abs(values - 1.0)))
    return others * (math.sqrt(len(R)) / ratio)


def quarter_circular_cdf(s: Floats) -> Floats:
    """Distribution function of the density sqrt(4 - s²) / π on [0, 2].

    >>> quarter_circular_cdf(np.array([-1.0, 0.0, 2.0, 3.0])).tolist()
    [0.0, 0.0, 1.0, 1.0]
    """
    s = np.clip(s, 0.0, 2.0)
    return np.asarray((s * np.sqrt(4.0 - s**2) / 2.0 + 2.0 * np.arcsin(s / 2.0)) / math.pi)


def quarter_circular_distance(R: Floats, ratio: float) -> float:
    """Kolmogorov-Smirnov distance of the bulk singular values from the quarter-circular law."""
    return float(kstest(bulk_singular_values(R, ratio), quarter_circular_cdf).statistic)


def circular_distance(R: Floats, ratio: float) -> float:
    """Kolmogorov-Smirnov distance of the bulk |λ| from the radius in a uniform disk, P(|λ| <= r) = r²."""
    radii = np.abs(bulk_eigenvalues(R, ratio))
    return float(kstest(radii, lambda r: np.clip(r, 0.0, 1.0) ** 2).statistic)


def first_redistribution(cells: int, form: str, seed: int, stay: float | None = None) -> Floats:
    """R of an untrained softmax layer at its first step, (K, K); `dynamic` sees 30 random auxiliaries."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layer = MCLSTM(1, 30, cells, redistribution=form, stay=stay, dtype=torch.float64)  # type: ignore[arg-type]
        a = torch.randn(1, 30, dtype=torch.float64)
        with torch.no_grad():
            R = layer.flows(torch.zeros(1, 1, dtype=torch.float64), a).R
    return np.asarray(R[0].numpy())
