"""numba's compiler, with a cache on disk that a damaged or outdated file cannot break."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numba
from numba.core.caching import FunctionCache


class ForgivingCache(FunctionCache):  # type: ignore[misc]
    """A cache whose files are made anew where they cannot be read, such as those of another release."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled before, or None."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # numba unpickles what it stored, and that fails in any way there is
            self._begin_anew()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep it for the next process, if that is possible."""
        with suppress(Exception):
            super().save_overload(sig, data)

    def _begin_anew(self) -> None:
        with suppress(Exception):
            self.flush()


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """numba.njit, whose cache forgives; where there is nowhere to keep one, every process compiles."""

    def decorate(function: Callable[..., Any]) -> Any:
        compiled = numba.njit(**options)(function)
        if cache and hasattr(compiled, "enable_caching"):  # not where numba is switched off
            with suppress(RuntimeError):  # no folder that may be written to
                compiled._cache = ForgivingCache(function)
        return compiled

    return decorate
