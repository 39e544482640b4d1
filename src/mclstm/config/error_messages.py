"""The mistakes in a config as one message of at most five lines: file, line, key, what is needed."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from mclstm.config.data import DataConfig, PeriodsConfig
from mclstm.config.field_types import DEVICE, NAME, READER, READER_NAMES, SEARCHED, WORDS
from mclstm.config.model import HybridConfig, LSTMConfig, MCLSTMConfig
from mclstm.config.rhythm import SequencesConfig
from mclstm.config.safe_yaml import Place
from mclstm.config.synonyms import SYNONYMS
from mclstm.config.training import EvaluationConfig, TrainingConfig
from mclstm.config.tuning import TuneConfig

__all__ = ["explain", "nearest"]

MOST_LINES = 5
Classes = dict[str, type[BaseModel] | None]  # by section; "" is the whole
MODELS: dict[str, type[BaseModel]] = {"mclstm": MCLSTMConfig, "hybrid": HybridConfig, "lstm": LSTMConfig}
SECTIONS: dict[str, type[BaseModel]] = {
    "data": DataConfig, "periods": PeriodsConfig, "training": TrainingConfig, "evaluation": EvaluationConfig,
    "sequences": SequencesConfig, "tune": TuneConfig,
}  # fmt: skip
PATTERNS = {
    DEVICE: "cpu, cuda, cuda:0 or another number, or auto",
    NAME: "a name of letters, digits, '.', '_' and '-' that begins with a letter or digit",
    READER: f"one of {', '.join(READER_NAMES)}, camels_us/<product>, traffic4cast/<order>",
    SEARCHED: "keys of the model or the training, such as model.hidden_size",
    WORDS: "words of letters, digits, '_', '.' and '-'",
}
NEEDS = {
    "bool_type": "true or false",
    "dict_type": "a mapping, key: value",
    "finite_number": "a finite number",
    "float_type": "a number",
    "greater_than": "a number greater than {gt}",
    "greater_than_equal": "a number of at least {ge}",
    "int_type": "a whole number",
    "less_than": "a number less than {lt}",
    "less_than_equal": "a number of at most {le}",
    "list_type": "a list, [a, b]",
    "literal_error": "{expected}",
    "model_attributes_type": "a mapping, key: value",
    "model_type": "a mapping, key: value",
    "string_too_long": "at most {max_length} characters",
    "string_too_short": "at least {min_length} characters",
    "string_type": "text, in quotes if it looks like a number or date",
    "too_long": "at most {max_length} entries",
    "too_short": "at least {min_length} entries",
    "union_tag_invalid": "{expected_tags}",
}


def explain(kind: type[BaseModel], error: ValidationError, raw: Any, origins: dict[Place, str]) -> str:
    """Turn pydantic's errors into lines such as `x.yaml, line 3, model.stay: needs a number; got 'a'.`

    kind: the class that was checked · raw: its values · origins: where each place was written, () the file
    """
    name = str(raw["model"].get("name")) if isinstance(raw.get("model"), dict) else ""
    classes = {"": kind, "model": MODELS.get(name), **SECTIONS}
    mistakes: dict[Place, list[Any]] = {}
    for item in error.errors(include_url=False):
        mistakes.setdefault(place_of(item, raw), []).append(item)
    # A misspelt key that is required is also missing: say it once, and first.
    unknown = {place: items for place, items in mistakes.items() if items[0]["type"] == "extra_forbidden"}
    meant = {(*place[:-1], known_key(place, classes)) for place in unknown}
    rest = {place: items for place, items in mistakes.items() if place not in unknown and place not in meant}
    ordered = (unknown | rest).items()
    lines = [f"{locate(place, origins)}: {sentence(place, items, classes)}" for place, items in ordered]
    if len(lines) > MOST_LINES:
        more = len(lines) - MOST_LINES + 1
        lines = [*lines[: MOST_LINES - 1], f"{more} more mistakes follow; correct these first."]
    return "\n".join(lines)


def place_of(item: Any, raw: Any) -> Place:
    """pydantic's location without the names of union branches, which no user wrote."""
    place: list[str | int] = []
    for part in item["loc"]:
        keys = range(len(raw)) if isinstance(raw, list) else raw if isinstance(raw, dict) else ()
        if part in keys:
            place.append(part)
            raw = raw[part]
    if item["type"] == "missing":
        place.append(item["loc"][-1])
    if item["type"].startswith("union_tag"):
        place.append("name")
    return tuple(place)


def locate(place: Place, origins: dict[Place, str]) -> str:
    known = place
    while known not in origins:
        known = known[:-1]
    words = [part if re.fullmatch(r"[\w -]{1,60}", part) else repr(part[:60]) for part in map(str, place)]
    dotted = re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", ".".join(words))
    return f"{origins[known]}, {dotted}" if dotted else origins[known]


def sentence(place: Place, items: list[Any], classes: Classes) -> str:
    first = items[0]
    match first["type"]:
        case "extra_forbidden":
            return f"there is no such key. {suggestion(place, classes)}"
        case "missing" | "union_tag_not_found":
            return f"this key is missing. Add it: {purpose(place, classes)}"
        case "value_error":
            return str(first["ctx"]["error"])
    needs = " or ".join(dict.fromkeys(need(item) for item in items))
    return f"needs {needs}; got {value(first)}.{correction(items)}"


def need(item: Any) -> str:
    if item["type"] == "string_pattern_mismatch":
        return PATTERNS[item["ctx"]["pattern"]]
    template = NEEDS.get(item["type"])
    bounds = {k: f"{v:g}" if isinstance(v, float) else v for k, v in item.get("ctx", {}).items()}
    return template.format(**bounds) if template else str(item["msg"])


def value(item: Any) -> str:
    written = item["ctx"]["tag"] if item["type"] == "union_tag_invalid" else item["input"]
    if written is None or isinstance(written, bool):
        return {None: "nothing", True: "true", False: "false"}[written]
    text = repr(written)
    return text if len(text) <= 60 else f"{text[:60]}..."


def correction(items: list[Any]) -> str:
    """The nearest of the words allowed here."""
    allowed = [word for item in items for word in re.findall(r"'([^']+)'", need(item))]
    close = get_close_matches(value(items[0]).strip("'").lower(), allowed, n=1, cutoff=0.5)
    return f" Did you mean {close[0]!r}?" if close else ""


def class_of(place: Place, classes: Classes) -> type[BaseModel] | None:
    """The class whose keys are allowed in the section of a key."""
    return classes.get(str(place[0]) if len(place) > 1 else "")


def purpose(place: Place, classes: Classes) -> str:
    section = class_of(place, classes)
    if section is None:
        return f"one of {', '.join(MODELS)}."
    return str(section.model_fields[str(place[-1])].description)


def suggestion(place: Place, classes: Classes) -> str:
    home, close, section = home_of(place, classes), known_key(place, classes), class_of(place, classes)
    if home:
        renamed = "" if ours(place) == place[-1] else f", as {ours(place)!r}"
        return f"It belongs under {home!r}{renamed}."
    having = [name for name, each in MODELS.items() if ours(place) in each.model_fields]
    if section in MODELS.values() and having and MODELS[having[0]] is not section:
        return f"It is a key of {' and '.join(having)}."
    if close:
        return f"Did you mean {close!r}?"
    return f"Known here: {', '.join(section.model_fields if section else ())}."


def home_of(place: Place, classes: Classes) -> str | None:
    """The other section that has this key, or what another tool calls so; None if its own has it."""
    section = class_of(place, classes)
    # The options of a model alone have no other sections, and a model's section has no second one.
    others = {} if classes[""] in MODELS.values() else dict(SECTIONS)
    others |= {} if section in MODELS.values() else {"model": MCLSTMConfig}
    if section is not None and ours(place) in section.model_fields:
        return None
    fitting = (name for name in others if ours(place) in others[name].model_fields)
    return next((name for name in fitting if others[name] is not section), None)


def ours(place: Place) -> str:
    """The last key of a place, under our name where it is another tool's."""
    key = str(place[-1])
    return SYNONYMS.get(key.lower().replace("-", "_"), key)


def known_key(place: Place, classes: Classes) -> str | None:
    section = class_of(place, classes)
    if section is None or home_of(place, classes):
        return None
    return nearest(str(place[-1]), list(section.model_fields))


def nearest(key: str, known: Sequence[str]) -> str | None:
    """The known key that a misspelt key stands for, or None.

    >>> nearest("hiden_size", ["hidden_size", "head"])
    'hidden_size'
    >>> nearest("lr", ["learning_rate", "clip"])
    'learning_rate'
    """
    plain = key.lower().replace("-", "_").replace(" ", "_")
    if SYNONYMS.get(plain) in known:
        return SYNONYMS[plain]
    close = get_close_matches(plain, known, n=1, cutoff=0.6)
    return close[0] if close else None
