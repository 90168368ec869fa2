"""Which loops do the work: the compiled ones where there is enough of it, else the reference, block by block.

Every function yields rows, some at a time, with what was computed of them; the rows' numbers have been checked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from pandora_regret.inputs import FloatArray, Forecast
from pandora_regret.inputs.tables import row_slices
from pandora_regret.kernels import reference
from pandora_regret.kernels.reference import Ties
from pandora_regret.priors import Beta, Prior

WORTH_COMPILING = 1 << 19  # elements; fewer are scored by NumPy before numba has even been imported
BLOCKS = 4  # a full block is one of many: so many times its size decide whether to compile
FEW_CLASSES, FEWER_CLASSES = 128, 12  # at alpha 1, and at others, K compiled passes over pairs beat a sort
LARGEST_ALPHA = 1e3  # up to here the compiled logarithm of a ratio near 1, times alpha, is exact enough


@cache
def has_numba() -> bool:
    """Installed, and not switched off, which would turn compiled loops into slow ones."""
    return find_spec("numba") is not None and os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


def worth_compiling(n_elements: int, alpha: float = 1.0) -> bool:
    """Whether the work is large, alpha one that the compiled loops do to the last digits, and numba here."""
    return n_elements >= WORTH_COMPILING and (alpha <= LARGEST_ALPHA or alpha == np.inf) and has_numba()


def total_losses(forecast: Forecast, alpha: float) -> Iterator[tuple[Forecast, FloatArray]]:
    """``sum_j C_j L_alpha(q_i / q_j)`` of each row."""
    if worth_compiling(forecast.values.size, alpha):
        from pandora_regret.kernels import compiled

        return compiled.total_losses(forecast, alpha)
    return ((block, reference.total_losses(block, alpha)) for block in forecast.blocks())


def search_costs(forecast: Forecast, prior: Prior) -> Iterator[tuple[Forecast, FloatArray]]:
    """``C_i E[u_i] + sum_j C_j L(r_ij)`` of each row."""
    if isinstance(prior, Beta):
        for rows, totals in total_losses(forecast, prior.alpha):
            yield rows, prior.mean * (reference.own_costs(rows) + prior.loss_to_share * totals)
        return
    for block in forecast.blocks():
        yield block, reference.unavoidable_costs(block, prior) + reference.mean_waste(block, prior).sum(axis=1)


def wasted_pairs(forecast: Forecast, prior: Prior) -> Iterator[tuple[Forecast, FloatArray, Any, FloatArray]]:
    """What each row wastes; some classes, and the weighted sums of what their rows waste on every class."""
    if isinstance(prior, Beta) and worth_compiling(forecast.values.size, prior.alpha):
        from pandora_regret.kernels import compiled

        factor = prior.mean * prior.loss_to_share
        for rows, totals, pairs in compiled.pair_losses(forecast, prior.alpha):
            yield rows, factor * totals, slice(None), factor * pairs
        return
    for block in forecast.blocks():
        wasted = reference.mean_waste(block, prior)
        yield block, wasted.sum(axis=1), *reference.sums_by_truth(block, wasted)


def realised_costs(forecast: Forecast, ties: Ties) -> Iterator[tuple[Forecast, FloatArray]]:
    """What each row's search costs when the costs are known."""
    if worth_compiling(forecast.values.size):
        from pandora_regret.kernels import compiled

        return compiled.realised_costs(forecast, ties)
    return ((block, reference.realised_costs(block, ties)) for block in forecast.blocks())


def simulated_totals(forecast: Forecast, unit_costs: FloatArray) -> FloatArray:
    """The weighted total cost of all rows' searches under each drawn cost vector."""
    if worth_compiling(forecast.values.size * len(unit_costs)):
        from pandora_regret.kernels import compiled

        return compiled.simulated_totals(forecast, unit_costs)
    totals = np.zeros(len(unit_costs))
    for block in forecast.blocks():
        weights = np.ones(len(block)) if block.weights is None else block.weights
        for draws in row_slices(len(unit_costs), block.values.size):
            totals[draws] += reference.simulated_costs(block, unit_costs[draws]) @ weights
    return totals


def wasted_for_every_truth(block: Forecast, prior: Prior) -> FloatArray:
    """``sum_j C_j L(r_ij)`` in column i, as if i were the truth, (n, K); of few classes in a pass for each."""
    if isinstance(prior, Beta) and 0 < prior.alpha < np.inf:
        n, few = block.n_classes, FEW_CLASSES if prior.alpha == 1 else FEWER_CLASSES
        if n <= few and worth_compiling(BLOCKS * n * block.values.size, prior.alpha):
            from pandora_regret.kernels import compiled

            return prior.mean * (prior.loss_to_share * compiled.losses_for_every_truth(block, prior.alpha))
    return reference.wasted_for_every_truth(block, prior)
