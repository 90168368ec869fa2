"""Names of a package that load when first asked for (PEP 562), so that importing it costs next to nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from pandora_regret.optional import needs

NOTHING: Mapping[str, tuple[str, str]] = {}


def lazily(
    package: str, room_of: Mapping[str, str], needing: Mapping[str, tuple[str, str]] = NOTHING
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A package's ``__getattr__`` and ``__dir__``, from the module in which each of its names lives.

    `needing` says which library a module cannot do without, and the extra that installs it.
    """

    def load(name: str) -> Any:
        if name not in room_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if room_of[name] in needing:
            library, extra = needing[room_of[name]]
            needs(library, extra=extra)
        value = getattr(import_module(f"{package}.{room_of[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted(sys.modules[package].__all__)

    return load, names
