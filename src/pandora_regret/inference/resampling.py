"""The bootstrap's weights: Poisson(1) draws that depend on a seed, a replicate and a row's key alone.

A row carries its own random numbers (see `keyed`), so neither batches,
nor the split into files, nor the order of rows, nor the number of machines changes a single draw. Rows that share
a key, the patient they come from, are drawn together: that is the clustered bootstrap.
"""

import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pandora_regret.core.inputs import FloatArray, read_count
from pandora_regret.core.kernels.engine import worth_compiling
from pandora_regret.inference.keyed import GOLDEN, Keys, mixed

DrawCounts: TypeAlias = NDArray[np.uint8]

LARGEST_DRAW = 20  # of Poisson(1): beyond it lies less than one draw in 2^64
WEIGHTS_AT_ONCE = 1 << 22
REPLICATES_AT_ONCE = 64
SMALL_PRODUCT = 1 << 18  # multiplications that BLAS does without threads


def _poisson_limits() -> Keys:
    """Where the cumulative distribution of Poisson(1) lies at 0, 1, ..., on the scale of 64-bit integers."""
    limits = []
    for n in range(LARGEST_DRAW):
        share = math.fsum(math.exp(-1) / math.factorial(k) for k in range(n + 1))
        limits.append(min(round(share * 2**64), 2**64 - 1))
    return np.array(limits, dtype=np.uint64)


LIMITS = _poisson_limits()


def poisson_weights(keys: ArrayLike, replicates: int | range, seed: int = 0) -> DrawCounts:
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
    >>> from pandora_regret.inference.keyed import keys_of
    >>> poisson_weights(keys_of(range(8)), 2, seed=1)
    array([[0, 2, 1, 2, 1, 0, 4, 4],
           [3, 2, 2, 2, 1, 0, 0, 1]], dtype=uint8)
    >>> poisson_weights(keys_of([6, 0]), range(1, 2), seed=1)
    array([[0, 3]], dtype=uint8)
    """
    numbers = replicates if isinstance(replicates, range) else range(read_count(replicates, "replicates"))
    start = np.full(1, read_count(seed, "seed", least=0) % 2**64, dtype=np.uint64)  # arrays wrap in silence
    streams = mixed(mixed(start + GOLDEN) + np.asarray(numbers).astype(np.uint64) * GOLDEN)
    states = mixed(np.asarray(keys, dtype=np.uint64) + GOLDEN)
    weights = np.empty((len(streams), len(states)), dtype=np.uint8)
    fill = _compiled() if worth_compiling(weights.size) else _fill
    fill(states, streams, LIMITS, weights)
    return weights


def weights_in_parts(keys: Keys, replicates: int, seed: int = 0) -> Iterator[tuple[slice, DrawCounts]]:
    """What `poisson_weights` returns, some replicates at a time, so that they need little memory."""
    step = min(REPLICATES_AT_ONCE, max(1, WEIGHTS_AT_ONCE // max(1, len(keys))))
    for start in range(0, replicates, step):
        numbers = range(start, min(start + step, replicates))
        yield slice(numbers.start, numbers.stop), poisson_weights(keys, numbers, seed)


def weighted_sums(weights: DrawCounts, table: FloatArray) -> FloatArray:
    """``weights @ table``, (replicates, columns), in small products: BLAS threads would fight over busy cores."""
    total = np.zeros((len(weights), table.shape[1]))
    step = max(1, SMALL_PRODUCT // max(1, total.size))
    for start in range(0, len(table), step):
        rows = slice(start, start + step)
        total += weights[:, rows].astype(np.float64) @ table[rows]
    return total


def _fill(states: Keys, streams: Keys, limits: Keys, weights: DrawCounts) -> None:
    """Fill the weights, (replicates, n), from the states of rows and of replicates."""
    for stream, row in zip(streams, weights, strict=True):
        row[:] = np.searchsorted(limits, mixed(states + stream), side="right")


def _fill_by_loops(states: Keys, streams: Keys, limits: Keys, weights: DrawCounts) -> None:
    """Fill the weights as `_fill` does, for numba, which makes vector code of comparisons with every limit."""
    for r in range(len(streams)):
        for i in range(len(states)):
            drawn = mixed(states[i] + streams[r])
            count = 0
            for k in range(LARGEST_DRAW):
                count += drawn >= limits[k]
            weights[r, i] = count


@cache
def _compiled() -> Callable[[Keys, Keys, Keys, DrawCounts], None]:
    """The compiled form of `_fill_by_loops`; numba is imported when it is first asked for."""
    import numba

    from pandora_regret.core.kernels.numba_cache import njit

    numba.extending.register_jitable(mixed)
    fill: Callable[[Keys, Keys, Keys, DrawCounts], None] = njit(nogil=True, cache=True)(_fill_by_loops)
    return fill
