"""What is kept of single rows: draws of the bootstrap, hashes of ids, and the scores of not too many rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from pandora_regret.files.batch import Batch
from pandora_regret.inference.joint import Carriers, carriers_of
from pandora_regret.inference.keyed import Keys, keys_of
from pandora_regret.inference.resampling import Resampled
from pandora_regret.inputs import FloatArray
from pandora_regret.stream.batches import Scored

MOST_CLASSES = 1000  # of which it is counted which one is taken for which
RESAMPLED_ELEMENTS = 1 << 21
MOST_KEYS = 1 << 22  # that are kept: 32 MB
MOST_REMEMBERED = 1 << 16  # rows


class Remembered:
    """The scores of all rows, as long as they are not too many, to find out whether a handful carries a mean."""

    def __init__(self) -> None:
        self._parts: list[FloatArray] | None = []  # (1 + means, n) each: weights, and scores; None: too many

    @property
    def rows(self) -> int:
        """How many are kept."""
        return sum(part.shape[1] for part in self._parts or ())

    def has_room_for(self, batch: Batch) -> bool:
        """Whether its scores would be kept; rows that belong together would have to be summed first."""
        return self._parts is not None and batch.groups is None and self.rows + len(batch) <= MOST_REMEMBERED

    def add(self, batch: Batch, scored: Scored) -> None:
        """The scores of further rows, if there is room."""
        if self._parts is not None and self.has_room_for(batch):
            weights = np.ones(len(batch)) if batch.weights is None else batch.weights
            self._parts.append(np.concatenate([weights[None], scored.table]))
        else:
            self._parts = None

    def merge(self, other: Remembered) -> None:
        """The scores of other rows of the same table."""
        if self._parts is None or other._parts is None or self.rows + other.rows > MOST_REMEMBERED:
            self._parts = None
        else:
            self._parts += other._parts

    def carriers(self, column: int, rounding: float) -> Carriers | None:
        """How many rows carry a mean; None where they are not kept, or a score is infinite."""
        if not self._parts:
            return None
        table = np.concatenate(self._parts, axis=1)
        table = table[:, table[0] > 0]
        values, shares = table[1 + column], table[0] / table[0].sum()
        return carriers_of(values, shares, rounding) if np.isfinite(values).all() else None


class SeenIds:
    """Hashes of ids: all of them up to some millions, then those below a bound that falls as they get more.

    So a single id that comes twice among very many may go unnoticed, but a file that comes twice never does.
    """

    def __init__(self) -> None:
        self.parts: list[Keys] = []
        self.bound = np.iinfo(np.uint64).max
        self.repeated = np.empty(0, np.uint64)

    def add(self, keys: Keys) -> None:
        """The ids of further rows."""
        self.parts.append(keys[keys <= self.bound])
        while sum(map(len, self.parts)) > MOST_KEYS:
            self.settle()
            self.bound //= 2
            self.parts = [part[part <= self.bound] for part in self.parts]

    def merge(self, other: SeenIds) -> None:
        """The ids of other rows of the same table."""
        self.bound = min(self.bound, other.bound)
        self.repeated = _distinct(np.sort(np.concatenate([self.repeated, other.repeated])))
        self.parts = [part[part <= self.bound] for part in self.parts]
        for part in other.parts:
            self.add(part)

    def settle(self) -> Keys:
        """The hashes that came more than once."""
        keys = np.sort(np.concatenate([np.empty(0, np.uint64), *self.parts]))
        again = keys[1:] == keys[:-1]
        if again.any():
            self.repeated = _distinct(np.sort(np.concatenate([self.repeated, keys[1:][again]])))
            keys = _distinct(keys)
        self.parts = [keys]
        return self.repeated


def _distinct(keys: Keys) -> Keys:
    """Each once, of sorted ones; `np.unique` takes a hundred times as long."""
    return keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys


def resample(replicates: Resampled, batch: Batch, scored: Scored, n_classes: int) -> None:
    """Add a batch to every replicate, some rows at a time."""
    keys = keys_of(_tell_apart(batch))
    step = max(1, RESAMPLED_ELEMENTS // (1 + len(scored.table) + 3 * n_classes))
    for start in range(0, len(batch), step):
        rows = slice(start, start + step)
        replicates.add(keys[rows], _weighted_columns(batch, scored, rows, n_classes))


def _tell_apart(batch: Batch) -> Any:
    """What rows are drawn by: their group, else their id, else their number."""
    names = batch.ids if batch.groups is None else batch.groups
    return np.arange(batch.first_row, batch.first_row + len(batch)) if names is None else names


def _weighted_columns(batch: Batch, scored: Scored, rows: slice, n_classes: int) -> FloatArray:
    """What is summed in each replicate: weight, metrics, and class counts, (n, columns)."""
    table, truth, predicted = scored.table[:, rows], batch.truth[rows], scored.predicted[rows]
    columns = [np.ones(len(truth)), *np.where(np.isfinite(table), table, 0.0)]  # an infinite mean has no interval
    if n_classes <= MOST_CLASSES:
        numbers = np.arange(n_classes)[:, None]
        shares = (numbers == truth) if batch.votes is None else batch.votes[rows].T
        columns += [*shares, *(numbers == predicted), *(shares * (numbers == predicted))]
    weights = 1.0 if batch.weights is None else batch.weights[rows, None]
    return np.stack(columns, axis=1) * weights
