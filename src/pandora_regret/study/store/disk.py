"""Reading and writing a store's files: whole or not at all, one writer at a time, errors that say what to do."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pandora_regret.atomic import write_atomically
from pandora_regret.inputs import InputError


class StoreError(OSError):
    """The store cannot be written now: the disk is full, the folder is protected, another process writes."""


def read(path: Path) -> bytes:
    """A file's content; one that is not there is a `FileNotFoundError`."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}).") from None


def write(path: Path, content: bytes) -> None:
    """Replace a file."""
    with writing(path):
        write_atomically(path, lambda file: file.write(content))


def remove_leftovers(folder: Path) -> None:
    """Delete temporary files of runs that were killed; only the one writer may, for its own would go too."""
    for path in folder.glob(".*.part"):
        with writing(path):
            path.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Whatever goes wrong with this path becomes a `StoreError`."""
    try:
        yield
    except OSError as error:
        fix = "free some space" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "see to that"
        raise StoreError(
            f"{path} cannot be written ({error.strerror or error}): {fix}, then resume; "
            "all that was stored before is intact."
        ) from error


def hold_lock(path: Path) -> BinaryIO:
    """A lock, held until this file is closed: the operating system does that too, however its holder dies."""
    with writing(path):
        file = path.open("ab")
    try:
        _lock(file.fileno())
    except OSError as error:
        file.close()
        held = error.errno in (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
        said = "is being written by another process: wait until it is done"
        missing = f"cannot be locked ({error.strerror or error}): use a file system that has locks"
        raise StoreError(f"{path.parent} {said if held else missing}.") from None
    return file


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
