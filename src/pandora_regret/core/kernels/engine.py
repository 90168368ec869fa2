"""Which loops do the work: the compiled ones where there is enough of it, else the reference, block by block.

Functions yield rows, some at a time, with what was computed of them; the rows' numbers have been checked. Compiled
loops get rows in chunks, on all cores, and leave NaN for those they cannot vouch for: these go to the reference,
which explains what is wrong with them, or scores them.
"""

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np

from pandora_regret.core.inputs import FloatArray, Forecast, IntArray, row_slices
from pandora_regret.core.kernels import native, reference
from pandora_regret.core.kernels.reference import BROKEN_AT_RANDOM, Ties, relative_tie
from pandora_regret.core.priors import Beta, Prior

Rows: TypeAlias = Iterator[tuple[Forecast, FloatArray]]  # some at a time, with a number of each

# installed, and not switched off, which would turn compiled loops into slow ones
HAS_NUMBA = find_spec("numba") is not None and os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
WORTH_COMPILING = 1 << 19  # elements; fewer are scored by NumPy as fast
TO_LOAD, TO_IMPORT, TO_COMPILE = 2, 32, 256  # times as many, in all: what NumPy scores until there are loops
BLOCKS = 4  # a full block is one of many: so many times its size decide whether to compile
FEW_CLASSES, FEWER_CLASSES = 32, 12  # at alpha 1, and at others, K compiled passes over pairs beat a sort
LARGEST_ALPHA = 1e3  # up to here the compiled logarithm of a ratio near 1, times alpha, is exact enough
ROWS_AT_ONCE = 334_000  # one number per row stays small beside the rows; threads a power of two apart collide
COPIED_ELEMENTS = 1 << 20  # half-precision and scattered rows are copied, this much at a time
CHUNK_ELEMENTS = 1 << 18  # at least, of what a thread is handed at a time
CHUNKS_PER_THREAD = 2  # at most: each costs some Python; a core that is interrupted keeps the others waiting less
MOST_PAIR_BYTES = 1 << 25  # of the (K, K) sums that threads keep to themselves
_work_so_far: list[int] = []  # elements


def worth_compiling(n_elements: int, alpha: float = 1.0, *, only_scores: bool = False) -> bool:
    """Whether the work is large, alpha one that the compiled loops do to the last digits, and numba here.

    In a process that has no loops, the work so far must have been worth the wait for the first. The loop that
    scores is loaded without numba.
    """
    if n_elements < WORTH_COMPILING or not (alpha <= LARGEST_ALPHA or alpha == np.inf) or not HAS_NUMBA:
        return False
    if "pandora_regret.core.kernels.jit" in sys.modules or (only_scores and native.loop.cache_info().currsize):
        return True
    _work_so_far.append(n_elements)
    kept, waited = ("score-*.o", TO_LOAD) if only_scores else ("*/*.nbi", TO_IMPORT)
    return sum(_work_so_far) >= WORTH_COMPILING * (waited if native.is_kept(kept) else TO_COMPILE)


def _is_compiled(forecast: Forecast, alpha: float, alike: int = 1) -> bool:
    """Whether loops are: the logarithm of a compiled cost would decide ties of logits otherwise."""
    exact = alpha < np.inf or not forecast.logits or forecast.costs is None
    return exact and worth_compiling(alike * forecast.values.size, alpha, only_scores=True)


def total_losses(forecast: Forecast, alpha: float, ties: Ties = BROKEN_AT_RANDOM, alike: int = 1) -> Rows:
    """``sum_j C_j L_alpha(q_i / q_j)`` of each row; the forecasts are one of so many tables alike."""
    if not _is_compiled(forecast, alpha, alike):
        yield from ((block, reference.total_losses(block, alpha, ties)) for block in forecast.blocks())
        return
    for part in _parts(forecast):
        totals, doubtful = _compiled_totals(part, alpha, ties)
        if len(doubtful):
            blocks = part.rows(doubtful).blocks()
            totals[doubtful] = np.concatenate([reference.total_losses(block, alpha, ties) for block in blocks])
        yield part, totals


def realised_costs(forecast: Forecast, ties: Ties, alike: int = 1) -> Rows:
    """What each row's search costs when the costs are known."""
    for rows, totals in total_losses(forecast, np.inf, ties, alike):
        yield rows, reference.own_costs(rows) + totals / 2


def search_costs(forecast: Forecast, prior: Prior, numbers: IntArray | None = None) -> Rows:
    """``C_i E[u_i] + sum_j C_j L(r_ij)`` of each row; `numbers` as in `reference.mean_waste`."""
    if isinstance(prior, Beta):
        for rows, totals in total_losses(forecast, prior.alpha):
            yield rows, prior.mean * (reference.own_costs(rows) + prior.loss_to_share * totals)
        return
    for block in forecast.blocks():
        wasted = reference.mean_waste(block, prior, numbers).sum(axis=1)
        yield block, reference.unavoidable_costs(block, prior, numbers) + wasted


def wasted_pairs(forecast: Forecast, prior: Prior) -> Iterator[tuple[Forecast, FloatArray, Any, FloatArray]]:
    """What each row wastes; some classes, and the weighted sums of what their rows waste on every class."""
    if not isinstance(prior, Beta) or not _is_compiled(forecast, prior.alpha):
        for block in forecast.blocks():
            wasted = reference.mean_waste(block, prior)
            yield block, wasted.sum(axis=1), *reference.sums_by_truth(block, wasted)
        return
    factor = prior.mean * prior.loss_to_share
    for part in _parts(forecast):
        pairs, by_reference = np.zeros((part.n_classes, part.n_classes)), [np.empty(0)]
        totals, doubtful = _compiled_totals(part, prior.alpha, pairs=pairs)
        for block in part.rows(doubtful).blocks():
            losses = reference.pair_losses(block, prior.alpha)
            classes, sums = reference.sums_by_truth(block, losses)
            pairs[classes] += sums
            by_reference.append(losses.sum(axis=1))
        totals[doubtful] = np.concatenate(by_reference)
        yield part, factor * totals, slice(None), factor * pairs


def simulated_totals(forecast: Forecast, unit_costs: FloatArray) -> FloatArray:
    """The weighted total cost of all rows' searches under each drawn cost vector, (D, K) -> (D,)."""
    totals = np.zeros(len(unit_costs))
    if worth_compiling(forecast.values.size * len(unit_costs)):
        from pandora_regret.core.kernels import cpu

        for part in _parts(forecast):
            costs = part.costs if part.costs is None else np.ascontiguousarray(np.atleast_2d(part.costs))
            about = (part.logits, part.truth, part.weights, costs, relative_tie(part))
            rows = (np.ascontiguousarray(part.values), *about)

            def search(draws: slice, rows: Any = rows) -> None:
                cpu.simulate(*rows, np.ascontiguousarray(unit_costs[draws].T), totals[draws])

            in_threads(search, len(totals), part.values.size * len(totals))
        return totals
    for block in forecast.blocks():
        for draws in row_slices(len(unit_costs), block.values.size):
            totals[draws] += reference.simulated_costs(block, unit_costs[draws]) @ block.each_weight
    return totals


def wasted_for_every_truth(block: Forecast, prior: Prior) -> FloatArray:
    """``sum_j C_j L(r_ij)`` in column i, as if i were the truth, (n, K); of few classes in a pass for each."""
    n = block.n_classes
    if not isinstance(prior, Beta) or n > (FEW_CLASSES if prior.alpha == 1 else FEWER_CLASSES):
        return reference.wasted_for_every_truth(block, prior)
    if not 0 < prior.alpha < np.inf or not _is_compiled(block, prior.alpha, BLOCKS):
        return reference.wasted_for_every_truth(block, prior)
    [rows] = _parts(block)
    each = (_compiled_totals(reference.if_true(rows, i), prior.alpha)[0] for i in range(n))
    table = prior.mean * (prior.loss_to_share * np.stack(list(each), axis=1))
    doubtful = np.flatnonzero(np.isnan(table).any(axis=1))
    if len(doubtful):
        table[doubtful] = reference.wasted_for_every_truth(block.rows(doubtful), prior)
    return table


def _parts(forecast: Forecast) -> Iterator[Forecast]:
    """Consecutive rows as loops read them: forecasts the caller's own, or few enough to be copied."""
    values = forecast.values
    in_place = values.dtype in (np.float32, np.float64) and values.flags.aligned
    in_place = in_place and not any(step % values.itemsize for step in values.strides)
    in_place = in_place and values.itemsize in values.strides  # rows or columns in one piece
    step = ROWS_AT_ONCE if in_place else max(1, COPIED_ELEMENTS // forecast.n_classes)
    for start in range(0, len(forecast), step):
        part = forecast.rows(slice(start, start + step))
        copied = part.values if in_place else part.values.astype(np.float32 if values.itemsize < 4 else np.float64)
        yield replace(part, values=copied)


def _compiled_totals(
    part: Forecast, alpha: float, ties: Ties = BROKEN_AT_RANDOM, pairs: FloatArray | None = None
) -> tuple[FloatArray, IntArray]:
    """Total losses, (n,), NaN where the compiled loop has a doubt; and which rows these are.

    The weighted sums of ``C_j L_alpha(q_i / q_j)`` over the others are added to `pairs`, (K, K).
    """
    totals, table = np.empty(len(part)), native.table_of(part.values)
    (lower, higher), tie = ties, relative_tie(part)

    def score(rows: slice) -> Any:
        own = None if pairs is None else np.zeros(pairs.shape)
        native.score(
            table,
            part.truth,
            rows,
            alpha=alpha,
            weights=part.weights,
            costs=part.costs,
            logits=part.logits,
            tolerance=part.tolerance,
            tie=tie,
            lower=lower,
            higher=higher,
            losses=totals,
            pairs=own,
        )
        return own

    native.loop()  # in one thread
    fits = pairs is None or pairs.nbytes * _n_threads() * CHUNKS_PER_THREAD <= MOST_PAIR_BYTES
    sums = in_threads(score, len(part), part.values.size if fits else 0)
    if pairs is not None:
        pairs += np.sum(sums, axis=0)
    return totals, np.flatnonzero(np.isnan(totals))


def _n_threads() -> int:
    """As many as numba would use: the cores this process may run on, or what NUMBA_NUM_THREADS says."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(os.environ.get("NUMBA_NUM_THREADS") or cores)


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
