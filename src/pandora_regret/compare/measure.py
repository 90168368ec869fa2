"""What is known of one model: a value per instance and metric, the pair-cost matrix, other alphas, other costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pandora_regret.compare.result import Metric
from pandora_regret.entropy import expectation
from pandora_regret.inputs import FloatArray, Forecast, IntArray
from pandora_regret.kernels.engine import search_costs, total_losses, wasted_pairs
from pandora_regret.kernels.reference import probabilities, unavoidable_costs
from pandora_regret.metrics.batches import by_probability, with_known_costs
from pandora_regret.priors import Prior
from pandora_regret.scores import mean_or_rows
from pandora_regret.tally import Mean, Tally

ALPHAS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, float("inf"))

METRICS = (
    Metric("pandora_regret", "Pandora's Regret", "lower", "score"),
    Metric("excess_burden", "Excess search burden", "lower", "share"),
    Metric("expected_cost", "Expected search cost", "lower", "money"),
    Metric("realised_cost", "Realised cost", "lower", "money"),
    Metric("tests", "Number of tests", "lower", "tests"),
    Metric("log_loss", "Log loss", "lower", "score"),
    Metric("brier", "Brier score", "lower", "score"),
    Metric("accuracy", "Accuracy", "higher", "share"),
    Metric("macro_f1", "Macro-F1", "higher", "share"),
)
MEANS = (  # what is a mean over instances, in the order of the columns
    "pandora_regret",
    "expected_cost",
    "realised_cost",
    "tests",
    "log_loss",
    "brier",
    "accuracy",
    "predicted_cost",
)
COLUMN = {key: at for at, key in enumerate((*MEANS, "macro_f1"))}


@dataclass(frozen=True)
class Measured:
    """One model on the sample."""

    name: str
    rows: FloatArray  # (N, len(MEANS))
    predicted: IntArray  # (N,) the likeliest class; ties go to the lower column number
    unavoidable: float  # the mean cost of testing the truth itself
    pairs: FloatArray  # (K, K)
    alphas: tuple[float, ...]
    scenarios: tuple[float, ...]

    def of(self, key: str) -> FloatArray:
        """One number per instance, (N,)."""
        return np.asarray(self.rows[:, COLUMN[key]])


def measure(name: str, forecast: Forecast, prior: Prior, scenarios: Sequence[Forecast]) -> Measured:
    """All about one priced forecast; `scenarios` are the same forecast under other costs."""
    costs, unavoidable, pairs = _spending(forecast, prior)
    columns = [
        _losses(forecast, 1.0, per_instance=True),
        costs,
        *with_known_costs(forecast, prior),
        *by_probability(forecast),
        _predicted_costs(forecast, prior),
    ]
    return Measured(
        name,
        np.stack(columns, axis=1),
        np.concatenate([block.values.argmax(axis=1) for block in forecast.blocks()]),
        unavoidable,
        pairs,
        tuple(float(_losses(forecast, alpha, per_instance=False)) for alpha in ALPHAS),
        tuple(float(mean_or_rows(search_costs(scenario, prior), False)) for scenario in scenarios),
    )


def _losses(forecast: Forecast, alpha: float, per_instance: bool) -> float | FloatArray:
    """``S_alpha``, which knows no costs."""
    totals = mean_or_rows(total_losses(forecast.with_costs(None), alpha), per_instance)
    return totals / (3 * (forecast.n_classes - 1))


def _spending(forecast: Forecast, prior: Prior) -> tuple[FloatArray, float, FloatArray]:
    """Expected cost of each instance, the mean part of it that nothing can save, and who pays for which test."""
    tally, unavoidable, parts = Tally(forecast.n_classes), Mean(), []
    for rows, wasted, classes, sums in wasted_pairs(forecast, prior):
        own = unavoidable_costs(rows, prior)
        unavoidable.add(own, rows.weights)
        tally.add_costs(own + wasted, classes, sums, rows.weights)
        parts.append(own + wasted)
    return np.concatenate(parts), unavoidable.mean, tally.pair_costs


def _predicted_costs(forecast: Forecast, prior: Prior) -> FloatArray:
    """What each forecast expects its own search to cost."""
    return np.concatenate([expectation(block, probabilities(block), prior) for block in forecast.blocks()])
