"""What pydantic found wrong, in one message of at most five lines: file, line, key, what is needed."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from mclstm.config.data import DataConfig, PeriodsConfig
from mclstm.config.model import LSTMConfig, MCLSTMConfig
from mclstm.config.run import Config
from mclstm.config.source import Place
from mclstm.config.training import EvaluationConfig, TrainingConfig
from mclstm.config.values import NAME, READER

__all__ = ["explain", "nearest"]

MOST_LINES = 5
MODELS: dict[str, type[BaseModel]] = {"mclstm": MCLSTMConfig, "lstm": LSTMConfig}
SECTIONS: dict[str, type[BaseModel]] = {
    "data": DataConfig,
    "periods": PeriodsConfig,
    "training": TrainingConfig,
    "evaluation": EvaluationConfig,
}
PATTERNS = {
    NAME: "a name of letters, digits, '.', '_' and '-' that begins with a letter or digit",
    READER: "one of auto, csv, netcdf, parquet, generic_nh, caravan, camels_us, camels_us/<product>",
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


def explain(error: ValidationError, raw: Any, origins: dict[Place, str]) -> str:
    """Turn the findings of pydantic into lines such as `x.yaml, line 3, model.stay: needs a number; got 'a'.`

    raw is the mapping that was checked; `origins` says where each of its places was written, () the file.
    """
    found: dict[Place, list[Any]] = {}
    for item in error.errors(include_url=False):
        found.setdefault(place_of(item, raw), []).append(item)
    # A misspelt key that is required is also missing: say it once, and first.
    unknown = {place: items for place, items in found.items() if items[0]["type"] == "extra_forbidden"}
    meant = {(*place[:-1], known_key(place, raw)) for place in unknown}
    rest = {place: items for place, items in found.items() if place not in unknown and place not in meant}
    messages = [
        f"{locate(place, origins)}: {sentence(place, items, raw)}"
        for place, items in (unknown | rest).items()
    ]
    if len(messages) > MOST_LINES:
        more = len(messages) - MOST_LINES + 1
        messages = [*messages[: MOST_LINES - 1], f"{more} more mistakes follow; correct these first."]
    return "\n".join(messages)


def place_of(item: Any, raw: Any) -> Place:
    """pydantic's location without the names of union branches, which no user wrote."""
    place: list[str | int] = []
    for part in item["loc"]:
        inside = (isinstance(raw, dict) and part in raw) or (
            isinstance(raw, list) and isinstance(part, int) and part < len(raw)
        )
        if inside:
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
    dotted = re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", ".".join(shown(part) for part in place))
    return f"{origins[known]}, {dotted}" if dotted else origins[known]


def shown(part: str | int) -> str:
    text = str(part)
    return text if re.fullmatch(r"[\w -]{1,60}", text) else repr(text[:60])


def sentence(place: Place, items: list[Any], raw: Any) -> str:
    first = items[0]
    match first["type"]:
        case "extra_forbidden":
            return f"there is no such key. {suggestion(place, raw)}"
        case "missing" | "union_tag_not_found":
            return f"this key is missing. Add it: {purpose(place, raw)}"
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
    given = item["ctx"]["tag"] if item["type"] == "union_tag_invalid" else item["input"]
    if given is None or isinstance(given, bool):
        return {None: "nothing", True: "true", False: "false"}[given]
    text = repr(given)
    return text if len(text) <= 60 else f"{text[:60]}..."


def correction(items: list[Any]) -> str:
    """The nearest of the words allowed here."""
    allowed = [word for item in items for word in re.findall(r"'([^']+)'", need(item))]
    given = value(items[0]).strip("'")
    close = get_close_matches(given.lower(), allowed, n=1, cutoff=0.5)
    return f" Did you mean {close[0]!r}?" if close else ""


def keys_of(place: Place, raw: Any) -> type[BaseModel] | None:
    """The class whose keys are allowed in the section of a key."""
    if len(place) == 1:
        return Config
    if place[0] == "model":
        return MODELS.get(str(raw["model"].get("name")))
    return SECTIONS.get(str(place[0]))


def purpose(place: Place, raw: Any) -> str:
    section = keys_of(place, raw)
    if section is None:
        return f"one of {', '.join(MODELS)}."
    return str(section.model_fields[str(place[-1])].description)


def suggestion(place: Place, raw: Any) -> str:
    home = home_of(place, raw)
    if home:
        return f"It belongs under {home!r}."
    close = known_key(place, raw)
    if close:
        return f"Did you mean {close!r}?"
    section = keys_of(place, raw)
    return f"Known here: {', '.join(section.model_fields if section else ())}."


def home_of(place: Place, raw: Any) -> str | None:
    """The other section that has exactly this key."""
    for name, other in (*SECTIONS.items(), ("model", MODELS["mclstm"])):
        if place[-1] in other.model_fields and other is not keys_of(place, raw):
            return name
    return None


def known_key(place: Place, raw: Any) -> str | None:
    section = keys_of(place, raw)
    if section is None or home_of(place, raw):
        return None
    return nearest(str(place[-1]), list(section.model_fields))


def nearest(key: str, known: Sequence[str]) -> str | None:
    """The known key a misspelt one stands for, or None.

    >>> nearest("hiden_size", ["hidden_size", "head"])
    'hidden_size'
    """
    plain = key.lower().replace("-", "_").replace(" ", "_")
    close = get_close_matches(plain, known, n=1, cutoff=0.6)
    return close[0] if close else None
