"""Cases by id: which were counted, and with which label, and which wait for their labels."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from pandora_regret.inputs import InputError


def hashed(ids: Iterable[Any]) -> list[int]:
    """64 bits of each id; among a million ids, two that differ share them with probability 3e-8."""
    return [int.from_bytes(blake2b(str(each).encode("utf-8", "replace"), digest_size=8).digest()) for each in ids]


def check_each_once(keys: Sequence[int], ids: Sequence[Any]) -> None:
    """No id occurs twice in one batch."""
    first: dict[int, int] = {}
    for row, key in enumerate(keys):
        if first.setdefault(key, row) != row:
            fix = "each case needs its own id; drop the second row"
            problem = f"is {str(ids[row])!r}, as is row {first[key]}"
            raise InputError(problem, argument="ids", row=row, value=ids[row], fix=fix)


SEEN = np.dtype([("key", "<u8"), ("label", "u1")])
LABELS = 256  # labels of counted cases are told apart up to so many classes


def to_text(seen: Mapping[int, int]) -> str:
    """Counted cases, keys with labels, as text for JSON: sorted, 9 bytes each, in base64."""
    return b64encode(np.array(sorted(seen.items()), dtype=SEEN).tobytes()).decode()


def from_text(text: Any, place: str) -> dict[int, int]:
    """The counted cases again."""
    try:
        rows = np.frombuffer(b64decode(text, validate=True), SEEN)
        return dict(zip(rows["key"].tolist(), rows["label"].tolist(), strict=True))
    except (TypeError, ValueError, Error):
        raise InputError("is no list of ids", place=place, fix="the state is damaged") from None


class Waiting:
    """Forecasts whose labels are not known yet: numbers of each case, and its period, by the id's key."""

    def __init__(self) -> None:
        self.rows: dict[int, tuple[tuple[float, ...], str | None]] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, key: int) -> bool:
        return key in self.rows

    def add(self, keys: Sequence[int], numbers: Any, periods: Sequence[str] | None) -> None:
        """Forecasts, (n, m) numbers."""
        names: Sequence[str | None] = periods or [None] * len(keys)
        for key, row, name in zip(keys, numbers.tolist(), names, strict=True):
            self.rows[key] = (tuple(row), name)

    def take(self, keys: Sequence[int]) -> tuple[Any, list[str | None]]:
        """The numbers and the periods of some cases, which no longer wait."""
        rows = [self.rows.pop(key) for key in keys]
        return np.array([row for row, _ in rows]), [name for _, name in rows]

    def state(self) -> dict[str, Any]:
        """Plain data."""
        return {str(key): [list(row), name] for key, (row, name) in self.rows.items()}

    def restore(self, state: Mapping[str, Any], width: int, place: str) -> None:
        """The forecasts that waited when `state` was written."""
        try:
            self.rows = {int(key): (tuple(map(float, row)), name) for key, (row, name) in state.items()}
        except (TypeError, ValueError):
            raise InputError("is no table of forecasts", place=place, fix="the state is damaged") from None
        good = all(len(row) == width and np.isfinite(row).all() for row, _ in self.rows.values())
        if not good or not all(name is None or isinstance(name, str) for _, name in self.rows.values()):
            raise InputError("does not fit the monitor", place=place, fix="the state is damaged")
