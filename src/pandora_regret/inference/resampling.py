"""The bootstrap's weights: Poisson(1) draws that depend on a seed, a replicate and a row's key alone.

A row carries its own random numbers (a counter-based generator: the finaliser of SplitMix64), so neither batches,
nor the split into files, nor the order of rows, nor the number of machines changes a single draw. Rows that share
a key, the patient they come from, are drawn together: that is the clustered bootstrap.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret.inputs import FloatArray, InputError, InputTypeError, read_count
from pandora_regret.inputs.numbers import read_array
from pandora_regret.kernels.engine import worth_compiling
from pandora_regret.tally import Sum

Keys: TypeAlias = NDArray[np.uint64]
Counts: TypeAlias = NDArray[np.uint8]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
LARGEST_DRAW = 20  # of Poisson(1): beyond it lies less than one draw in 2^64
LEADING_BITS = np.uint64(64 - 11)  # what is left of a number after this shift settles 99 draws in 100
UNSETTLED = np.uint8(255)
WEIGHTS_AT_ONCE, REPLICATES_AT_ONCE = 1 << 22, 64
SMALL_PRODUCT = 1 << 18  # multiplications that BLAS does without threads


def _limits() -> Keys:
    """Where the cumulative distribution of Poisson(1) crosses, on the scale of 64-bit integers."""
    below = [math.fsum(math.exp(-1) / math.factorial(k) for k in range(n + 1)) for n in range(LARGEST_DRAW)]
    return np.array([min(round(share * 2**64), 2**64 - 1) for share in below], dtype=np.uint64)


def _settled_by_leading_bits() -> Counts:
    """The draw for each value of the leading bits, where all numbers that begin with them give the same."""
    first = np.arange(1 << 11, dtype=np.uint64) << LEADING_BITS
    last = first + ((np.uint64(1) << LEADING_BITS) - np.uint64(1))
    lowest, highest = (np.searchsorted(LIMITS, ends, side="right") for ends in (first, last))
    return np.where(lowest == highest, lowest, UNSETTLED).astype(np.uint8)


LIMITS = _limits()
SETTLED = _settled_by_leading_bits()


def poisson_weights(keys: Any, replicates: int | range, seed: int = 0) -> Counts:
    """How often each row is drawn in every bootstrap replicate: Poisson(1), shape (replicates, n).

    Parameters
    ----------
    keys
        What tells rows apart, from `keys_of`, shape (n,); rows of one key are drawn equally often.
    replicates
        How many replicates, or which of them, as a range.
    seed
        A whole number from 0.

    Returns
    -------
    array
        Small whole numbers, shape (replicates, n).

    Examples
    --------
    >>> poisson_weights(keys_of(range(8)), 2, seed=1)
    array([[0, 2, 1, 2, 1, 0, 4, 4],
           [3, 2, 2, 2, 1, 0, 0, 1]], dtype=uint8)
    >>> poisson_weights(keys_of([6, 0]), range(1, 2), seed=1)
    array([[0, 3]], dtype=uint8)
    """
    numbers = replicates if isinstance(replicates, range) else range(read_count(replicates, "replicates"))
    states, streams = _mixed(np.asarray(keys, dtype=np.uint64) + GOLDEN), _streams(numbers, seed)
    weights = np.empty((len(streams), len(states)), dtype=np.uint8)
    fill = _compiled() if worth_compiling(weights.size) else _fill
    fill(states, streams, LIMITS, SETTLED, weights)
    return weights


def check_enough(replicates: int, level: float) -> None:
    """So many that the ends of an interval are not the ends of the sample; 0 asks for no bootstrap."""
    least = math.ceil(2 / (1 - level))
    if 0 < replicates < least:
        raise InputError(
            f"bootstrap is {replicates}: that is too few for an interval of {100 * level:g} %, ask for {least} at "
            "least, better 1000, or for 0."
        )


def weights_in_parts(keys: Keys, replicates: int, seed: int = 0) -> Iterator[tuple[slice, Counts]]:
    """The same weights, some replicates at a time, so that they need little memory."""
    step = min(REPLICATES_AT_ONCE, max(1, WEIGHTS_AT_ONCE // max(1, len(keys))))
    for start in range(0, replicates, step):
        numbers = range(start, min(start + step, replicates))
        yield slice(numbers.start, numbers.stop), poisson_weights(keys, numbers, seed)


def weighted_sums(weights: Counts, table: FloatArray) -> FloatArray:
    """``weights @ table``, (replicates, columns), in small products: BLAS threads would fight over busy cores."""
    total = np.zeros((len(weights), table.shape[1]))
    step = max(1, SMALL_PRODUCT // max(1, total.size))
    for start in range(0, len(table), step):
        rows = slice(start, start + step)
        total += weights[:, rows].astype(np.float64) @ table[rows]
    return total


def keys_of(values: Any, name: str = "ids") -> Keys:
    """A 64-bit key for each row number, id or group name, (n,): the same today, tomorrow and on every machine.

    Whole numbers are kept as they are; all else is hashed as text. So 1 and "1" are told apart, 1 and 1.0 not.

    Parameters
    ----------
    values
        Row numbers, ids or names, shape (n,).
    name
        What to call them in an error.

    Returns
    -------
    array
        64-bit whole numbers, shape (n,).

    Examples
    --------
    >>> keys_of([3, 4])
    array([3, 4], dtype=uint64)
    >>> keys_of(["ann", "bob", "ann"])
    array([11957940740637538957, 10566683571197309812, 11957940740637538957],
          dtype=uint64)
    """
    given = read_array(values, name)
    if given.ndim != 1:
        raise InputError(f"{name} has shape {given.shape}: pass one entry per row, shape (n,).")
    if given.dtype.kind in "biu":
        return given.astype(np.uint64 if given.dtype.kind == "u" else np.int64).view(np.uint64)
    listed = given.tolist()
    try:
        keys = {value: _key_of(value) for value in dict.fromkeys(listed)}
    except TypeError:
        raise InputTypeError(f"{name} hold lists or the like: pass text or whole numbers.") from None
    if None in keys.values():
        row = next(row for row, value in enumerate(listed) if keys[value] is None)
        raise InputError(f"{name} row {row} is {listed[row]!r}: every row needs a name, or give none to any.")
    return np.array([keys[value] for value in listed], dtype=np.uint64)


class Resampled:
    """Sums of columns in every bootstrap replicate, from batches of rows in any order; two of them merge.

    Examples
    --------
    >>> sums = Resampled(n_columns=1, replicates=1000)
    >>> sums.add(keys_of(range(400)), np.arange(400.0)[:, None])
    >>> sums.value.shape, bool(abs(sums.value.mean() / np.arange(400.0).sum() - 1) < 0.01)
    ((1000, 1), True)
    """

    def __init__(self, n_columns: int, replicates: int, seed: int = 0) -> None:
        self.replicates, self.seed = read_count(replicates, "bootstrap"), seed
        self._sums = Sum((self.replicates, n_columns))
        self._seen: frozenset[int] = frozenset()  # the lowest and the highest key

    def add(self, keys: Keys, table: FloatArray) -> None:
        """Add rows: their keys (n,), and what is to be summed (n, columns)."""
        self._see(frozenset((int(keys.min()), int(keys.max()))) if len(keys) else frozenset())
        for rows, weights in weights_in_parts(keys, self.replicates, self.seed):
            self._sums.add(weighted_sums(weights, table), index=rows)

    def merge(self, other: Resampled) -> None:
        """Add the rows of another."""
        self._sums.merge(other._sums)
        self._see(other._seen)

    def _see(self, keys: frozenset[int]) -> None:
        every = self._seen | keys
        self._seen = frozenset((min(every), max(every))) if every else every

    @property
    def clusters(self) -> int:
        """How many different keys there were: 0, 1, or 2 for any more; a single one shows no spread."""
        return len(self._seen)

    @property
    def value(self) -> FloatArray:
        """The sums, (replicates, columns)."""
        return self._sums.value


def _key_of(value: Any) -> int | None:
    """Of one value; None where it is missing; pandas' kinds of that are told by name, as it need not be here."""
    if type(value).__name__ in ("NoneType", "NAType", "NaTType") or value != value:
        return None
    if isinstance(value, (int, np.integer)) or (isinstance(value, float) and value.is_integer()):
        return int(value) % 2**64
    text = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def _mixed(state: Any) -> Any:
    """SplitMix64's finaliser: neighbours in, strangers out. The same text serves NumPy and numba."""
    state = (state ^ (state >> SHIFTS[0])) * FACTORS[0]
    state = (state ^ (state >> SHIFTS[1])) * FACTORS[1]
    return state ^ (state >> SHIFTS[2])


def _streams(numbers: range, seed: int) -> Keys:
    """One state per replicate."""
    start = np.full(1, read_count(seed, "seed", least=0) % 2**64, dtype=np.uint64)  # arrays wrap in silence
    return np.asarray(_mixed(_mixed(start + GOLDEN) + np.asarray(numbers).astype(np.uint64) * GOLDEN))


def _fill(states: Keys, streams: Keys, limits: Keys, settled: Counts, weights: Counts) -> None:
    for stream, row in zip(streams, weights, strict=True):
        drawn = _mixed(states + stream)
        row[:] = settled[drawn >> LEADING_BITS]
        rest = np.flatnonzero(row == UNSETTLED)
        row[rest] = np.searchsorted(limits, drawn[rest], side="right")


def _fill_by_loops(states: Any, streams: Any, limits: Any, settled: Any, weights: Any) -> None:
    """The same, for numba."""
    for r in range(len(streams)):
        for i in range(len(states)):
            drawn = _mixed(states[i] + streams[r])
            count = settled[drawn >> LEADING_BITS]
            weights[r, i] = count if count != UNSETTLED else np.searchsorted(limits, drawn, side="right")


@cache
def _compiled() -> Any:
    import numba

    from pandora_regret.kernels.jit import njit

    numba.extending.register_jitable(_mixed)
    return njit(nogil=True, cache=True)(_fill_by_loops)
