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
from pandora_regret.core.kernels.engine import Rows, costs_for_every_truth
from pandora_regret.core.kernels.reference import probabilities
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
    searches = costs_for_every_truth(forecast, prior)
    rows = ((block, expectation(probabilities(block), if_true)) for block, if_true in searches)
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
    return mean_or_rows(forecast, _divergences(truth.with_costs(forecast.costs), forecast, prior), per_instance)


def _divergences(truth: Forecast, forecast: Forecast, prior: Prior) -> Rows:
    """Rows of a forecast, and what each of them costs beyond the true probabilities."""
    best_costs = costs_for_every_truth(truth, prior)
    costs = costs_for_every_truth(forecast, prior)
    for (true_rows, best), (rows, paid) in zip(best_costs, costs, strict=True):
        excess = expectation(true_rows.values, paid) - expectation(true_rows.values, best)
        yield rows, np.maximum(excess, 0.0)  # rounding may dip below


def expectation(probability: FloatArray, costs: FloatArray) -> FloatArray:
    """The mean of each row's costs, (n, K), where its classes have these probabilities, (n, K)."""
    return np.asarray((probability * costs).sum(axis=1))
