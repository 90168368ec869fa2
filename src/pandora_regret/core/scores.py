"""The scores: what a forecast's search is expected to cost, normalised or in money.

Each public function reads its input at the door, states its formula for one block of rows, and leaves the mean
to a tally.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.core.inputs import (
    ByClass,
    FloatArray,
    Forecast,
    InputError,
    Labels,
    Table,
    read_alpha,
    read_costs,
    read_forecast,
    read_weights,
)
from pandora_regret.core.kernels.engine import realised_costs, search_costs, total_losses, wasted_pairs
from pandora_regret.core.kernels.reference import BROKEN_AT_RANDOM, at_mean_costs, mean_waste, unavoidable_costs
from pandora_regret.core.priors import Prior
from pandora_regret.core.priors.names import read_prices
from pandora_regret.core.tally import Sum, Tally

Score: TypeAlias = float | FloatArray  # the weighted mean; if `per_instance`, one number per instance, (N,)
Scored: TypeAlias = Iterable[tuple[Forecast, FloatArray]]  # some rows at a time, with a number of each


class ScoreOptions(TypedDict, total=False):
    """What every score takes besides; see `pandora_regret`."""

    labels: ArrayLike | None
    sample_weight: ArrayLike | None
    logits: bool
    normalise: bool


class PricedOptions(ScoreOptions, total=False):
    """What scores in money take besides; see `expected_search_cost`."""

    prior: Prior | None
    costs: ByClass | None
    max_costs: ByClass | None


@overload
def pandora_regret(
    y_true: Labels,
    y_proba: Table,
    *,
    alpha: float = ...,
    per_instance: Literal[False] = ...,
    **options: Unpack[ScoreOptions],
) -> float: ...
@overload
def pandora_regret(
    y_true: Labels,
    y_proba: Table,
    *,
    alpha: float = ...,
    per_instance: Literal[True],
    **options: Unpack[ScoreOptions],
) -> FloatArray: ...
@overload
def pandora_regret(
    y_true: Labels, y_proba: Table, *, alpha: float = ..., per_instance: bool, **options: Unpack[ScoreOptions]
) -> Score: ...
def pandora_regret(
    y_true: Labels,
    y_proba: Table,
    *,
    alpha: float = 1.0,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    per_instance: bool = False,
) -> Score:
    """Pandora's Regret, ``S_alpha = 1 / (3 (K - 1)) sum_j L_alpha(p_i / p_j)``: lower is better.

    Parameters
    ----------
    y_true
        True classes, shape (N,): column numbers, or labels. Or votes, shape (N, K), where annotators disagree: how
        many of them, or with what probability, said each class; a frame's columns are matched by name. The score
        is then the mean over each row's votes.
    y_proba
        Forecasts, shape (N, K): an array, or a frame whose columns are matched to labels by name.
    alpha
        From 0 to inf. 1 is Pandora's Regret; 0 is its logarithmic limit; inf looks at ranks alone.
    labels
        The columns' labels, in column order.
    sample_weight
        Weights of the instances, shape (N,); only their proportions count.
    logits
        Whether `y_proba` holds logits, of any offset; -inf marks an impossible class.
    normalise
        Whether rows whose sum is off 1 by at most 1 % are divided by it. Otherwise, and further off, a row that
        does not sum to 1 within 3.5e-4 (half precision: 1e-2) is an error.
    per_instance
        Whether to return one score per instance instead of their weighted mean.

    Returns
    -------
    float or array
        The weighted mean, between 0 and 1 for alpha 1; or one score per instance, shape (N,), if `per_instance`.

    See Also
    --------
    excess_search_burden : The same as a share of what an oracle pays.
    expected_search_cost : In money, under any prior.
    compare : Several models, with intervals.

    References
    ----------
    Flores et al. (2026), Definition 3.2 and Theorem 3.3; for other alpha, Corollary A.7 [flores26]_.
    Gneiting and Raftery (2007), on proper scoring rules in general [gneiting07]_.

    Examples
    --------
    >>> pandora_regret([0, 1], [[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]])
    0.2916666666666667
    >>> pandora_regret([0, 1], [[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]], per_instance=True)
    array([0.08333333, 0.5       ])
    """
    alpha = read_alpha(alpha)
    forecast = read_forecast(y_true, y_proba, labels, sample_weight, logits, normalise)
    return mean_or_rows(forecast, total_losses(forecast, alpha), per_instance) / (3 * (forecast.n_classes - 1))


@overload
def beta_score(
    y_true: Labels,
    y_proba: Table,
    *,
    alpha: float = ...,
    max_costs: ByClass | None = ...,
    per_instance: Literal[False] = ...,
    **options: Unpack[ScoreOptions],
) -> float: ...
@overload
def beta_score(
    y_true: Labels,
    y_proba: Table,
    *,
    alpha: float = ...,
    max_costs: ByClass | None = ...,
    per_instance: Literal[True],
    **options: Unpack[ScoreOptions],
) -> FloatArray: ...
@overload
def beta_score(
    y_true: Labels,
    y_proba: Table,
    *,
    alpha: float = ...,
    max_costs: ByClass | None = ...,
    per_instance: bool,
    **options: Unpack[ScoreOptions],
) -> Score: ...
def beta_score(
    y_true: Labels,
    y_proba: Table,
    *,
    alpha: float = 1.0,
    max_costs: ByClass | None = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    per_instance: bool = False,
) -> Score:
    """The weighted Beta score, ``sum_j C_j L_alpha(q_i / q_j)`` with ``q_k = p_k / C_k``: lower is better.

    Parameters
    ----------
    y_true, y_proba, alpha, labels, sample_weight, logits, normalise, per_instance
        As in `pandora_regret`.
    max_costs
        Base costs C_k, shape (K,) or (N, K), or named by class.

    Returns
    -------
    float or array
        As for `pandora_regret`, but a sum over classes, in the costs' unit.

    See Also
    --------
    pandora_regret : The same without costs, normalised.

    References
    ----------
    Flores et al. (2026), Proposition A.4, Corollary A.7 [flores26]_.

    Examples
    --------
    >>> beta_score([0], [[0.5, 0.5]], max_costs=[1.0, 2.0])
    0.5
    """
    alpha = read_alpha(alpha)
    forecast = read_forecast(y_true, y_proba, labels, sample_weight, logits, normalise)
    if max_costs is not None:
        forecast = forecast.with_costs(read_costs(max_costs, forecast.labels, forecast.n_cases, "max_costs"))
    return mean_or_rows(forecast, total_losses(forecast, alpha), per_instance)


@overload
def excess_search_burden(
    y_true: Labels, y_proba: Table, *, per_instance: Literal[False] = ..., **options: Unpack[ScoreOptions]
) -> float: ...
@overload
def excess_search_burden(
    y_true: Labels, y_proba: Table, *, per_instance: Literal[True], **options: Unpack[ScoreOptions]
) -> FloatArray: ...
@overload
def excess_search_burden(
    y_true: Labels, y_proba: Table, *, per_instance: bool, **options: Unpack[ScoreOptions]
) -> Score: ...
def excess_search_burden(
    y_true: Labels,
    y_proba: Table,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    per_instance: bool = False,
) -> Score:
    """``(K - 1) S``: how much more the search costs than an oracle's, as a fraction of what the oracle pays.

    Under uniform costs an oracle pays 1/2 and the forecast's search ``(1 + (K - 1) S) / 2``. A value of 0.25 means
    25 % more than an oracle pays.

    Parameters
    ----------
    y_true, y_proba, labels, sample_weight, logits, normalise, per_instance
        As in `pandora_regret`.

    Returns
    -------
    float or array
        Between 0 and K - 1; the mean, or one per instance, shape (N,), if `per_instance`.

    See Also
    --------
    pandora_regret : The same divided by K - 1.

    References
    ----------
    Flores et al. (2026), Corollaries A.8 and A.9, whose "x/100 %" should be 100 x % [flores26]_.

    Examples
    --------
    >>> excess_search_burden([0], [[0.5, 0.25, 0.25]])
    0.16666666666666666
    """
    forecast = read_forecast(y_true, y_proba, labels, sample_weight, logits, normalise)
    return mean_or_rows(forecast, total_losses(forecast, 1.0), per_instance) / 3


@overload
def expected_search_cost(
    y_true: Labels, y_proba: Table, *, per_instance: Literal[False] = ..., **options: Unpack[PricedOptions]
) -> float: ...
@overload
def expected_search_cost(
    y_true: Labels, y_proba: Table, *, per_instance: Literal[True], **options: Unpack[PricedOptions]
) -> FloatArray: ...
@overload
def expected_search_cost(
    y_true: Labels, y_proba: Table, *, per_instance: bool, **options: Unpack[PricedOptions]
) -> Score: ...
def expected_search_cost(
    y_true: Labels,
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
    """What the optimal search is expected to cost, in the costs' unit: lower is better.

    The test of class k costs ``C_k u_k``, with u drawn from the prior; the search tests classes in falling
    order of probability over cost until it finds the truth.

    Parameters
    ----------
    y_true, y_proba, labels, sample_weight, logits, normalise, per_instance
        As in `pandora_regret`.
    prior
        The distribution of u; `Uniform()` unless given.
    costs
        What a test of each class typically costs, the mean ``C_k E[u_k]``: (K,) or (N, K), or named by class.
    max_costs
        The paper's base costs C_k instead, the most that a test costs under a uniform prior; all 1 unless given.

    Returns
    -------
    float or array
        In the costs' unit: the weighted mean, or one cost per instance, shape (N,), if `per_instance`.

    See Also
    --------
    pair_costs : Which wrong tests the money goes to.
    search_entropy : What forecasts expect of themselves.
    simulate_search : The same by Monte Carlo.
    search_cost : For costs that are known.

    References
    ----------
    Flores et al. (2026), Theorem 3.1, Theorem A.2 [flores26]_.
    Weitzman (1979), on the search problem [weitzman79]_.

    Examples
    --------
    >>> expected_search_cost([0], [[0.5, 0.25, 0.25]])
    0.5833333333333334
    >>> expected_search_cost([0], [[0.5, 0.25, 0.25]], costs=[100, 200, 300])
    106.94444444444444
    """
    forecast = read_forecast(y_true, y_proba, labels, sample_weight, logits, normalise)
    prior, forecast = priced(forecast, prior, costs, max_costs)
    return mean_or_rows(forecast, search_costs(forecast, prior), per_instance)


def pair_costs(
    y_true: Labels,
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
) -> FloatArray:
    """Who pays for which wrong test: mean spend per instance on testing j when the truth is i, (K, K).

    The diagonal is zero: the sum of all entries, plus the unavoidable mean cost of testing the truth itself, is
    `expected_search_cost`. With ``per_instance=True``, the spend of each instance on every class, (N, K).

    Parameters
    ----------
    y_true, y_proba, prior, costs, max_costs, labels, sample_weight, logits, normalise, per_instance
        As in `expected_search_cost`.

    Returns
    -------
    array
        Shape (K, K), rows are truths; or (N, K) if `per_instance`.

    See Also
    --------
    expected_search_cost : The sum of it, and the unavoidable test.

    References
    ----------
    Flores et al. (2026), Theorem A.1 [flores26]_.

    Examples
    --------
    >>> pair_costs([0, 1], [[0.5, 0.5], [0.5, 0.5]])
    array([[0.        , 0.08333333],
           [0.08333333, 0.        ]])
    """
    forecast = read_forecast(y_true, y_proba, labels, sample_weight, logits, normalise)
    prior, forecast = priced(forecast, prior, costs, max_costs)
    if per_instance:
        return forecast.per_case(np.concatenate([mean_waste(block, prior) for block in forecast.blocks()]))
    return _tally_of_costs(forecast, prior).pair_costs


def search_tally(
    y_true: Labels,
    y_proba: Table,
    *,
    prior: Prior | None = None,
    costs: ByClass | None = None,
    max_costs: ByClass | None = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
) -> Tally:
    """The mergeable sums behind the scores in money, of one batch; merge batches to score a stream.

    The tally's `realised` is the mean cost of the search at the mean costs, ties broken at random. Weights
    are summed as they are, since those of later batches are not known: all batches must weigh in one unit.

    Parameters
    ----------
    y_true, y_proba, prior, costs, max_costs, labels, sample_weight, logits, normalise
        As in `expected_search_cost`.

    Returns
    -------
    Tally
        The means of cost and waste, their standard errors, and who pays for which wrong test.

    See Also
    --------
    score_stream : The same from files.

    Examples
    --------
    >>> first = search_tally([0], [[0.5, 0.25, 0.25]])
    >>> first.merge(search_tally([1], [[0.5, 0.25, 0.25]]))
    Tally(2 rows, mean=0.791667, standard_error=0.21)
    """
    forecast = read_forecast(y_true, y_proba, labels, sample_weight, logits, normalise)
    if sample_weight is not None:
        forecast = forecast.with_weights(read_weights(sample_weight, forecast.n_cases))
    prior, forecast = priced(forecast, prior, costs, max_costs)
    tally = _tally_of_costs(forecast, prior)
    at_means, unit = at_mean_costs(forecast, prior)
    spent = mean_or_rows(forecast, realised_costs(at_means, BROKEN_AT_RANDOM), per_instance=True)
    tally.realised.add(unit * spent, forecast.case_weights)
    return tally


def priced(
    forecast: Forecast, prior: Prior | None, costs: ByClass | None, max_costs: ByClass | None = None
) -> tuple[Prior, Forecast]:
    """The prior, and the forecast with base costs; one that was priced before keeps them where none are given."""
    prior, base_costs = read_prices(prior, costs, forecast.labels, forecast.n_cases, max_costs)
    return prior, forecast if base_costs is None else forecast.with_costs(base_costs)


def row_costs(forecast: Forecast, prior: Prior) -> FloatArray:
    """What the search of each case of a priced forecast is expected to cost, (n_cases,)."""
    return mean_or_rows(forecast, search_costs(forecast, prior), per_instance=True)


@overload
def mean_or_rows(forecast: Forecast, scored: Scored, per_instance: Literal[False]) -> float: ...
@overload
def mean_or_rows(forecast: Forecast, scored: Scored, per_instance: Literal[True]) -> FloatArray: ...
@overload
def mean_or_rows(forecast: Forecast, scored: Scored, per_instance: bool) -> Score: ...
def mean_or_rows(forecast: Forecast, scored: Scored, per_instance: bool) -> Score:
    """One value per case, or their weighted mean, from a forecast's rows and their values, some at a time."""
    if per_instance:
        return forecast.per_case(np.concatenate([_finite_rows(rows, values) for rows, values in scored]))
    total = Sum()
    weight = Sum()
    for rows, values in scored:
        if rows.weights is not None:  # an infinite value without weight is nothing
            values = rows.weights * np.where(rows.weights > 0, values, 0.0)
        part = values.sum()
        total.add(part if part >= 0 else _finite_rows(rows, values).sum())
        weight.add(len(rows) if rows.weights is None else rows.weights.sum())
    return float(total.value / weight.value)


def _finite_rows(rows: Forecast, values: FloatArray) -> FloatArray:
    """The values, one per row, or an error that names the first row whose value is NaN; inf is a number."""
    if np.isnan(values).any():
        row = int(rows.numbers[int(np.argmax(np.isnan(values)))])
        fix = "its prior or its costs give no number there; choose others, or drop the row"
        raise InputError("has a score that is NaN", argument=rows.name, row=row, value=np.nan, fix=fix)
    return values


def _tally_of_costs(forecast: Forecast, prior: Prior) -> Tally:
    """The tally of what the searches of all rows cost, and of what they waste on which tests."""
    tally = Tally(forecast.n_classes)
    costs_of_votes = []  # of rows that share a case, which may be in several blocks
    for rows, wasted, classes, sums in wasted_pairs(forecast, prior):
        tally.pairs.add(sums, index=classes)
        costs = _finite_rows(rows, unavoidable_costs(rows, prior) + wasted)
        if forecast.shares is None:
            tally.cost.add(costs, rows.weights)
        else:
            costs_of_votes.append(costs)
    if costs_of_votes:
        tally.cost.add(forecast.per_case(np.concatenate(costs_of_votes)), forecast.case_weights)
    return tally
