"""Basins by name: thirty for quick looks and variants, five of them for the ablation."""

from pathlib import Path

from mclstm.errors import DataError

__all__ = ["FIVE", "THIRTY", "read_basins"]

# From all 18 hydrological units of the USA; the share of snow is 0 to 73 %.
THIRTY = (
    "01022500", "01031500", "01333000", "02361000", "02465493", "03010655", "03439000", "03500000",
    "04015330", "04043050", "05057200", "05291000", "06221400", "06278300", "07057500", "07291000",
    "08023080", "08267500", "08377900", "09035900", "09312600", "09386900", "09494000", "10234500",
    "11141280", "11476600", "12010000", "12189500", "12375900", "12451000",
)  # fmt: skip

# Drawn at random: random.Random(0).sample(THIRTY, 5). Sauk River (Washington), Dinwoody Creek (Wyoming),
# Lopez Creek (California), South Crow Creek (Montana), Shell Creek (Wyoming).
FIVE = ("12189500", "06221400", "11141280", "12375900", "06278300")


def read_basins(path: Path) -> tuple[str, ...]:
    """The names in a file, one per line, with leading zeros.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "basins.txt").write_text("01022500\\n\\n01031500\\n") and None
    ...     read_basins(Path(folder, "basins.txt"))
    ('01022500', '01031500')
    """
    try:
        names = tuple(line.strip() for line in path.read_text().splitlines() if line.strip())
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"Cannot read {path}: {error}. Give a text file with one basin per line.") from error
    if not names:
        raise DataError(f"{path} names no basin. Write one per line, such as 01022500.")
    return names
