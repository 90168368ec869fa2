"""Names of a package that load when first asked for (PEP 562), so that importing it costs next to nothing."""

import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module

from pandora_regret.optional import import_optional

NOTHING: Mapping[str, tuple[str, str]] = {}


def lazy_exports(
    package: str, needing: Mapping[str, tuple[str, str]] = NOTHING
) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """A package's ``__all__``, ``__getattr__`` and ``__dir__``: the names that its stub, `__init__.pyi`, imports.

    So there is one list, for type checkers and for Python. `needing` says which library a module of the package
    cannot do without, and the extra that installs it.
    """
    loaded = sys.modules[package]
    with open(f"{os.path.splitext(str(loaded.__file__))[0]}.pyi", encoding="utf-8") as stub:
        imports = [line.split() for line in stub if line.startswith("from ")]  # from module import name as name
    module_of = {words[3]: words[1] for words in imports}

    def load(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        needed = needing.get(module_of[name].removeprefix(f"{package}."))
        if needed is not None:
            import_optional(needed[0], extra=needed[1])
        value: object = getattr(import_module(module_of[name]), name)
        setattr(loaded, name, value)  # so that it is not looked up again
        return value

    return sorted(module_of), load, lambda: sorted(loaded.__all__)
