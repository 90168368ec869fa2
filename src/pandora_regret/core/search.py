"""The search itself: in which order to test, what that costs, and what it costs over drawn costs."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.core.inputs import (
    ByClass,
    FloatArray,
    IntArray,
    Labels,
    NamedValues,
    Seed,
    Table,
    has_names,
    is_frame,
    read_array,
    read_case,
    read_choice,
    read_costs,
    read_count,
    read_forecast,
    read_probabilities,
    read_seed,
    row_slices,
)
from pandora_regret.core.kernels.engine import realised_costs, simulated_totals
from pandora_regret.core.kernels.reference import BROKEN_AT_RANDOM, BROKEN_BY_INDEX
from pandora_regret.core.kernels.reference import search_order as order_of
from pandora_regret.core.priors import Prior
from pandora_regret.core.scores import Score, ScoreOptions, mean_or_rows, priced
from pandora_regret.core.tally import Means

Ties: TypeAlias = Literal["index", "average"]
TIES = {"index": "the lower class number first", "average": "broken at random, on average"}


class Simulation(NamedTuple):
    """A Monte Carlo estimate of the mean search cost."""

    mean: float
    standard_error: float


def search_order(
    y_proba: Table | NamedValues,
    costs: ByClass,
    *,
    labels: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
) -> IntArray:
    """The optimal order of tests: class numbers by falling ``p_k / c_k``, best first; ties by class number.

    Impossible classes come last, the cheapest of them first.

    Parameters
    ----------
    y_proba
        One forecast, shape (K,), or a table of them, (N, K).
    costs
        Shape (K,) or (N, K), or named by class.
    labels, logits, normalise
        As in `pandora_regret`.

    Returns
    -------
    array
        Class numbers, shape (K,) or (N, K).

    See Also
    --------
    plan_search : The same with costs and chances, step by step.
    imperfect_order : For tests that may miss.

    References
    ----------
    Flores et al. (2026), Section 2.1 [flores26]_.

    Examples
    --------
    >>> search_order([0.6, 0.3, 0.1], costs=[10.0, 2.0, 1.0])
    array([1, 2, 0])
    """
    single = not is_frame(y_proba) and (has_names(y_proba) or read_array(y_proba, "y_proba").ndim == 1)
    if single:
        forecast = read_case(y_proba, labels, logits, normalise)
    else:
        forecast = read_probabilities(y_proba, labels, None, logits, normalise)
    forecast = forecast.with_costs(read_costs(costs, forecast.labels, len(forecast)))
    orders = np.concatenate([order_of(block) for block in forecast.blocks()])
    return orders[0] if single else orders


@overload
def search_cost(
    y_true: Labels,
    y_proba: Table,
    costs: ByClass,
    *,
    ties: Ties = ...,
    per_instance: Literal[False] = ...,
    **options: Unpack[ScoreOptions],
) -> float: ...
@overload
def search_cost(
    y_true: Labels,
    y_proba: Table,
    costs: ByClass,
    *,
    ties: Ties = ...,
    per_instance: Literal[True],
    **options: Unpack[ScoreOptions],
) -> FloatArray: ...
@overload
def search_cost(
    y_true: Labels,
    y_proba: Table,
    costs: ByClass,
    *,
    ties: Ties = ...,
    per_instance: bool,
    **options: Unpack[ScoreOptions],
) -> Score: ...
def search_cost(
    y_true: Labels,
    y_proba: Table,
    costs: ByClass,
    *,
    ties: Ties = "index",
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    per_instance: bool = False,
) -> Score:
    """What the optimal search costs when the costs are known: c of every class tested, the truth included.

    Parameters
    ----------
    y_true, y_proba, labels, sample_weight, logits, normalise, per_instance
        As in `pandora_regret`.
    costs
        Costs of the tests, shape (K,), or (N, K) where each instance has its own, or named by class.
    ties
        Of ``p_k / c_k``, that is quotients equal but for rounding (4.5 units in the last place of the forecasts'
        precision): "index" tests the lower class number first, as the paper's simulator does; "average" breaks
        ties at random, as its theory does, and returns the mean.

    Returns
    -------
    float or array
        In the costs' unit: the weighted mean, or one cost per instance, shape (N,), if `per_instance`.

    See Also
    --------
    expected_search_cost : For costs that vary: strictly proper.
    workup_cost : For tests that tell about several classes.

    References
    ----------
    Flores et al. (2026), Section 2.1, and the simulator of its study [flores26]_.

    Examples
    --------
    >>> search_cost([0, 2], [[0.6, 0.3, 0.1], [0.6, 0.3, 0.1]], costs=[10.0, 2.0, 1.0], per_instance=True)
    array([13.,  3.])
    """
    forecast = read_forecast(y_true, y_proba, labels, sample_weight, logits, normalise)
    broken = BROKEN_BY_INDEX if read_choice(ties, "ties", TIES) == "index" else BROKEN_AT_RANDOM
    forecast = forecast.with_costs(read_costs(costs, forecast.labels, forecast.n_cases))
    return mean_or_rows(forecast, realised_costs(forecast, broken), per_instance)


def simulate_search(
    y_true: Labels,
    y_proba: Table,
    *,
    prior: Prior | None = None,
    costs: ByClass | None = None,
    max_costs: ByClass | None = None,
    draws: int = 1000,
    seed: Seed = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
) -> Simulation:
    """The mean search cost by Monte Carlo: costs are drawn, searches run, and their costs averaged.

    Each draw is one vector of costs that all instances share. The standard error speaks of the draws only, so
    the estimate tends to `expected_search_cost` of the same arguments. Memory does not grow with `draws`.

    Parameters
    ----------
    y_true, y_proba, prior, costs, max_costs, labels, sample_weight, logits, normalise
        As in `expected_search_cost`.
    draws
        How many cost vectors.
    seed
        A whole number, a generator, or None for fresh draws.

    Returns
    -------
    Simulation
        Its `mean` and its `standard_error`.

    See Also
    --------
    expected_search_cost : What it tends to.

    Examples
    --------
    >>> result = simulate_search([0, 1], [[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]], draws=4000, seed=0)
    >>> abs(result.mean - 0.7916667) < 4 * result.standard_error
    True
    """
    forecast = read_forecast(y_true, y_proba, labels, sample_weight, logits, normalise).check()
    prior, forecast = priced(forecast, prior, costs, max_costs)
    mean = Means()
    rng = read_seed(seed)
    weight = forecast.each_weight.sum()
    for batch in row_slices(read_count(draws, "draws"), forecast.n_classes):
        unit_costs = prior.sample(batch.stop - batch.start, forecast.n_classes, rng)
        mean.add(simulated_totals(forecast, unit_costs) / weight)
    return Simulation(mean.mean, mean.standard_error)
