"""What a forecast expects of itself: the search cost it predicts, and what a wrong forecast adds to it."""

from __future__ import annotations

from typing import Literal, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.core.inputs import (
    ByClass,
    FloatArray,
    Forecast,
    Table,
    check_row_order,
    check_shape,
    is_frame,
    read_probabilities,
)
from pandora_regret.core.kernels.reference import costs_of, probabilities, wasted_for_every_truth
from pandora_regret.core.priors import Prior
from pandora_regret.core.scores import PricedOptions, Score, mean_or_rows, priced


@overload
def search_entropy(
    y_proba: Table, *, per_instance: Literal[False] = ..., **options: Unpack[PricedOptions]
) -> float: ...
@overload
def search_entropy(
    y_proba: Table, *, per_instance: Literal[True], **options: Unpack[PricedOptions]
) -> FloatArray: ...
@overload
def search_entropy(y_proba: Table, *, per_instance: bool, **options: Unpack[PricedOptions]) -> Score: ...
def search_entropy(
    y_proba: Table,
    *,
    prior: Prior | None = None,
    costs: ByClass | None = None,
    max_costs: ByClass | None = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    per_instance: bool = False,
) -> Score:
    """The search cost that forecasts predict of themselves: their expected score if they are right.

    For a calibrated model it equals `expected_search_cost` on average. O(K log K) per row in the Beta family,
    O(K^2) for other priors.

    Parameters
    ----------
    y_proba, prior, costs, max_costs, labels, sample_weight, logits, normalise, per_instance
        As in `expected_search_cost`.

    Returns
    -------
    float or array
        In the costs' unit: the mean, or one per forecast, shape (N,), if `per_instance`.

    See Also
    --------
    search_divergence : What wrong forecasts add.

    References
    ----------
    Gneiting and Raftery (2007), on the entropy of a proper score [gneiting07]_.

    Examples
    --------
    >>> search_entropy([[0.5, 0.5], [1.0, 0.0]])
    0.5833333333333333
    """
    forecast = read_probabilities(y_proba, labels, sample_weight, logits, normalise)
    prior, forecast = priced(forecast, prior, costs, max_costs)
    rows = ((block, expectation(block, probabilities(block), prior)) for block in forecast.blocks())
    return mean_or_rows(forecast, rows, per_instance)


@overload
def search_divergence(
    true_proba: Table, y_proba: Table, *, per_instance: Literal[False] = ..., **options: Unpack[PricedOptions]
) -> float: ...
@overload
def search_divergence(
    true_proba: Table, y_proba: Table, *, per_instance: Literal[True], **options: Unpack[PricedOptions]
) -> FloatArray: ...
@overload
def search_divergence(
    true_proba: Table, y_proba: Table, *, per_instance: bool, **options: Unpack[PricedOptions]
) -> Score: ...
def search_divergence(
    true_proba: Table,
    y_proba: Table,
    *,
    prior: Prior | None = None,
    costs: ByClass | None = None,
    max_costs: ByClass | None = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    per_instance: bool = False,
) -> Score:
    """What searching by `y_proba` costs on average beyond searching by the true probabilities: never negative.

    Parameters
    ----------
    true_proba
        True probabilities, shape (N, K), also where `y_proba` holds logits.
    y_proba, prior, costs, max_costs, labels, sample_weight, logits, normalise, per_instance
        As in `search_entropy`.

    Returns
    -------
    float or array
        In the costs' unit: the mean, or one per forecast, shape (N,), if `per_instance`.

    See Also
    --------
    search_entropy : What is left when forecasts are right.

    References
    ----------
    Gneiting and Raftery (2007), on the divergence of a proper score [gneiting07]_.

    Examples
    --------
    >>> round(search_divergence([[0.8, 0.2]], [[0.2, 0.8]]), 6)
    0.24375
    """
    check_row_order(y_proba=y_proba, true_proba=true_proba, sample_weight=sample_weight)
    forecast = read_probabilities(y_proba, labels, sample_weight, logits, normalise)
    names = forecast.labels if is_frame(true_proba) else labels
    truth = read_probabilities(true_proba, labels=names, normalise=normalise and not logits, name="true_proba")
    shape = forecast.values.shape
    check_shape(truth.values, "true_proba", f"y_proba has shape {shape}; pass one row of each per instance", shape)
    prior, forecast = priced(forecast, prior, costs, max_costs)
    pairs = zip(truth.with_costs(forecast.costs).blocks(), forecast.blocks(), strict=True)
    rows = (  # rounding may dip below 0
        (block, np.maximum(expectation(block, pi.values, prior) - expectation(pi, pi.values, prior), 0.0))
        for pi, block in pairs
    )
    return mean_or_rows(forecast, rows, per_instance)


def expectation(block: Forecast, truth: FloatArray, prior: Prior) -> FloatArray:
    """The mean search cost of a forecast when the classes have the probabilities `truth`."""
    return np.asarray((truth * costs_for_every_truth(block, prior)).sum(axis=1))


def costs_for_every_truth(block: Forecast, prior: Prior) -> FloatArray:
    """What each row's search costs on average if class k is the truth, (N, K)."""
    return np.asarray(costs_of(block) * prior.mean + wasted_for_every_truth(block, prior))
