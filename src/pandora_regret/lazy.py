"""Names of a package that load when first asked for (PEP 562), so that importing it costs next to nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from pandora_regret.optional import import_optional

NOTHING: Mapping[str, tuple[str, str]] = {}


def lazy_exports(
    package: str, module_of: Mapping[str, str], needing: Mapping[str, tuple[str, str]] = NOTHING
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A package's ``__getattr__`` and ``__dir__``, from the module in which each of its names lives.

    `needing` says which library a module cannot do without, and the extra that installs it.
    """

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if module_of[name] in needing:
            library, extra = needing[module_of[name]]
            import_optional(library, extra=extra)
        value = getattr(import_module(f"{package}.{module_of[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted(sys.modules[package].__all__)

    return load, names
