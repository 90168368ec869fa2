"""Names of a package that load when first asked for (PEP 562), so that importing it costs next to nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from pandora_regret.optional import import_optional

NOTHING: Mapping[str, tuple[str, str]] = {}


def lazy_exports(
    package: str, names_in: Mapping[str, Sequence[str]], needing: Mapping[str, tuple[str, str]] = NOTHING
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """A package's ``__all__``, ``__getattr__`` and ``__dir__``, from the public names in each of its modules.

    `needing` says which library a module cannot do without, and the extra that installs it. Type checkers do not
    run this: the package imports the same names for them, ``if TYPE_CHECKING``, which a test compares.
    """
    module_of = {name: module for module, names in names_in.items() for name in names}

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

    return sorted(module_of), load, names
