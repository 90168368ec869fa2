"""The search itself: in which order to test, what that costs, and what it costs over drawn costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.inputs import (
    FloatArray,
    Forecast,
    InputError,
    IntArray,
    Labels,
    Table,
    read_costs,
    read_count,
    read_forecast,
    read_probabilities,
)
from pandora_regret.inputs.tables import BLOCK_ELEMENTS
from pandora_regret.kernels.reference import costs_of, log_ratio, of_class, realised_costs
from pandora_regret.kernels.reference import search_order as order_of
from pandora_regret.priors import Prior
from pandora_regret.scores import mean_or_rows, priced
from pandora_regret.tally import Mean

Ties: TypeAlias = Literal["index", "average"]

SMALLEST_COST = np.finfo(np.float64).tiny  # where a product underflows: p / c stays finite


class Simulation(NamedTuple):
    """A Monte Carlo estimate of the mean search cost."""

    mean: float
    standard_error: float


def search_order(y_proba: Table, costs: Any, *, labels: ArrayLike | None = None, logits: bool = False) -> IntArray:
    """The optimal order of tests: class numbers by falling ``p_k / c_k``, best first; ties by class number.

    `y_proba` is one forecast, shape (K,), or a table of them, (N, K); the answer has its shape. Impossible
    classes come last, the cheapest of them first. `costs` has shape (K,) or (N, K), or is named by class.

    Examples
    --------
    >>> search_order([0.6, 0.3, 0.1], costs=[10.0, 2.0, 1.0])
    array([1, 2, 0])
    """
    single = np.ndim(y_proba) == 1
    forecast = read_probabilities(np.asarray(y_proba)[None] if single else y_proba, labels=labels, logits=logits)
    forecast = forecast.with_costs(read_costs(costs, forecast))
    orders = np.concatenate([order_of(block) for block in forecast.blocks()])
    return orders[0] if single else orders


def search_cost(
    y_true: Labels,
    y_proba: Table,
    costs: Any,
    *,
    ties: Ties = "index",
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    per_instance: bool = False,
) -> float | FloatArray:
    """What the optimal search costs when the costs are known: c of every class tested, the truth included.

    Parameters
    ----------
    costs
        Costs of the tests, shape (K,), or (N, K) where each instance has its own, or named by class.
    ties
        Of ``p_k / c_k``: "index" tests the lower class number first, as the paper's simulator does; "average"
        breaks ties at random, as its theory does, and returns the mean.

    Other parameters as in `pandora_regret`.

    Examples
    --------
    >>> search_cost([0, 2], [[0.6, 0.3, 0.1], [0.6, 0.3, 0.1]], costs=[10.0, 2.0, 1.0], per_instance=True)
    array([13.,  3.])
    """
    forecast = read_forecast(y_true, y_proba, labels=labels, sample_weight=sample_weight, logits=logits)
    forecast = forecast.with_costs(read_costs(costs, forecast))
    tie_share = _read_ties(ties)
    rows = ((realised_costs(block, tie_share), block.weights) for block in forecast.blocks())
    return mean_or_rows(rows, per_instance)


def _read_ties(ties: Ties) -> Callable[[IntArray, IntArray], Any]:
    """How much of a tied class's cost is paid, given the truth's number and its own."""
    if ties == "index":
        return np.greater
    if ties == "average":
        return lambda truth, other: 0.5
    raise InputError(f"ties is {ties!r}: pass 'index' (lower class number first) or 'average'.")


def simulate_search(
    y_true: Labels,
    y_proba: Table,
    *,
    prior: Prior | None = None,
    costs: Any = None,
    typical_costs: Any = None,
    draws: int = 1000,
    seed: int | np.random.Generator | None = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
) -> Simulation:
    """The mean search cost by Monte Carlo: costs are drawn, searches run, and their costs averaged.

    Each draw is one vector of costs that all instances share. The standard error speaks of the draws only, so
    the estimate tends to `expected_search_cost` of the same arguments. Memory does not grow with `draws`.

    Examples
    --------
    >>> result = simulate_search([0, 1], [[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]], draws=4000, seed=0)
    >>> abs(result.mean - 0.7916667) < 4 * result.standard_error
    True
    """
    forecast = read_forecast(y_true, y_proba, labels=labels, sample_weight=sample_weight, logits=logits)
    prior, forecast = priced(forecast, prior, costs, typical_costs)
    mean, rng = Mean(), np.random.default_rng(seed)
    for n_draws in _batches(read_count(draws, "draws"), forecast.values.size):
        unit_costs = prior.sample(n_draws, forecast.n_classes, rng)
        mean.add(_mean_costs(forecast, unit_costs))
    return Simulation(mean.mean, mean.standard_error)


def _batches(draws: int, n_elements: int) -> Iterator[int]:
    """As many draws at a time as keep temporaries small; never fewer than one."""
    step = max(1, BLOCK_ELEMENTS // n_elements)
    yield from (min(step, draws - start) for start in range(0, draws, step))


def _mean_costs(forecast: Forecast, unit_costs: FloatArray) -> FloatArray:
    """The mean cost over instances, under each drawn cost vector."""
    totals, weight = np.zeros(len(unit_costs)), 0.0
    for block in forecast.blocks():
        w = np.ones(len(block)) if block.weights is None else block.weights
        totals += _simulated_costs(block, unit_costs) @ w
        weight += w.sum()
    return np.asarray(totals / weight)


def _simulated_costs(block: Forecast, unit_costs: FloatArray) -> FloatArray:
    """The cost of every row's search under every drawn cost vector, found by comparison with the truth."""
    costs = np.maximum(costs_of(block) * unit_costs[:, None, :], SMALLEST_COST)  # (draws, rows, K)
    truth = np.broadcast_to(block.truth[None, :, None], (*costs.shape[:2], 1))
    our_cost = np.take_along_axis(costs, truth, axis=2)
    merit = _merit(block, costs, our_cost)
    ours = np.take_along_axis(merit, truth, axis=2)
    before = (merit > ours) + 0.5 * (merit == ours)  # the truth ties with itself: half of its cost
    return np.asarray((costs * before).sum(axis=2) + our_cost[:, :, 0] / 2)


def _merit(block: Forecast, costs: FloatArray, our_cost: FloatArray) -> FloatArray:
    """What the search sorts by: ``p / c`` or its logarithm; below all that, impossible classes, cheapest first."""
    if block.logits:
        return -log_ratio(of_class(block.values, block.truth), block.values, our_cost, costs, logits=True)
    return np.where(block.values > 0, block.values / costs, -costs)
