"""Standard input as a file: kept on disk while the program runs, because files are read more than once."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from typing import Any

from pandora_regret.files.errors import FileError

STANDARD_INPUT = "-"
NAME = "standard input"

_spooled: tuple[Any, str] | None = None  # the stream, and the file that holds what it held


def spooled_input() -> str:
    """The path of a file that holds all of standard input; read once, however often it is asked for."""
    global _spooled
    if _spooled is None or _spooled[0] is not sys.stdin:
        folder = tempfile.mkdtemp(prefix="pandora-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        _spooled = sys.stdin, _spool(folder)
    return _spooled[1]


def _spool(folder: str) -> str:
    path = os.path.join(folder, "input")
    if sys.stdin is None:
        raise FileError("is closed", path=NAME, fix="name a file instead of -")
    with open(path, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    with open(path, "rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    if not compressed:
        return path
    os.rename(path, f"{path}.gz")
    return f"{path}.gz"
