"""The switches: each is on under one protocol only, says what it does, is used, and is on a page."""

import importlib
import re
from pathlib import Path

import pytest

import mclstm_paper
from mclstm_paper.protocols import Switch
from mclstm_paper.registry import every_experiment

SOURCE = Path(mclstm_paper.__file__).parent
FILES = [path for path in SOURCE.rglob("*.py") if path.name != "switches.py"]


def constants() -> dict[tuple[str, str], Switch]:
    """Every switch of the code, by its module and the name of its constant."""
    switches = {}
    for path in sorted(SOURCE.glob("*/switches.py")):
        name = f"mclstm_paper.{path.parent.name}.switches"
        defined = re.findall(r"^([A-Z0-9_]+) = Switch\(", path.read_text(), flags=re.MULTILINE)
        switches |= {
            (name, constant): getattr(importlib.import_module(name), constant) for constant in defined
        }
    return switches


SWITCHES = constants()


@pytest.mark.parametrize("switch", SWITCHES.values(), ids=lambda switch: switch.name)
def test_every_switch_is_a_difference_with_a_sentence(switch: Switch) -> None:
    """On is what the published code did, off what the text says: the pages have one column for all."""
    assert not switch.on("stated")
    assert switch.on("published")
    assert switch.effect.endswith(".")


@pytest.mark.parametrize(("module", "constant"), SWITCHES)
def test_every_switch_is_used_somewhere(module: str, constant: str) -> None:
    imported = re.compile(rf"from {module} import [^)]*?\b{constant}\b")
    texts = [path.read_text() for path in FILES]
    asked = (f"{constant}.on(", f"is_on({constant},")
    assert any(word in text for word in asked for text in texts if imported.search(text))


def test_every_switch_belongs_to_an_experiment_and_has_a_name_of_its_own() -> None:
    of_experiments = {switch for task in every_experiment() for switch in task.switches}
    assert of_experiments == set(SWITCHES.values())
    assert len({switch.name for switch in SWITCHES.values()}) == len(SWITCHES)


def test_other_protocols_are_refused() -> None:
    with pytest.raises(ValueError, match="choose one of stated, published"):
        Switch("name", "Effect.").on("pubished")  # type: ignore[arg-type]
