"""An extension of griffe: examples in docstrings, `>>> ...`, become blocks of code on the page of the API."""

import re
from typing import Any

from griffe import Extension, Object

# From the first prompt to the next blank line, or to the end.
EXAMPLE = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)


class DoctestBlocks(Extension):
    """Puts every example of a docstring between fences."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """A docstring with its examples between fences.

    >>> fenced("Adds.\\n\\n>>> 1 + 1\\n2")
    'Adds.\\n\\n```pycon\\n>>> 1 + 1\\n2\\n```'
    """
    return EXAMPLE.sub(lambda example: f"```pycon\n{example[0].rstrip()}\n```", text)
