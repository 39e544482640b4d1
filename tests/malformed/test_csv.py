"""Malformed CSV files and folders of them."""

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from mclstm.cli.main import main

Refused = Callable[[list[str], str], None]

ROLES = ["--mass", "rain", "--aux", "temp", "--target", "flow"]
HEAD = "date,rain,temp,flow\n"
ROWS = [f"2001-01-{day:02d},{day % 3}.5,{day}.25,{day * 2}\n" for day in range(1, 29)]
GOOD = HEAD + "".join(ROWS)


def swap(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new, 1)


LONG = "site,date,rain\n" + "".join(
    f"{site},2001-01-{day:02d},1.{day}\n" for site in "AB" for day in range(1, 6)
)

# name: (content of the file, arguments, what the message must name)
CONTENT: dict[str, tuple[str | bytes, list[str], str]] = {
    "empty": ("", ROLES, "empty"),
    "blank lines": ("\n\n  \n", ROLES, "empty"),
    "header only": (HEAD, ROLES, "no rows"),
    "header without newline": (HEAD.strip(), ROLES, "no rows"),
    "no header": ("".join(ROWS), ROLES, "the first line holds values"),
    "one column": ("date\n2001-01-01\n", ROLES, "'rain'"),
    "wrong delimiter": (GOOD.replace(",", " "), ROLES, "no column named date"),
    "NUL byte": (GOOD.encode().replace(b"5.25", b"5\x0025", 1), ROLES, "NUL"),
    "NUL bytes at the end": (GOOD.encode() + b"\0" * 64, ROLES, "line 30"),
    "UTF-16": (GOOD.encode("utf-16"), ROLES, "UTF-16"),
    "UTF-16 big-endian": (b"\xfe\xff" + GOOD.encode("utf-16-be"), ROLES, "UTF-16"),
    "UTF-32": (GOOD.encode("utf-32-be"), ROLES, "NUL"),
    "Latin-1": (GOOD.replace("temp", "temp °C", 1).encode("latin-1"), ROLES, "line 1 is not UTF-8"),
    "binary": (bytes(range(1, 256)) * 20, ROLES, "not UTF-8"),
    "a gzip file": (b"\x1f\x8b\x08\x00" + bytes(range(256)), ROLES, "line 1"),
    "a zip file": (b"PK\x03\x04" + bytes(range(256)), ROLES, "NUL"),
    "ragged: short row": (swap("2001-01-07,1.5,7.25,14", "2001-01-07,1.5,7.25"), ROLES, "line 8 has 3"),
    "ragged: long row": (swap("2001-01-07,1.5,7.25,14", "2001-01-07,1.5,7.25,14,9"), ROLES, "line 8 has 5"),
    "ragged: every row longer": (HEAD + "".join(row.strip() + ",1\n" for row in ROWS), ROLES, "line 2 has 5"),
    "ragged: cut in a row": (GOOD[: GOOD.index("2001-01-20,") + 14], ROLES, "line 21"),
    "decimal commas": (GOOD.replace(".5", ",5"), ROLES, "line 2 has 5 fields"),
    "decimal commas, semicolons": (
        GOOD.replace(",", ";").replace(".", ","), ROLES, "--decimal"),
    "duplicate columns": (GOOD.replace("temp", "rain", 1), ROLES, "'rain' more than once"),
    "control character in a column": (GOOD.replace("temp", "te\x1b[2Jmp", 1), ROLES, "control characters"),
    "unnamed column": (GOOD.replace("temp", "", 1), ROLES, "column 3 has no name"),
    "two date columns": (GOOD.replace("temp", "time", 1), ["--mass", "rain"], "'date', 'time'"),
    "two site columns": ("date,site,station,rain\n2001-01-01,A,B,1\n", ["--mass", "rain"], "'station'"),
    "no date column": (GOOD.replace("date", "when", 1), ROLES, "--time"),
    "declared date column absent": (GOOD, [*ROLES, "--time", "day"], "no column 'day'"),
    "declared site column absent": (GOOD, [*ROLES, "--site", "gauge"], "no column 'gauge'"),
    "mass absent": (GOOD.replace("rain", "rian", 1), ROLES, "Did you mean 'rian'"),
    "aux absent": (GOOD, ["--mass", "rain", "--aux", "wind"], "no column 'wind'"),
    "target absent": (GOOD.replace("flow", "q", 1), ROLES, "no column 'flow'"),
    "static absent": (GOOD, [*ROLES, "--static", "area"], "area"),
    "static changes": (GOOD, ["--mass", "rain", "--static", "temp"], "changes with time"),
    "impossible date": (swap("2001-01-09", "2001-02-30"), ROLES, "'2001-02-30'"),
    "month 13": (swap("2001-01-09", "2001-13-01"), ROLES, "2001-13-01"),
    "text for a date": (swap("2001-01-09", "yesterday"), ROLES, "yesterday"),
    "empty date": (swap("2001-01-09", ""), ROLES, "data row 9"),
    "German dates": (GOOD.replace("2001-01-", "01.2001."), ROLES, "--date-format"),
    "wrong date format": (GOOD, [*ROLES, "--date-format", "%d.%m.%Y"], "%d.%m.%Y"),
    "senseless date format": (GOOD, [*ROLES, "--date-format", "%Q%Q"], "dates"),
    "year 9999": (swap("2001-01-28", "9999-01-28"), ROLES, "9999-01-28"),
    "year 1": (swap("2001-01-01", "0001-01-01"), ROLES, "0001-01-01"),
    "mixed time zones": (swap("2001-01-02,", "2001-01-02T00:00+01:00,"), ROLES, "date"),
    "text in a number": (swap("5.25", "five"), ROLES, "'five'"),
    "text in mass": (swap("2001-01-05,2.5", "2001-01-05,n.a."), ROLES, "2001-01-05"),
    "booleans in mass": ("date,rain\n2001-01-01,True\n2001-01-02,False\n", ["--mass", "rain"], "'True'"),
    "number with unit": (swap("5.25", "5.25mm"), ROLES, "5.25mm"),
    "thousands separators": (swap("5.25", '"1,005.25"'), ROLES, "1,005.25"),
    "1e400": (swap("5.25", "1e400"), ROLES, "infinite"),
    "inf": (swap("5.25", "inf"), ROLES, "infinite"),
    "minus inf in mass": (swap("2001-01-05,2.5", "2001-01-05,-inf"), ROLES, "infinite"),
    "missing mass": (swap("2001-01-05,2.5", "2001-01-05,"), ROLES, "--missing-mass"),
    "missing aux": (swap("5.25", ""), ROLES, "--missing-aux"),
    "NaN in mass": (swap("2001-01-05,2.5", "2001-01-05,NaN"), ROLES, "2001-01-05"),
    "all mass missing": ("date,rain\n2001-01-01,\n2001-01-02,\n2001-01-03,\n", ["--mass", "rain"], "3 of 3"),
    "sentinel -999": (swap("2001-01-05,2.5", "2001-01-05,-999"), ROLES, "--missing -999"),
    "sentinel -9999 in target": (swap("5.25,10", "5.25,-9999"), ROLES, "-9999"),
    "sentinel in aux": (swap("5.25", "-999.9"), ROLES, "-999.9"),
    "negative mass": (swap("2001-01-05,2.5", "2001-01-05,-0.1"), ROLES, "negative"),
    "duplicate dates": (GOOD + ROWS[-1], ROLES, "more than once"),
    "sites without their column": (LONG.replace("site", "name", 1), ["--mass", "rain"], "--site"),
    "gap": (GOOD.replace(ROWS[10], ""), ROLES, "2001-01-11"),
    "irregular steps": (
        "date,rain\n2001-01-01,1\n2001-01-02,1\n2001-01-04,2\n2001-01-04T07,1\n", ["--mass", "rain"], "step"),
    "sites with different steps": (
        "site,date,rain\nA,2001-01-01,1\nA,2001-01-02,2\nA,2001-01-03,1\n"
        "B,2001-01-01T00:00,1\nB,2001-01-01T01:00,2\nB,2001-01-01T02:00,1\n", ["--mass", "rain"], "step"),
    "site is a parent path": (LONG.replace("B,", "../x,"), ["--mass", "rain"], "../x"),
    "site is an absolute path": (LONG.replace("B,", "/etc/passwd,"), ["--mass", "rain"], "/etc/passwd"),
    "site with a backslash": (LONG.replace("B,", "a\\b,"), ["--mass", "rain"], "path"),
    "site is dots": (LONG.replace("B,", "..,"), ["--mass", "rain"], "'..'"),
    "site with a control character": (LONG.replace("B,", "a\x1bb,"), ["--mass", "rain"], "control"),
    "site empty": (LONG.replace("B,", ","), ["--mass", "rain"], "empty name"),
    "site endless": (LONG.replace("B,", "x" * 5000 + ","), ["--mass", "rain"], "5000 characters"),
    "wide: a site without a column": (
        "date,rain.A,rain.B,temp.A\n2001-01-01,1,2,3\n", ["--mass", "rain", "--aux", "temp"], "site B"),
    "wide: site is a path": ("date,rain.../../x\n2001-01-01,1\n", ["--mass", "rain"], "path"),
    "wide: separator not there": (GOOD, ["--separator", "|"], "--separator"),
    "unclosed quote": (swap("5.25", '"5.25'), ROLES, "line"),
    "quote after quote": ('date,rain\n2001-01-01,"1"2"\n2001-01-02,1\n', ["--mass", "rain"], "1"),
    "a field of a megabyte": (swap("5.25", "9" * 1_000_000), ROLES, "line 6"),
    "a web page": ("<!DOCTYPE html>\n<html><body>404, not found</body></html>\n", ROLES, "line 2"),
    "temperature as mass": (GOOD, [*ROLES, "--unit", "rain=degC"], "degC"),
    "colder than 0 K": (swap("5.25", "-300"), [*ROLES, "--unit", "temp=degC"], "-300"),
    "unit without name": (GOOD, [*ROLES, "--unit", "mm/day"], "name=unit"),
    "unit of a column not there": (GOOD, [*ROLES, "--unit", "snow=mm"], "'snow'"),
    "two roles": (GOOD, ["--mass", "rain", "--aux", "rain"], "more than once"),
    "unknown policy": (GOOD, [*ROLES, "--missing-mass", "mean"], "zero"),
    "unknown reader": (GOOD, [*ROLES, "--reader", "excel"], "'excel'"),
    "unknown option": (GOOD, ["--mas", "rain"], "--mas"),
    "missing is no number": (GOOD, [*ROLES, "--missing", "none"], "--missing"),
}  # fmt: skip


def loop(folder: Path) -> list[str]:
    os.symlink(folder / "b.csv", folder / "a.csv")
    os.symlink(folder / "a.csv", folder / "b.csv")
    return [str(folder / "a.csv")]


def folder_of_nothing(folder: Path) -> list[str]:
    (folder / "readme.md").write_text("nothing")
    return [str(folder)]


def folder_with_a_folder(folder: Path) -> list[str]:
    (folder / "A.csv").write_text(GOOD)
    (folder / "B.csv").mkdir()
    return [str(folder), *ROLES]


def folder_with_a_loop(folder: Path) -> list[str]:
    (folder / "A.csv").write_text(GOOD)
    os.symlink(folder / "B.csv", folder / "B.csv")
    return [str(folder), *ROLES]


def folder_with_a_bad_file(folder: Path) -> list[str]:
    (folder / "A.csv").write_text(GOOD)
    (folder / "B.csv").write_bytes(b"\xff\xff")
    return [str(folder), *ROLES]


def twice_the_same_site(folder: Path) -> list[str]:
    for name in "AB":
        (folder / f"{name}.csv").write_text(LONG)
    return [str(folder), "--mass", "rain"]


def twice_with_attributes(folder: Path) -> list[str]:
    for name in "AB":
        (folder / f"{name}.csv").write_text("site,date,rain,area\nA,2001-01-01,1,7\nA,2001-01-02,2,7\n")
    return [str(folder), "--mass", "rain", "--static", "area"]


def attributes(folder: Path, text: str) -> list[str]:
    (folder / "data.csv").write_text(LONG)
    (folder / "sites.txt").write_text(text)
    return [
        str(folder / "data.csv"),
        "--mass",
        "rain",
        "--static",
        "area",
        "--attributes",
        str(folder / "sites.txt"),
    ]


PLACES = {
    "does not exist": (lambda folder: [str(folder / "none.csv")], "none.csv"),
    "name with a NUL": (lambda folder: [str(folder / "a\0b.csv")], "null byte"),
    "a link to itself": (loop, "a.csv"),
    "a device": (lambda folder: ["/dev/null", "--reader", "csv"], "/dev/null"),
    "unknown ending": (lambda folder: [_written(folder / "data.xyz", GOOD)], "--reader"),
    "a folder without data": (folder_of_nothing, "no layout of CAMELS-US"),
    "a folder in place of a file": (folder_with_a_folder, "B.csv"),
    "a folder with a loop": (folder_with_a_loop, "B.csv"),
    "a folder with one bad file": (folder_with_a_bad_file, "B.csv"),
    "a site in two files": (twice_the_same_site, "site A"),
    "a site in two files, with attributes": (twice_with_attributes, "site A"),
    "attributes: file absent": (
        lambda folder: [_written(folder / "d.csv", LONG), "--attributes", "no.csv"],
        "no.csv",
    ),
    "attributes: a site absent": (lambda folder: attributes(folder, "site,area\nA,1\n"), "site B"),
    "attributes: text": (lambda folder: attributes(folder, "site,area\nA,1\nB,big\n"), "'big'"),
    "attributes: sentinel": (lambda folder: attributes(folder, "site,area\nA,1\nB,-9999\n"), "-9999"),
    "attributes: infinite": (lambda folder: attributes(folder, "site,area\nA,1\nB,inf\n"), "finite"),
    "attributes: twice": (lambda folder: attributes(folder, "site,area\nA,1\nA,2\nB,3\n"), "'A'"),
    "attributes: column absent": (lambda folder: attributes(folder, "site,size\nA,1\nB,2\n"), "area"),
    "attributes: empty": (lambda folder: attributes(folder, ""), "sites.txt"),
    "attributes: no name": (lambda folder: attributes(folder, "site,area\nA,1\n,2\n"), "no name"),
}


def _written(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("name", CONTENT)
def test_content(name: str, tmp_path: Path, refused: Refused) -> None:
    content, arguments, word = CONTENT[name]
    path = tmp_path / "data.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    refused([str(path), *arguments], word)


@pytest.mark.parametrize("name", PLACES)
def test_place(name: str, tmp_path: Path, refused: Refused) -> None:
    make, word = PLACES[name]
    refused(make(tmp_path), word)


@pytest.mark.parametrize("seed", range(8))
def test_cut_in_the_middle_of_a_row(seed: int, tmp_path: Path, refused: Refused) -> None:
    chooser = random.Random(seed)
    row = chooser.randrange(2, 28)
    # Within the first two fields: a row cut in its last digits cannot be told from a whole one.
    offset = GOOD.index(ROWS[row]) + chooser.randrange(1, 14)
    path = tmp_path / "data.csv"
    path.write_text(GOOD[:offset])
    refused([str(path), *ROLES], f"line {row + 2}")


def test_the_good_file_passes(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text(GOOD)
    assert main(["check", str(path), *ROLES]) == 0
