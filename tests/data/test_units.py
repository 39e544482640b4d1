"""Conversions against numbers computed by hand; what cannot be converted is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mclstm.data.units import convert, factor, known, parse
from mclstm.errors import DataError

EPS = np.finfo(float).eps

# (from, to, area in km2, factor by hand)
BY_HAND = [
    ("m3/s", "mm/day", 2977.0, 86.4 / 2977),
    ("mm/day", "m3/s", 2977.0, 2977 / 86.4),
    ("ft3/s", "mm/day", 1775.972366, 28316846.592 * 86400 / (1775972366 * 1e6)),
    ("cfs", "mm d-1", 100.0, 28316846.592 * 86400 / 1e14),
    ("L/s", "m3/day", None, 86.4),
    ("kg m-2 s-1", "mm/day", None, 86400.0),
    ("kg/m2/s", "mm/day", None, 86400.0),
    ("mm/h", "mm/day", None, 24.0),
    ("mm/hr", "mm day-1", None, 24.0),
    ("m/day", "mm/day", None, 1000.0),
    ("mm/s", "mm/h", None, 3600.0),
    ("veh/5min", "veh/h", None, 12.0),
    ("m³/s", "m3 s-1", None, 1.0),
    ("m^3/s", "m3/h", None, 3600.0),
    ("in/day", "mm/day", None, 25.4),
    ("items", "items", None, 1.0),
    ("flights/day", "flights/day", None, 1.0),
]

IMPOSSIBLE = [
    ("mm/day", "degC", "rate"),
    ("mm", "mm/day", "mm/day"),
    ("m3/s", "mm/day", "area"),
    ("veh/h", "mm/h", "different things"),
    ("K", "mm", "different things"),
    ("items", "m3", "different things"),
]


@pytest.mark.parametrize(("source", "target", "area", "expected"), BY_HAND)
def test_factor(source: str, target: str, area: float | None, expected: float) -> None:
    assert factor(source, target, area_km2=area) == pytest.approx(expected, rel=8 * EPS)


@pytest.mark.parametrize(("source", "target", "word"), IMPOSSIBLE)
def test_impossible(source: str, target: str, word: str) -> None:
    with pytest.raises(DataError, match=word) as caught:
        factor(source, target)
    assert source in str(caught.value)
    assert target in str(caught.value)


def test_temperatures_are_shifted_but_never_as_mass() -> None:
    assert convert(0.0, "degC", "K", role="aux") == 273.15
    assert convert(np.array([300.0]), "K", "°C", role="aux")[0] == pytest.approx(26.85, rel=1e-13)
    with pytest.raises(DataError, match="never shifted"):
        convert(1.0, "degC", "K", role="mass")


def test_an_area_for_each_site() -> None:
    areas = np.array([[1.0], [2.0]])
    depths = convert(np.ones((2, 3)), "m3/s", "mm/day", area_km2=areas)
    np.testing.assert_allclose(depths, [[86.4] * 3, [43.2] * 3], rtol=4 * EPS)


@settings(deadline=None)
@given(
    st.sampled_from(["m3/s", "ft3/s", "mm/h", "m/day", "kg m-2 s-1", "l/min"]),
    st.sampled_from(["m3/day", "mm/day", "cm/h"]),
    st.floats(0.01, 1e6),
)
def test_there_and_back(source: str, target: str, area: float) -> None:
    product = factor(source, target, area_km2=area) * factor(target, source, area_km2=area)
    assert product == pytest.approx(1.0, rel=16 * EPS)


def test_known_units() -> None:
    assert known("m3/s")
    assert not known("parsec/week")
    assert parse("mm/0s").seconds == 0
