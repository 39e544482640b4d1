"""The switches: each differs between the protocols and says why."""

import pytest

from mclstm.tasks.protocols import SWITCHES, switched


@pytest.mark.parametrize("name", SWITCHES)
def test_every_switch_is_a_difference_with_a_sentence(name):
    switch = SWITCHES[name]
    assert switched(name, "stated") is switch.stated
    assert switched(name, "published") is switch.published
    assert switch.stated != switch.published
    assert switch.why.endswith(".")


def test_other_protocols_are_refused():
    with pytest.raises(ValueError, match="choose one of stated, published"):
        switched("addition: random summands", "pubished")
