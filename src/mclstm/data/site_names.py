"""Names of sites, and safe file names from them: a name in a file never becomes a path unchecked."""

import hashlib
import re
from collections.abc import Iterable

from mclstm.errors import DataError

__all__ = ["require_site", "site_files", "slug"]

LONGEST = 200  # characters in a site's name


def slug(name: str) -> str:
    """A readable file name that stays in its folder and differs for different names.

    >>> slug("01013500"), slug("Fulda/Grebenau"), slug("../x")
    ('01013500', 'Fulda_Grebenau-a405e42c', 'x-d6b96a97')
    """
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("._-")[:80]
    if plain and plain == name:
        return plain
    # Two names may differ in replaced characters only; the digest keeps them apart.
    return f"{plain or 'site'}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def site_files(sites: Iterable[str]) -> dict[str, str]:
    """One safe file name per site, also on file systems that ignore case."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for number, site in enumerate(sites):
        name = slug(site)
        if name.lower() in taken:
            name = f"{name}-{number}"
        taken.add(name.lower())
        names[site] = name
    return names


def require_site(name: str, file: str) -> str:
    """The name of a site in a file. Refused when it can only be a mistake or an attack."""
    if not name.strip():
        raise DataError(f"{file}: a site has an empty name. Give every row and file a site.")
    if len(name) > LONGEST:
        raise DataError(f"{file}: site {name[:30]!r}... has {len(name)} characters. Use at most {LONGEST}.")
    if name.strip(".") == "" or re.search(r"[/\\\x00-\x1f\x7f]", name):
        raise DataError(
            f"{file}: the site name {name[:60]!r} contains a path or a control character. "
            "Rename the site with letters, digits, '.', '_' or '-'."
        )
    return name.strip()
