"""Files that are there whole or not at all: written under a temporary name, synced to disk, renamed."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from glob import escape
from pathlib import Path
from secrets import token_hex
from stat import S_IMODE
from typing import BinaryIO, TypeAlias

from pandora_regret.core.inputs import InputError

Place: TypeAlias = str | os.PathLike[str]  # of a file or a folder

TEMPORARY_SUFFIX = ".part"
LEFT_BEHIND_SECONDS = 86400.0  # nobody still writes a file that has not changed for so long


def write_atomically(path: Place, content: bytes | Callable[[BinaryIO], object]) -> Path:
    """Replace a file by its new content; if that fails, the old file stays and nothing is left behind.

    A link stays a link to the file that is replaced, and a file that is replaced keeps its mode.

    Parameters
    ----------
    path
        The file to write.
    content
        Bytes, or a function that writes them to the open file that it is called with.

    Returns
    -------
    Path
        The file that was written.
    """
    target = Path(os.path.realpath(path))
    replaced = target.exists()
    if replaced and not target.is_file():
        raise InputError(f"{target} is not a regular file: name one, or a new one.")
    _remove_left_behind(target)
    temporary = target.with_name(f".{target.name}.{token_hex(8)}{TEMPORARY_SUFFIX}")
    try:
        with temporary.open("xb") as file:  # as readable to others as any new file; mkstemp's are not
            if replaced:
                temporary.chmod(S_IMODE(target.stat().st_mode))
            file.write(content) if isinstance(content, bytes) else content(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = os.fspath(path)  # nobody knows the temporary name; a full disk names none
        raise
    if os.name == "posix":  # so that the new name outlives a power cut too; Windows needs no such thing
        handle = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    return Path(path)


def _remove_left_behind(target: Path) -> None:
    """Temporary files of this target whose writers were killed."""
    for path in target.parent.glob(f".{escape(target.name)}.{'[0-9a-f]' * 16}{TEMPORARY_SUFFIX}"):
        with suppress(OSError):  # another writer was faster
            if time.time() - path.stat().st_mtime > LEFT_BEHIND_SECONDS:
                path.unlink()
