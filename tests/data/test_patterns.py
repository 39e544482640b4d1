"""Columns by pattern: which ones they are, and what is refused."""

import pytest

from mclstm.data.patterns import resolve
from mclstm.data.site_tables import Roles
from mclstm.errors import ConfigError, MissingColumnError

COLUMNS = ["in_b", "out_b", "in_a", "in_hour", "out_a"]


def test_columns_come_in_the_order_of_the_table() -> None:
    roles = resolve(Roles(mass=("in_?",), target=("out_*",)), COLUMNS, "t.csv")
    assert roles == Roles(mass=("in_b", "in_a"), target=("out_b", "out_a"))


def test_a_pattern_never_catches_a_column_with_another_role() -> None:
    roles = resolve(Roles(mass=("in_*",), aux=("in_hour",)), COLUMNS, "t.csv")
    assert roles.mass == ("in_b", "in_a")
    assert resolve(Roles(mass=("in_*",)), COLUMNS, "t.csv", taken=["in_hour"]).mass == ("in_b", "in_a")


def test_a_name_before_a_pattern_keeps_its_place_and_is_not_doubled() -> None:
    assert resolve(Roles(mass=("in_a", "in_*")), COLUMNS, "t.csv").mass == ("in_a", "in_b", "in_hour")


def test_brackets_are_characters() -> None:
    assert resolve(Roles(mass=("rain [*]",)), ["rain [mm]", "rain m"], "t.csv").mass == ("rain [mm]",)


def test_a_pattern_that_matches_nothing_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(MissingColumnError, match=r"matches 'inn_\*'.*'in_a'"):
        resolve(Roles(mass=("inn_*",)), COLUMNS, "t.csv")


def test_two_roles_that_catch_one_column_are_refused() -> None:
    with pytest.raises(ConfigError, match="of mass and of target both match the column 'in_b'"):
        resolve(Roles(mass=("in_*",), target=("*_b",)), COLUMNS, "t.csv")
