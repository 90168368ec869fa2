"""Docstrings as the API pages show them: with the line that imports the object, and links to what they name.

Ours take two liberties with the numpy convention. A list of parameters may end with a sentence, such as "Other
parameters as in `pandora_regret`", which would be taken for one more parameter: it moves up, in front of the list.
And names may share a description, "folds, seed", which would then share the default of the first: each gets its
own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from griffe import Extension, Module, Object

HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
SHARED = re.compile(r"^(\w+(?:, \w+)+)\n((?:    .*\n?)+)", re.MULTILINE)
LISTS = ("Parameters", "Attributes")
SEE_ALSO = re.compile(r"^(\w+) : (.+)$", re.MULTILINE)
CITATION = re.compile(r"^(.*?\(\d{4}\))(.*?) \[(\w+)\]_\.$", re.MULTILINE)


class PlainLists(Extension):
    """Rewrites the lists of parameters and attributes."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Once for every function, class and module."""
        if obj.docstring is not None:
            obj.docstring.value = plain_lists(obj.docstring.value)


class ImportsAndLinks(Extension):
    """Puts the line that imports a function or class in front of its docstring, and links into the rest."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Once for every package, when all of it is known."""
        targets = dict(_exports(pkg))
        shortest: dict[str, str] = {}
        for path in sorted(targets, key=len, reverse=True):
            shortest[_followed(path, targets)] = path
        inside = {member.name: member.path for module in _modules(pkg) for member in module.members.values()}
        places = inside | {path.rpartition(".")[2]: target for target, path in shortest.items()}
        for module in _modules(pkg):
            for member in module.members.values():
                if not member.is_alias and not member.is_module and member.docstring is not None:
                    package, _, name = shortest.get(member.path, member.path).rpartition(".")
                    line = f"```{{ .python .import }}\nfrom {package} import {name}\n```"
                    member.docstring.value = f"{line}\n\n{linked(member.docstring.value, places)}"


def linked(docstring: str, places: dict[str, str]) -> str:
    """Names under See Also lead to their places, citations under References to the page of that name."""
    head, title, names = docstring.partition("See Also\n--------\n")
    names, blank, rest = names.partition("\n\n")
    names = SEE_ALSO.sub(lambda line: f"- [`{line[1]}`][{places[line[1]]}]: {line[2]}", names)
    return CITATION.sub(r"- [\1](../references.md#\3)\2.", f"{head}{title}{names}{blank}{rest}")


def _modules(module: Module) -> Iterator[Module]:
    """The module and all below it."""
    yield module
    for member in module.members.values():
        if not member.is_alias and member.is_module:
            yield from _modules(member)


def _exports(package: Module) -> Iterator[tuple[str, str]]:
    """What packages import from modules below them, as (path here, path there)."""
    for module in _modules(package):
        for member in module.members.values():
            if member.is_alias and member.target_path.startswith(f"{module.path}."):
                yield member.path, member.target_path


def _followed(path: str, targets: dict[str, str]) -> str:
    while path in targets:
        path = targets[path]
    return path


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
