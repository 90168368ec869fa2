"""Files that are there whole or not at all: written under a temporary name, synced to disk, renamed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO


def write_atomically(path: str | os.PathLike[str], write: Callable[[BinaryIO], object]) -> Path:
    """Replace a file by what `write` writes; if that fails, the old file stays and nothing is left behind."""
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{token_hex(8)}.part")
    try:
        with temporary.open("xb") as file:  # as readable to others as any new file; mkstemp's are not
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is not None:
            error.filename = str(target)  # nobody knows the temporary name
        raise
    _sync_folder(target.parent)
    return target


def _sync_folder(folder: Path) -> None:
    """So that the new name outlives a power cut too; Windows cannot open folders, and needs no such thing."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
