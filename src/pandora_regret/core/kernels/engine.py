"""Which loops do the work: the compiled ones where there is enough of it, else the reference, block by block.

Functions yield rows, some at a time, with what was computed of them; the rows' numbers have been checked. Compiled
loops get rows in chunks, on all cores, and leave NaN for those they cannot vouch for: these go to the reference,
which explains what is wrong with them, or scores them.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from math import ceil
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs import FloatArray, Forecast, IntArray, row_slices
from pandora_regret.core.kernels import reference
from pandora_regret.core.kernels.reference import BROKEN_AT_RANDOM, TieLosses, relative_tie
from pandora_regret.core.priors import Beta, Prior

Result = TypeVar("Result")
Rows: TypeAlias = Iterator[tuple[Forecast, FloatArray]]  # some at a time, with a number of each, or several

# installed, and not switched off, which would turn compiled loops into slow ones
HAS_NUMBA = find_spec("numba") is not None and os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
WORTH_COMPILING = 1 << 21  # numbers; fewer are scored by NumPy before numba is imported
WIDE = 128  # classes: a block has few such rows, and each step along their search takes some Python
LARGEST_EXACT_ALPHA = 1e3  # up to here the compiled logarithm of a ratio near 1, times alpha, is exact enough
ROWS_AT_ONCE = 334_000  # one number per row stays small beside the rows; threads a power of two apart collide
COPIED_ELEMENTS = 1 << 20  # half-precision and scattered rows are copied, this much at a time
CHUNK_ELEMENTS = 1 << 18  # at least, of what a thread is handed at a time
CHUNKS_PER_THREAD = 2  # at most: each costs some Python; a core that is interrupted keeps the others waiting less
MOST_PAIR_BYTES = 1 << 25  # of the (K, K) sums that threads keep to themselves


def worth_compiling(n_elements: int, alpha: float = 1.0) -> bool:
    """Whether compiled loops are worth importing numba, and perhaps waiting for its compiler.

    Parameters
    ----------
    n_elements
        How many numbers the work looks at.
    alpha
        Of the loss: the compiled loops do it to the last digits up to `LARGEST_EXACT_ALPHA`, and at infinity.

    Returns
    -------
    bool
        False, too, where numba is missing or switched off.
    """
    is_exact = alpha <= LARGEST_EXACT_ALPHA or alpha == np.inf
    return HAS_NUMBA and is_exact and n_elements >= WORTH_COMPILING


def _is_compiled(forecast: Forecast, alpha: float) -> bool:
    """Whether loops score a forecast and those alike; of logits at alpha = inf only if all costs are 1.

    (The rounding of the logarithms of costs would decide ties of logits.)
    """
    if alpha == np.inf and forecast.logits and forecast.costs is not None:
        return False
    return worth_compiling(forecast.alike * forecast.values.size, alpha)


def total_losses(forecast: Forecast, alpha: float, ties: TieLosses = BROKEN_AT_RANDOM) -> Rows:
    r"""The loss of each row, :math:`\sum_{j \ne i} C_j L_\alpha(q_i / q_j)`.

    Parameters
    ----------
    forecast
        Rows whose numbers have not been checked.
    alpha, ties
        As in `reference.pair_losses`.

    Yields
    ------
    tuple
        Some rows, and the loss of each.
    """
    if not _is_compiled(forecast, alpha):
        for block in forecast.blocks():
            yield block, reference.total_losses(block, alpha, ties)
        return
    for part in _parts(forecast):
        totals, doubtful = _compiled_totals(part, alpha, ties)
        if len(doubtful):
            blocks = part.rows(doubtful).blocks()
            totals[doubtful] = np.concatenate([reference.total_losses(block, alpha, ties) for block in blocks])
        yield part, totals


def realised_costs(forecast: Forecast, ties: TieLosses) -> Rows:
    r"""What each row's search costs at known costs: :math:`c_i + \frac12 \sum_{j \ne i} c_j L_\infty(q_i/q_j)`."""
    for rows, totals in total_losses(forecast, np.inf, ties):
        yield rows, reference.own_costs(rows) + totals / 2


def search_costs(forecast: Forecast, prior: Prior, numbers: IntArray | None = None) -> Rows:
    r"""The expected search cost of each row, :math:`C_i E[u_i] + \sum_{j \ne i} C_j L(r_{ij})`.

    Parameters
    ----------
    forecast, prior, numbers
        As in `reference.mean_waste`; the forecast's numbers have not been checked.

    Yields
    ------
    tuple
        Some rows, and the cost of each.
    """
    if isinstance(prior, Beta):
        for rows, totals in total_losses(forecast, prior.alpha):
            yield rows, prior.mean * (reference.own_costs(rows) + prior.loss_to_share * totals)
        return
    for block in forecast.blocks():
        wasted = reference.mean_waste(block, prior, numbers).sum(axis=1)
        yield block, reference.unavoidable_costs(block, prior, numbers) + wasted


def costs_for_every_truth(forecast: Forecast, prior: Prior) -> Rows:
    r"""What each row's search costs if class i is its truth, :math:`C_i E[u_i] + \sum_{j \ne i} C_j L(r_{ij})`.

    Parameters
    ----------
    forecast, prior
        As in `search_costs`; the forecast's truth is not looked at.

    Yields
    ------
    tuple
        Some rows, and the costs, (n, K), in column i if class i is the truth.
    """
    sweep = reference.sums_along_search
    n_elements = forecast.alike * forecast.values.size
    if isinstance(prior, Beta) and forecast.n_classes >= WIDE and worth_compiling(n_elements):
        from pandora_regret.core.kernels import compiled

        sweep = compiled.sums_along_search
    for block in forecast.blocks():
        wasted = reference.wasted_for_every_truth(block, prior, sweep)
        yield block, np.asarray(reference.costs_of(block) * prior.mean + wasted)


def wasted_pairs(
    forecast: Forecast, prior: Prior
) -> Iterator[tuple[Forecast, FloatArray, IntArray | slice, FloatArray]]:
    r"""What each row wastes on wrong tests, and who pays for which: :math:`C_j L(r_{ij})` summed in two ways.

    Parameters
    ----------
    forecast, prior
        As in `search_costs`.

    Yields
    ------
    tuple
        Some rows; what each wastes, (n,); some classes; and for each of these the weighted sums of what its rows
        waste on every class, (classes, K).
    """
    if not isinstance(prior, Beta) or not _is_compiled(forecast, prior.alpha):
        for block in forecast.blocks():
            wasted = reference.mean_waste(block, prior)
            classes, sums = reference.sums_by_truth(block, wasted)
            yield block, wasted.sum(axis=1), classes, sums
        return
    factor = prior.mean * prior.loss_to_share
    for part in _parts(forecast):
        pairs = np.zeros((part.n_classes, part.n_classes))
        totals, doubtful = _compiled_totals(part, prior.alpha, pairs=pairs)
        by_reference = [np.empty(0)]
        for block in part.rows(doubtful).blocks():
            losses = reference.pair_losses(block, prior.alpha)
            classes, sums = reference.sums_by_truth(block, losses)
            pairs[classes] += sums
            by_reference.append(losses.sum(axis=1))
        totals[doubtful] = np.concatenate(by_reference)
        yield part, factor * totals, slice(None), factor * pairs


def simulated_totals(forecast: Forecast, unit_costs: FloatArray) -> FloatArray:
    """The weighted total cost of all rows' searches under each drawn cost vector.

    Parameters
    ----------
    forecast
        Rows whose numbers have been checked.
    unit_costs
        Drawn from a prior, shape (draws, K).

    Returns
    -------
    array
        Shape (draws,).
    """
    totals = np.zeros(len(unit_costs))
    if worth_compiling(forecast.values.size * len(unit_costs)):
        for part in _parts(forecast):
            _add_compiled_searches(part, unit_costs, totals)
        return totals
    for block in forecast.blocks():
        for draws in row_slices(len(unit_costs), block.values.size):
            totals[draws] += reference.simulated_costs(block, unit_costs[draws]) @ block.each_weight
    return totals


def _add_compiled_searches(part: Forecast, unit_costs: FloatArray, totals: FloatArray) -> None:
    """Add what the searches of some rows cost under each drawn cost vector, (draws,)."""
    from pandora_regret.core.kernels import compiled

    costs = _cost_rows(part)
    tie = relative_tie(part)

    def search(draws: slice) -> None:
        of_classes = np.ascontiguousarray(unit_costs[draws].T)
        compiled.simulate(
            part.values, part.logits, part.truth, part.weights, costs, tie, of_classes, totals[draws]
        )

    in_threads(search, len(totals), part.values.size * len(totals))


def _parts(forecast: Forecast) -> Iterator[Forecast]:
    """Consecutive rows as loops read them: each row in one piece, float32 or float64."""
    precision = np.float64 if forecast.values.dtype.itemsize > 4 else np.float32
    for rows in _part_slices(forecast):
        part = forecast.rows(rows)
        yield replace(part, values=_as_loops_read(part.values, precision))


def _part_slices(forecast: Forecast) -> Iterator[slice]:
    """Which rows are scored together: many of the caller's own, or few enough to be copied."""
    values = forecast.values
    is_copied = not _is_read_in_place(values)
    step = max(1, COPIED_ELEMENTS // forecast.n_classes) if is_copied else ROWS_AT_ONCE
    for start in range(0, len(values), step):
        yield slice(start, min(start + step, len(values)))


def _is_read_in_place(values: NDArray[np.floating]) -> bool:
    """Whether loops can read a table as it lies in memory."""
    is_float = values.dtype in (np.float32, np.float64)  # not in another byte order
    return is_float and values.flags.aligned and values.flags.c_contiguous


def _as_loops_read(values: NDArray[np.floating], precision: type[np.floating]) -> NDArray[np.floating]:
    """A table as it lies in memory, or copied."""
    return values if _is_read_in_place(values) else np.ascontiguousarray(values, precision)


def _cost_rows(forecast: Forecast) -> FloatArray | None:
    """The base costs as loops read them: (1, K), or (n, K); None where all are 1."""
    if forecast.costs is None:
        return None
    return np.ascontiguousarray(np.atleast_2d(forecast.costs), np.float64)


def _compiled_totals(
    part: Forecast, alpha: float, ties: TieLosses = BROKEN_AT_RANDOM, pairs: FloatArray | None = None
) -> tuple[FloatArray, IntArray]:
    """The losses of rows by the compiled loops.

    Parameters
    ----------
    part
        From `_parts`.
    alpha, ties
        As in `reference.pair_losses`.
    pairs
        The weighted sums of ``C_j L_alpha(q_i / q_j)`` over the rows not in doubt are added to it, (K, K).

    Returns
    -------
    tuple
        The losses, (n,), NaN where a loop has a doubt; and the numbers of these rows.
    """
    totals = np.empty(len(part))

    def score(rows: slice) -> FloatArray | None:
        own_pairs = None if pairs is None else np.zeros(pairs.shape)
        _score_compiled(part.rows(rows), alpha, ties, totals[rows], own_pairs)
        return own_pairs

    n_elements = part.values.size
    if pairs is not None and pairs.nbytes * _n_threads() * CHUNKS_PER_THREAD > MOST_PAIR_BYTES:
        n_elements = 0  # one thread, and one table of pairs
    of_threads = in_threads(score, len(part), n_elements)
    if pairs is not None:
        pairs += np.sum([own_pairs for own_pairs in of_threads if own_pairs is not None], axis=0)
    return totals, np.flatnonzero(np.isnan(totals))


def _score_compiled(
    rows: Forecast, alpha: float, ties: TieLosses, losses: FloatArray, pairs: FloatArray | None
) -> None:
    """Score rows by the loop for probabilities or logits; see `compiled.score_rows`."""
    from pandora_regret.core.kernels import compiled

    truth = np.ascontiguousarray(rows.truth, np.int64)
    weights = None if rows.weights is None or pairs is None else np.ascontiguousarray(rows.weights, np.float64)
    costs = _cost_rows(rows)
    tie = relative_tie(rows)
    if rows.logits:
        log_costs = None if costs is None else np.log(costs)
        compiled.score_logits(rows.values, truth, weights, costs, log_costs, alpha, tie, ties, losses, pairs)
    else:
        compiled.score_rows(rows.values, truth, weights, costs, alpha, tie, ties, rows.tolerance, losses, pairs)


def _n_threads() -> int:
    """As many as numba would use: the cores this process may run on, or what NUMBA_NUM_THREADS says."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(os.environ.get("NUMBA_NUM_THREADS") or cores)


def in_threads(job: Callable[[slice], Result], n_items: int, n_elements: int) -> list[Result]:
    """Do slices of some items in threads, on all cores if that is worth it.

    Parameters
    ----------
    job
        What is done to a slice of the items; it releases the interpreter's lock.
    n_items
        How many items there are.
    n_elements
        How many numbers they hold, which says whether they are worth several threads.

    Returns
    -------
    list
        What the job returned for each slice, in order.
    """
    threads = _n_threads()
    chunks = 1
    if threads > 1:
        chunks = min(CHUNKS_PER_THREAD * threads, max(1, n_elements // CHUNK_ELEMENTS))
    if chunks > threads:
        chunks -= chunks % threads  # three chunks would keep two threads for two rounds
    step = ceil(n_items / chunks)
    slices = [slice(start, min(start + step, n_items)) for start in range(0, n_items, step)]
    if len(slices) == 1:
        return [job(slices[0])]
    return list(_pool().map(job, slices))


@cache
def _pool() -> ThreadPoolExecutor:
    """The threads among which rows are divided; made once, when they are first needed."""
    return ThreadPoolExecutor(_n_threads())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a forked process has none of its parent's threads
