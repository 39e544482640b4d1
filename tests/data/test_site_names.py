"""Names from data never lead out of a folder, and different names never share a file."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mclstm.data.site_names import require_site, site_files, slug
from mclstm.errors import DataError


@settings(deadline=None)
@given(st.text(max_size=300))
def test_slug_stays_in_its_folder(name: str) -> None:
    safe = slug(name)
    path = Path("/runs/x") / f"{safe}.csv"
    assert path.parent == Path("/runs/x")
    assert safe
    assert not safe.startswith((".", "-"))
    assert len(safe) <= 100


@settings(deadline=None)
@given(st.sets(st.text(max_size=20), max_size=30))
def test_every_site_its_own_file(sites: set[str]) -> None:
    names = site_files(sites)
    assert len({name.lower() for name in names.values()}) == len(sites)


@pytest.mark.parametrize("name", ["", " ", ".", "..", "../x", "/x", "a/b", "a\\b", "a\0b", "a\nb", "x" * 201])
def test_bad_sites_are_refused(name: str) -> None:
    with pytest.raises(DataError, match=r"f\.csv"):
        require_site(name, "f.csv")


@pytest.mark.parametrize("name", ["01013500", "Fulda (Grebenau)", "São Paulo", "a.b", "camels_01"])
def test_usual_sites_pass(name: str) -> None:
    assert require_site(f" {name} ", "f.csv") == name
