"""An extension of griffe: docstrings for the page of the API.

Examples, `>>> ...`, become blocks of code, and every line about an argument, `x: (T, B, M)`, stays a line.
"""

import re
from typing import Any

from griffe import Extension, Object

# The break before a line that begins with the name of an argument.
ARGUMENT = re.compile(r"(?<=[^\n:])\n(?=[a-z_][\w, ]*: )")
# From the first prompt to the next blank line, or to the end.
EXAMPLE = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)


class DoctestBlocks(Extension):
    """Puts examples between fences, and arguments on lines of their own."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(on_lines(obj.docstring.value))


def on_lines(text: str) -> str:
    """A docstring whose lines about arguments do not flow together.

    >>> on_lines("Two.\\n\\nx: (T,)\\ny: (B,)")
    'Two.\\n\\nx: (T,)  \\ny: (B,)'
    """
    return ARGUMENT.sub("  \n", text)


def fenced(text: str) -> str:
    """A docstring with its examples between fences.

    >>> fenced("Adds.\\n\\n>>> 1 + 1\\n2")
    'Adds.\\n\\n```pycon\\n>>> 1 + 1\\n2\\n```'
    """
    return EXAMPLE.sub(lambda example: f"```pycon\n{example[0].rstrip()}\n```", text)
