"""The compiled loops at work: rows cut into chunks for all cores, doubtful rows handed to the reference."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from pandora_regret.inputs import FloatArray, Forecast
from pandora_regret.kernels import cpu, lanes, reference
from pandora_regret.kernels.reference import BROKEN_AT_RANDOM, Ties, relative_tie

ROWS_AT_ONCE = 334_000  # one number per row stays small beside the rows; threads a power of two apart collide
COPIED_ELEMENTS = 1 << 20  # half-precision and scattered rows are copied, this much at a time
CHUNK_ELEMENTS = 1 << 18  # at least, of what a thread is handed at a time
CHUNKS_PER_THREAD = 8  # at most; a core that is interrupted does not keep the others waiting
MOST_PAIR_BYTES = 1 << 25  # of the (K, K) sums that threads keep to themselves


def total_losses(forecast: Forecast, alpha: float) -> Iterator[tuple[Forecast, FloatArray]]:
    """Rows, a part at a time, and ``sum_j C_j L_alpha(q_i / q_j)`` of each, (n,)."""
    for part in _parts(forecast):
        totals, n_doubtful = _compiled_totals(part, alpha, BROKEN_AT_RANDOM)
        by_reference = partial(reference.total_losses, alpha=alpha)
        yield part, _fall_back_to_reference(totals, part, by_reference) if n_doubtful else totals


def losses_for_every_truth(block: Forecast, alpha: float) -> FloatArray:
    """``sum_j C_j L_alpha(q_i / q_j)`` in column i, as if i were the truth, (n, K)."""
    rows = replace(block, values=_plain(block.values))
    each = (_compiled_totals(reference.if_true(rows, i), alpha, BROKEN_AT_RANDOM) for i in range(block.n_classes))
    table = np.stack([totals for totals, _ in each], axis=1)
    doubtful = np.flatnonzero(np.isnan(table).any(axis=1))
    if len(doubtful):
        table[doubtful] = reference.losses_for_every_truth(block.rows(doubtful), alpha)
    return table


def realised_costs(forecast: Forecast, ties: Ties) -> Iterator[tuple[Forecast, FloatArray]]:
    """Rows, a part at a time, and the cost of each row's search, (n,)."""
    for part in _parts(forecast):
        costs = reference.own_costs(part) + _compiled_totals(part, np.inf, ties)[0] / 2
        yield part, _fall_back_to_reference(costs, part, partial(reference.realised_costs, ties=ties))


def pair_losses(forecast: Forecast, alpha: float) -> Iterator[tuple[Forecast, FloatArray, FloatArray]]:
    """Rows, a part at a time, their total losses, and the weighted sums of ``C_j L_alpha(q_i / q_j)``, (K, K)."""
    for part in _parts(forecast):
        totals, _ = _compiled_totals(part, alpha, BROKEN_AT_RANDOM)
        pairs = _pair_sums(part, alpha, totals)
        for block in _doubtful_rows(totals, part).blocks():
            classes, sums = reference.sums_by_truth(block, reference.pair_losses(block, alpha))
            pairs[classes] += sums
        yield part, _fall_back_to_reference(totals, part, partial(reference.total_losses, alpha=alpha)), pairs


def simulated_totals(forecast: Forecast, unit_costs: FloatArray) -> FloatArray:
    """The weighted total cost of all searches under each drawn cost vector, (D, K) -> (D,)."""
    totals = np.zeros(len(unit_costs))
    for part in _parts(forecast):
        totals += _simulated(part, unit_costs)
    return totals


def _simulated(part: Forecast, unit_costs: FloatArray) -> FloatArray:
    spent = np.empty(len(unit_costs))
    costs, tie = _two_dimensional(part.costs), relative_tie(part)
    forecasts = (part.values, part.logits, part.truth, part.weights, costs, tie)

    def search(draws: slice) -> None:
        cpu.simulate(*forecasts, unit_costs[draws], spent[draws])

    in_threads(search, len(unit_costs), part.values.size * len(unit_costs))
    return spent


def _parts(forecast: Forecast) -> Iterator[Forecast]:
    """Consecutive rows whose values numba can read: the caller's own, or few enough to be copied."""
    in_place = forecast.values.flags.c_contiguous and forecast.values.dtype.itemsize >= 4
    step = ROWS_AT_ONCE if in_place else max(1, COPIED_ELEMENTS // forecast.n_classes)
    for start in range(0, len(forecast), step):
        part = forecast.rows(slice(start, start + step))
        yield replace(part, values=_plain(part.values))


def _compiled_totals(part: Forecast, alpha: float, ties: Ties) -> tuple[FloatArray, int]:
    """Total losses, (n,), NaN where the compiled loop has a doubt; of how many rows it has one."""
    totals, one_price_list = np.empty(len(part)), part.costs is None or part.costs.ndim == 1
    exact = alpha < np.inf or not part.logits or part.costs is None
    loops = lanes if part.n_classes <= lanes.MOST_CLASSES and one_price_list and exact else cpu
    costs, options = _two_dimensional(part.costs), (alpha, relative_tie(part), ties, part.tolerance)

    def score(chunk: slice) -> int:
        of_rows = costs if one_price_list or costs is None else costs[chunk]
        forecasts = (part.values[chunk], part.logits, part.truth[chunk], of_rows)
        return int(loops.total_losses(*forecasts, *options, totals[chunk]))

    return totals, sum(in_threads(score, len(part), part.values.size))


def _pair_sums(part: Forecast, alpha: float, totals: FloatArray) -> FloatArray:
    def sums(chunk: slice) -> FloatArray:
        rows, pairs = part.rows(chunk), np.zeros((part.n_classes, part.n_classes))
        forecasts = (rows.values, rows.logits, rows.truth, _two_dimensional(rows.costs))
        cpu.pair_sums(*forecasts, alpha, relative_tie(rows), rows.weights, totals[chunk], pairs)
        return pairs

    fits = part.n_classes**2 * 8 * _n_threads() * CHUNKS_PER_THREAD <= MOST_PAIR_BYTES
    return np.asarray(np.sum(in_threads(sums, len(part), part.values.size if fits else 0), axis=0))


def _doubtful_rows(totals: FloatArray, part: Forecast) -> Forecast:
    return part.rows(np.flatnonzero(np.isnan(totals)))


def _fall_back_to_reference(
    totals: FloatArray, part: Forecast, by_reference: Callable[[Forecast], FloatArray]
) -> FloatArray:
    """Doubtful rows scored by the reference, which first explains what is wrong with them if anything is."""
    if np.isnan(totals.sum()):
        doubtful = np.isnan(totals)
        totals[doubtful] = np.concatenate([by_reference(block) for block in _doubtful_rows(totals, part).blocks()])
    return totals


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """Contiguous float32 or float64: the same array, unless it has to be copied."""
    return np.ascontiguousarray(values, dtype=np.float32 if values.dtype.itemsize < 4 else values.dtype)


def _two_dimensional(costs: FloatArray | None) -> FloatArray | None:
    return costs if costs is None else np.ascontiguousarray(np.atleast_2d(costs))


def _n_threads() -> int:
    """As many as numba would use: the cores this process may run on, or what NUMBA_NUM_THREADS says."""
    return int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


def in_threads(job: Callable[[slice], Any], n_items: int, n_elements: int) -> list[Any]:
    """What a job that releases the interpreter's lock makes of slices of its items, on all cores if worth it."""
    threads = _n_threads()
    chunks = min(CHUNKS_PER_THREAD * threads, max(1, n_elements // CHUNK_ELEMENTS)) if threads > 1 else 1
    chunks -= chunks % threads if chunks > threads else 0  # three chunks would keep two threads for two rounds
    step = -(-n_items // chunks)
    slices = [slice(start, min(start + step, n_items)) for start in range(0, n_items, step)]
    return [job(slices[0])] if len(slices) == 1 else list(_pool().map(job, slices))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_n_threads())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a forked process has none of its parent's threads
