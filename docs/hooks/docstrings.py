"""Docstrings as the API pages show them.

Ours take two liberties with the numpy convention. A list of parameters may end with a sentence, such as "Other
parameters as in `pandora_regret`", which would be taken for one more parameter: it moves up, in front of the list.
And names may share a description, "folds, seed", which would then share the default of the first: each gets its
own.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
SHARED = re.compile(r"^(\w+(?:, \w+)+)\n((?:    .*\n?)+)", re.MULTILINE)
LISTS = ("Parameters", "Attributes")


class PlainLists(Extension):
    """Rewrites the lists of parameters and attributes."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Once for every function, class and module."""
        if obj.docstring is not None:
            obj.docstring.value = plain_lists(obj.docstring.value)


def plain_lists(docstring: str) -> str:
    """The same docstring with nothing but single parameters in its lists."""
    opening, *rest = HEADING.split(docstring)
    blocks, sections = [opening.strip("\n")], []
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        paragraphs = re.split(r"\n\s*\n", body.strip("\n"))
        sentences = [text for text in paragraphs if title in LISTS and not _is_item(text)]
        blocks += sentences
        items = "\n\n".join(text for text in paragraphs if text not in sentences)
        items = SHARED.sub(_apart, items) if title in LISTS else items
        sections.append(f"{title}\n{'-' * len(title)}\n{items}")
    return "\n\n".join(block for block in [*blocks, *sections] if block)


def _is_item(paragraph: str) -> bool:
    """A name, and below it, indented, what it is."""
    return any(line.startswith(" ") for line in paragraph.splitlines())


def _apart(found: re.Match[str]) -> str:
    description = found[2].rstrip("\n")
    return "".join(f"{name}\n{description}\n" for name in found[1].split(", "))
