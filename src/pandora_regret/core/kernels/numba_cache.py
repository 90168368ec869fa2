"""``numba.njit`` for all compiled loops; what it compiles is kept where nobody but the user can write.

numba keeps compiled code as pickles: whoever can write to the folder can run code in a later process. By itself it
takes the first folder that it can write to: ``NUMBA_CACHE_DIR``, ``__pycache__`` beside the source, the user's
cache. Here there is one folder, `pandora-regret` in ``NUMBA_CACHE_DIR`` or else in the user's cache. It is used
only if nobody else can write to it, or put another folder in its place. Where there is no such folder, every
process compiles for itself.
"""

import functools
import logging
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import Any, TypeAlias, cast

import numba
from numba.core import config
from numba.core.caching import FunctionCache

NumbaOptions: TypeAlias = dict[str, Any]  # of numba.njit
Loop: TypeAlias = Callable[..., Any]  # its types are numba's to infer

EXACT: NumbaOptions = {"nogil": True, "fastmath": {"contract"}, "error_model": "numpy"}
AS_WRITTEN: NumbaOptions = {"nogil": True, "error_model": "numpy", "cache": True}  # to the last bit
STEP: NumbaOptions = {**EXACT, "fastmath": {"contract", "reassoc", "nsz", "arcp"}}  # NaN and inf still count
INLINE: NumbaOptions = {**EXACT, "forceinline": True}  # a call in a loop would keep it from becoming vector code
INLINE_STEP: NumbaOptions = {**STEP, "forceinline": True}
FAST: NumbaOptions = {**STEP, "cache": True}  # what Python calls is kept, with its steps

SILENT_SECONDS = 1.0  # of compiling, before a word is said about it


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable[..., object]], Loop]:
    """``numba.njit``, whose cache lies in `cache_folder` or nowhere.

    Parameters
    ----------
    cache
        Whether to keep what is compiled for later processes.
    options
        Those of ``numba.njit``.

    Returns
    -------
    callable
        A decorator.
    """

    def decorate(function: Callable[..., object]) -> Loop:
        compiled: Any = numba.njit(**options)(function)
        is_switched_off = not hasattr(compiled, "enable_caching")  # by NUMBA_DISABLE_JIT
        if cache and not is_switched_off:
            kept = _cache_of(function)
            if kept is not None:
                compiled._cache = kept
        return cast(Loop, compiled)

    return decorate


def _cache_of(function: Callable[..., object]) -> "ForgivingCache | None":
    """A cache of one function's compiled code in `cache_folder`; None where there is no such folder."""
    folder = cache_folder()
    if folder is None:
        return None
    usual_folder = config.CACHE_DIR  # type: ignore[attr-defined]  # numba sets it
    # numba looks at it while a cache is made, and only then
    config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
    try:
        kept = ForgivingCache(function)  # type: ignore[no-untyped-call]
    except RuntimeError:  # numba found no folder at all
        return None
    finally:
        config.CACHE_DIR = usual_folder  # type: ignore[attr-defined]
    is_in_folder = Path(kept.cache_path).is_relative_to(folder)  # else numba fell back to another one
    return kept if is_in_folder else None


@functools.cache
def cache_folder() -> Path | None:
    """The folder of compiled loops, made if need be; None where others could write to it, or we cannot."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    parent = os.environ.get("NUMBA_CACHE_DIR") or home
    folder = Path(os.path.realpath(parent)) / "pandora-regret"
    try:
        make_private(folder)
        is_safe = is_private(folder)
    except OSError:
        return None
    if not is_safe or not os.access(folder, os.W_OK):
        return None
    return folder


def make_private(folder: Path) -> None:
    """Make a folder and those above it that are missing, all of them open to their user alone.

    What is above a folder that Python makes is made as the umask says: by 002, which is usual where every user has
    a group, it could be written to by others.
    """
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)


def is_private(folder: Path) -> bool:
    """Whether a folder, an absolute path without links, is open to its user alone, and cannot be exchanged.

    It must be ours, closed to all others. Each folder above it must belong to us or to root. If others may write
    to one of these, it must be sticky, as ``/tmp`` is: then they can rename or remove only what is their own. Once
    this holds it stays so, since nobody else can change any part of the path.
    """
    if not hasattr(os, "geteuid"):  # Windows: the user's profile is closed to others
        return True
    user = os.geteuid()
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != user or status.st_mode & 0o077:
        return False
    for parent in folder.parents:
        status = os.lstat(parent)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid not in (0, user):
            return False
        others_may_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if others_may_write and not status.st_mode & stat.S_ISVTX:
            return False
    return True


class ForgivingCache(FunctionCache):
    """A cache whose files are made anew where they cannot be read; compiling that takes long is told of."""

    _waiting: Timer | None = None

    def load_overload(self, sig: object, target_context: object) -> object:
        """What was compiled before for these types of arguments, or None."""
        loaded = None
        try:
            loaded = super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:  # a damaged pickle fails in any way there is
            with suppress(Exception):
                self.flush()  # type: ignore[no-untyped-call]
        if loaded is None:
            self._waiting = Timer(SILENT_SECONDS, tell_once)
            self._waiting.daemon = True
            self._waiting.start()
        return loaded

    def save_overload(self, sig: object, data: object) -> None:
        """Keep it for the next process, if that is possible."""
        if self._waiting is not None:
            self._waiting.cancel()
        with suppress(Exception):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]


@functools.cache
def tell_once() -> None:
    """Say what takes so long, the first time that something does."""
    logging.getLogger("pandora_regret").warning("Compiling loops for this machine, which later runs load.")
