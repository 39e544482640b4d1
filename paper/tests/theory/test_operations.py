"""The paper's operation count, held against the multiply-adds that the reference really does."""

import itertools

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from mclstm import MCLSTM
from mclstm_paper.theory.operations import (
    lstm_step,
    mclstm_step,
    paper_dynamic,
    paper_static,
)

TERMS = {
    "KKK": (3, 0, 0),
    "KKM": (2, 1, 0),
    "KKL": (2, 0, 1),
    "KML": (1, 1, 1),
    "KK": (2, 0, 0),
    "KM": (1, 1, 0),
    "KL": (1, 0, 1),
    "K": (1, 0, 0),
    "ML": (0, 1, 1),
    "MM": (0, 2, 0),
    "LL": (0, 0, 2),
    "M": (0, 1, 0),
    "L": (0, 0, 1),
    "1": (0, 0, 0),
}
SIZES = list(itertools.product((2, 3, 5, 8), (1, 2, 4), (1, 2, 5)))


def polynomial(count):
    """The integer polynomial through the counts at all sizes, as its non-zero terms."""
    rows = np.array([[K**k * M**m * L**n for k, m, n in TERMS.values()] for K, M, L in SIZES], dtype=float)
    counts = np.array([count(*size) for size in SIZES], dtype=float)
    solution, _, rank, _ = np.linalg.lstsq(rows, counts, rcond=None)
    whole = solution.round()
    assert rank == len(TERMS)
    np.testing.assert_array_equal(rows @ whole, counts)
    return {name: int(value) for name, value in zip(TERMS, whole, strict=True) if value}


def test_dynamic_is_the_paper_plus_lower_terms():
    """K³ + K²(M+L) + KML has every leading term with coefficient one; 2K² + KL + KM + 4K is left out.

    Of 4K, two are what leaves and what stays, two the portions by which rounding is given back to both.
    """
    measured = polynomial(lambda *size: mclstm_step(*size, "dynamic").total)
    leading = {"KKK": 1, "KKM": 1, "KKL": 1, "KML": 1}
    assert measured == {**leading, "KK": 2, "KM": 1, "KL": 1, "K": 4}
    assert polynomial(paper_dynamic) == leading


def test_static_is_the_paper_plus_terms_that_stay_without_mass_input():
    """K²M + KML is right for M >= 1; at M = 0 it says nothing is computed, and 2K² + KL + 4K is."""
    measured = polynomial(lambda *size: mclstm_step(*size, "static").total)
    leading = {"KKM": 1, "KML": 1}
    assert measured == {**leading, "KK": 2, "KM": 1, "KL": 1, "K": 4}
    assert polynomial(paper_static) == leading
    assert paper_static(8, 0, 5) == 0
    assert mclstm_step(8, 0, 5, "static").total == 2 * 64 + 8 * 5 + 4 * 8


def test_outer_product_is_quadratic():
    """Two vectors instead of a matrix a step: no K³ term, 2K(K + L) for them and 2K² for the logits."""
    measured = polynomial(lambda *size: mclstm_step(*size, "outer").total)
    assert measured == {"KKM": 1, "KML": 1, "KK": 6, "KM": 1, "KL": 3, "K": 4}


def test_lstm_has_four_gates():
    """The order hides a factor of four: 4K² + 4K(M + L), and 3K for the gates' products."""
    measured = polynomial(lambda *size: lstm_step(*size).total)
    assert measured == {"KK": 4, "KM": 4, "KL": 4, "K": 3}


@pytest.mark.parametrize("form", ["dynamic", "static"])
def test_matrix_products_agree_with_torchs_counter(form):
    counted = mclstm_step(8, 2, 5, form).products
    layer = MCLSTM(2, 5, 8, redistribution=form, backend="reference")
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        layer(torch.rand(1, 2, 2), torch.randn(1, 2, 5), torch.rand(2, 8))
    assert counter.get_total_flops() == 2 * 2 * counted  # two samples; a multiply-add is two operations


def test_hydrology_size():
    """The paper's runtime table (K=64, M=1, L=30): 16 times the multiply-adds, 4.6 times the time."""
    ratio = mclstm_step(64, 1, 30, "dynamic").total / lstm_step(64, 1, 30).total
    assert ratio == pytest.approx(16.4, abs=0.1)
