"""How much memory a file may take, in numbers and in words."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from pandora_regret.core.inputs import InputError
from pandora_regret.files.file_errors import FileError

LEAST_LIMIT = 2_000_000_000  # bytes that every file may unfold to
TIMES_SIZE = 100  # of the file: it may unfold to so many times as much
BYTES_IN_UNIT = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
WRITTEN = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?B?)", re.IGNORECASE)


def read_bytes(text: str | int) -> int:
    """A number of bytes, as people write it.

    Examples
    --------
    >>> read_bytes("16 GB"), read_bytes("500MB"), read_bytes(4096)
    (16000000000, 500000000, 4096)
    """
    match = WRITTEN.fullmatch(str(text).strip())
    if match is None or float(match[1]) <= 0:
        raise InputError(argument="max_memory", value=text, fix="write such as 16GB or 500MB")
    unit = match[2].upper()
    return int(float(match[1]) * BYTES_IN_UNIT[unit if unit.endswith("B") or not unit else f"{unit}B"])


def size_in_words(size: float) -> str:
    """A number of bytes for people.

    Examples
    --------
    >>> size_in_words(37_000_000), size_in_words(8e9), size_in_words(512)
    ('37 MB', '8 GB', '512 bytes')
    """
    for unit in ("TB", "GB", "MB", "kB"):
        amount = size / BYTES_IN_UNIT[unit.upper()]
        if amount >= 1:
            return f"{amount:.0f} {unit}" if amount >= 10 else f"{amount:.2g} {unit}"
    return f"{size:.0f} bytes"


def suggested(held: float) -> str:
    """An amount of memory, as people write it, that is somewhat more than so many bytes."""
    unit = "MB" if held < BYTES_IN_UNIT["GB"] else "GB"
    return f"{math.ceil(1.25 * held / BYTES_IN_UNIT[unit])}{unit}"


@dataclass(frozen=True)
class Limit:
    """What a file may unfold to: small files can take more memory than any machine has.

    A stream holds a batch at a time and may go on for ever; the limit is about what is held at once.
    """

    path: str
    file_bytes: int
    max_memory: int | None = None  # bytes, where somebody says how many

    @property
    def most_bytes(self) -> int:
        """How many bytes may be held of the file at once."""
        if self.max_memory is not None:
            return self.max_memory
        return max(LEAST_LIMIT, TIMES_SIZE * self.file_bytes)

    def check(self, held: float) -> None:
        """Raise a FileError if so many bytes are more than may be held."""
        if held <= self.most_bytes:
            return
        problem = (
            f"has {size_in_words(self.file_bytes)} but takes {size_in_words(held)} or more in memory, "
            f"of which {size_in_words(self.most_bytes)} may be used"
        )
        fix = f"if the file is what you expect, allow more (--max-memory {suggested(held)})"
        raise FileError(problem, self.path, fix, argument="max_memory", value=int(held))
