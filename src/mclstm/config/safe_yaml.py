"""From YAML text to plain values with the line of every key; no text is executed, no alias multiplied.

Refused before anything is built: files over 1 MB, more than 10,000 values (aliases counted as often as they
are used) or lines, nesting over 50 levels, keys given twice, tags that name Python objects.
"""

from pathlib import Path
from typing import Any, NamedTuple

import yaml
from yaml.constructor import SafeConstructor

from mclstm.errors import ConfigError

__all__ = ["Document", "Place", "parse_yaml", "read_yaml"]

LARGEST_FILE = 1 << 20
MOST_VALUES = 10_000
DEEPEST = 50
TEXT = "tag:yaml.org,2002:str"
MERGE = "tag:yaml.org,2002:merge"
NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
Place = tuple[str | int, ...]
REMEDIES = {
    "\\t": "Indent with spaces, not with tabs.",
    "could not determine a constructor": "Remove the tag: only text, numbers, lists and mappings are read.",
    "another document": "Keep one document: remove the lines with ---.",
    "undefined alias": "Define it with & before it is used with *, or put the text in quotes.",
    "expected <block end>": "Check the indentation of this line and of the one before.",
}


class Document(NamedTuple):
    """The values of a YAML text and the line, counted from 1, on which each of them begins."""

    values: Any
    lines: dict[Place, int]


def read_yaml(path: Path) -> Document:
    """Read a YAML file, or raise ConfigError with the line and column of what is wrong."""
    try:
        if path.exists() and not path.is_file():
            raise ConfigError(f"{path} is not a file. Give the path of a YAML file.")
        if path.stat().st_size > LARGEST_FILE:
            raise ConfigError(f"{path} is larger than 1 MB. A config is a few kB: check the path.")
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"Cannot read {path}: {error.strerror or error}. Check the path.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text, from byte {error.start}. Save it as UTF-8.") from error
    return parse_yaml(text, str(path))


def parse_yaml(text: str, where: str) -> Document:
    """Parse YAML text; `where` names its origin in messages.

    >>> parse_yaml("model:\\n  hidden_size: 8", "x.yaml")
    Document(values={'model': {'hidden_size': 8}}, lines={('model',): 1, ('model', 'hidden_size'): 2})
    """
    lines: dict[Place, int] = {}
    try:
        survey(text, where)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if node is None:
            return Document(None, {})
        visit(node, (), where, lines, [])
        return Document(SafeConstructor().construct_document(node), lines)
    except yaml.MarkedYAMLError as error:
        raise ConfigError(f"{at(where, error.problem_mark)}: {remedy(str(error.problem))}") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError(f"{where}, line {line}: holds a character that YAML forbids. Remove it.") from error


def survey(text: str, where: str) -> None:
    if text.count("\n") > MOST_VALUES:
        raise ConfigError(f"{where} has more than 10,000 lines. A config is small: check the file.")
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=yaml.SafeLoader)):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if count > MOST_VALUES or depth > DEEPEST:
            what = "nests deeper than 50 levels" if depth > DEEPEST else "holds more than 10,000 values"
            raise ConfigError(f"{at(where, event.start_mark)}: {what}. A config is small: check the file.")


def visit(node: yaml.Node, place: Place, where: str, lines: dict[Place, int], outer: list[yaml.Node]) -> None:
    """Note the line of every value; refuse double keys, loops, and aliases that multiply."""
    if any(node is parent for parent in outer) or len(lines) > MOST_VALUES:
        what = "an alias that holds itself" if len(lines) <= MOST_VALUES else "more than 10,000 values"
        raise ConfigError(f"{at(where, node.start_mark)}: holds {what}. Write the values out.")
    if isinstance(node, yaml.MappingNode):
        check_keys(node, where)
        for key, value in node.value:
            lines[(*place, key.value)] = key.start_mark.line + 1
            visit(value, (*place, key.value), where, lines, [*outer, node])
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            lines[(*place, index)] = value.start_mark.line + 1
            visit(value, (*place, index), where, lines, [*outer, node])
    else:
        check_scalar(node, where)


def check_keys(node: yaml.MappingNode, where: str) -> None:
    seen: set[str] = set()
    for key, _ in node.value:
        line = at(where, key.start_mark)
        if not isinstance(key, yaml.ScalarNode):
            raise ConfigError(f"{line}: a key must be a word. Remove the brackets.")
        if key.value in seen:
            raise ConfigError(f"{line}: the key {key.value[:60]!r} is given twice. Remove one of them.")
        if key.tag != MERGE:
            check_scalar(key, where)
        seen.add(key.value)


def check_scalar(node: yaml.Node, where: str) -> None:
    if node.tag in NUMBERS and ":" in node.value:
        node.tag = TEXT  # YAML 1.1 takes 1:30 for the number 90, to base 60; nobody else does
    if node.tag == TEXT:
        return
    # PyYAML takes 2000-13-45 for a date and fails without naming the line; so do wrong tags.
    try:
        SafeConstructor().construct_document(node)
    except (ValueError, ArithmeticError, LookupError, AttributeError, TypeError) as error:
        what = f"{str(node.value)[:40]!r} is not a date or number that exists"
        raise ConfigError(f"{at(where, node.start_mark)}: {what}. Correct it, or quote text.") from error


def at(where: str, mark: Any) -> str:
    return where if mark is None else f"{where}, line {mark.line + 1}, column {mark.column + 1}"


def remedy(problem: str) -> str:
    advice = (REMEDIES[sign] for sign in REMEDIES if sign in problem)
    return f"{problem}. {next(advice, 'Correct the YAML here or on the line before.')}"
