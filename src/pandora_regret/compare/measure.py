"""What is known of one model: a value per instance and metric, the pair-cost matrix, other alphas, other costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pandora_regret.entropy import costs_for_every_truth
from pandora_regret.inputs import FloatArray, Forecast, IntArray
from pandora_regret.kernels.engine import search_costs, total_losses, wasted_pairs
from pandora_regret.kernels.reference import probabilities, unavoidable_costs
from pandora_regret.metrics import METRICS, Metric
from pandora_regret.priors import Prior
from pandora_regret.scores import mean_or_rows, row_costs
from pandora_regret.tally import Mean, Tally

ALPHAS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, float("inf"))


@dataclass(frozen=True)
class Measured:
    """One model on the sample."""

    name: str
    rows: dict[str, FloatArray]  # (N,) by the key of each metric that is a mean; predicted and recalibrated_cost
    predicted: IntArray  # (N,) the likeliest class; ties go to the lower column number
    predicted_variance: FloatArray  # (N,) of its cost, as each forecast predicts it
    least_cost: FloatArray  # (N,) that there can be
    unavoidable: float  # the mean cost of testing the truth itself
    pairs: FloatArray  # (K, K)
    alphas: tuple[float, ...]
    scenarios: tuple[float, ...]
    by_class: dict[str, FloatArray] = field(default_factory=dict)  # (K,) sums over votes, where the truth is votes
    order_only: bool = False  # whether forecasts are orders, which predict no cost of their own


def measure(
    name: str,
    forecast: Forecast,
    prior: Prior,
    scenarios: Sequence[Forecast],
    metrics: Sequence[Metric],
    recalibrated: Forecast | None = None,
) -> Measured:
    """All about one priced forecast; `scenarios` are the same forecast under other costs."""
    forecast = forecast.check()
    own, wasted, pairs = _spending(forecast, prior)
    rows = {"expected_cost": METRICS["expected_cost"].checked_rows(own + wasted, forecast.by_case())}
    rows["excess_burden"], unavoidable = _excess_burden(own, wasted, forecast.case_weights)
    for metric in metrics:
        if metric.is_mean and metric.key not in rows:
            rows[metric.key] = metric.of_rows(forecast, prior)
    by_truth = ((block, costs_for_every_truth(block, prior)) for block in forecast.by_case().blocks())
    rows["predicted_cost"], variance, least = predicted_costs(by_truth)
    if recalibrated is not None:
        rows["recalibrated_cost"] = row_costs(recalibrated, prior)
    return Measured(
        name,
        rows,
        np.asarray(forecast.by_case().values.argmax(axis=1)),
        variance,
        least,
        unavoidable,
        pairs,
        () if forecast.order_only else _beta_scores(forecast.with_costs(None)),
        tuple(float(mean_or_rows(scenario, search_costs(scenario, prior), False)) for scenario in scenarios),
        sums_by_class(forecast, prior, metrics),
        forecast.order_only,
    )


def sums_by_class(forecast: Forecast, prior: Prior, metrics: Sequence[Metric]) -> dict[str, FloatArray]:
    """Weighted sums of some metrics over the rows of each true class, (K,) by key; empty where rows are cases."""
    if forecast.cluster is None:
        return {}
    rows = replace(forecast, cluster=None, shares=None)
    assert rows.weights is not None
    sums = {}
    for metric in metrics:
        if metric.is_mean:
            weighted = rows.weights * metric.of_rows(rows, prior)
            sums[metric.key] = np.asarray(np.bincount(rows.truth, weighted, rows.n_classes), dtype=np.float64)
    return sums


def _beta_scores(forecast: Forecast) -> tuple[float, ...]:
    """The means of ``S_alpha``, which knows no costs, at all `ALPHAS`."""
    means = []
    for alpha in ALPHAS:
        mean = Mean()
        for rows, losses in total_losses(forecast, alpha):
            mean.add(losses / (3 * (rows.n_classes - 1)), rows.weights)
        means.append(mean.mean)
    return tuple(means)


def _spending(forecast: Forecast, prior: Prior) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What each instance spends on its truth, which nothing can save, and wastes, (N,); on which tests, (K, K)."""
    tally, own, wasted = Tally(forecast.n_classes), [], []
    for rows, waste, classes, sums in wasted_pairs(forecast, prior):
        own.append(unavoidable_costs(rows, prior))
        wasted.append(waste)
        tally.cost.add(own[-1] + waste, rows.weights)
        tally.add_pairs(classes, sums)
    by_case = [forecast.per_case(np.concatenate(parts)) for parts in (own, wasted)]
    return by_case[0], by_case[1], tally.pair_costs


def _excess_burden(own: FloatArray, wasted: FloatArray, weights: FloatArray | None) -> tuple[FloatArray, float]:
    """What is wasted, as a share of what someone who knew the truth would pay, which comes with it.

    It is a ratio of means: the rows, (N,), have it as their mean, and spread about it as the ratio does.
    """
    unavoidable, waste = (Mean.of(values, weights).mean for values in (own, wasted))
    ratio = waste / unavoidable
    return ratio + (wasted - ratio * own) / unavoidable, unavoidable


def predicted_costs(blocks: Iterable[tuple[Forecast, FloatArray]]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What each forecast expects its case to cost: mean, variance, and the least it may be, (N,) each.

    `blocks` are rows, some at a time, and what each costs if each class is the truth, (n, K).
    """
    means, variances, least = [], [], []
    for block, costs in blocks:
        p = probabilities(block)
        means.append((p * costs).sum(axis=1))
        variances.append((p * (costs - means[-1][:, None]) ** 2).sum(axis=1))
        least.append(costs.min(axis=1))
    return np.concatenate(means), np.concatenate(variances), np.concatenate(least)
