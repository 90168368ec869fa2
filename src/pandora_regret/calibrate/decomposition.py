"""Where a search's cost comes from: poor calibration, poor discrimination, or classes that are hard to know."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.calibrate.crossfit import cross_fitted, deal
from pandora_regret.calibrate.objectives import LogLoss
from pandora_regret.calibrate.rows import Rows, probabilities_of, rows_of
from pandora_regret.calibrate.scaling import METHODS, Map, default_map, warranted_map
from pandora_regret.inputs import (
    FloatArray,
    Forecast,
    InputError,
    Labels,
    Table,
    read_choice,
    read_count,
    read_forecast,
)
from pandora_regret.inputs.numbers import read_level
from pandora_regret.kernels.engine import search_costs
from pandora_regret.priors import Prior
from pandora_regret.scores import mean_or_rows, priced
from pandora_regret.tally import Mean

ENOUGH_ROWS = 100_000  # to fit a map on; beyond, an even part of the rows does it
CHOICES = {"auto": "the one of least AIC, or none", **METHODS}
SAME = 1e-12  # forecasts whose log-probabilities differ by no more are one forecast


@dataclass(frozen=True)
class Term:
    """A mean cost per instance and its interval; NaN ends where there is none."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Decomposition:
    """``score = miscalibration - discrimination + uncertainty``, each an amount of the costs' unit."""

    score: Term
    miscalibration: Term
    discrimination: Term
    uncertainty: Term
    unit: str | None
    level: float

    def to_dict(self) -> dict[str, dict[str, float | None]]:
        """The three terms as plain numbers, None where there is no interval."""
        terms = ("miscalibration", "discrimination", "uncertainty")
        return {name: {end: _plain(x) for end, x in asdict(getattr(self, name)).items()} for name in terms}


def decompose(
    y_true: Labels,
    y_proba: Table,
    *,
    prior: Prior | None = None,
    costs: Any = None,
    typical_costs: Any = None,
    currency: str | None = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    method: str = "auto",
    folds: int = 10,
    seed: int = 0,
    level: float = 0.95,
) -> Decomposition:
    """What of the expected search cost would go away by recalibrating, and what the forecasts know at all.

    - uncertainty: what searching by the class frequencies alone costs;
    - discrimination: what the recalibrated forecasts save beside that;
    - miscalibration: what recalibrating the forecasts saves.

    Each row is recalibrated by a map that was fitted, for log loss, on other rows. So miscalibration is what a
    user could save, not what hindsight could: calibrated forecasts come out near zero, on either side of it.
    Forecasts that are the same in every row know nothing: recalibrated they are the class frequencies. Intervals
    are normal, from the paired differences of rows, with the maps taken as given.

    Parameters
    ----------
    currency
        The costs' unit, to be handed on.
    method
        How forecasts are recalibrated: "temperature", "vector" or "matrix" scaling, or "auto": in each fold the
        one of least AIC, or none, so that calibrated forecasts are not harmed (no matrix beyond 30 classes).
    folds, seed
        Rows are shuffled by the seed and dealt into so many folds, class by class.
    level
        Of the intervals.

    Other parameters as in `expected_search_cost`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> calm = rng.dirichlet([1.0, 1.0, 1.0], size=2000)
    >>> truth = [rng.choice(3, p=p) for p in calm]
    >>> bold = calm**3 / (calm**3).sum(axis=1, keepdims=True)
    >>> parts = decompose(truth, bold, typical_costs=[100.0, 200.0, 300.0], currency="USD")
    >>> parts.miscalibration.low > 0 and parts.discrimination.low > 0
    True
    >>> abs(decompose(truth, calm).miscalibration.value) < 0.005
    True
    """
    forecast = read_forecast(y_true, y_proba, labels=labels, sample_weight=sample_weight, logits=logits)
    prior, forecast = priced(forecast, prior, costs, typical_costs)
    method = read_choice(method, "method", CHOICES)
    return decompose_forecast(
        forecast, prior, method, _read_folds(folds, forecast), seed, read_level(level), currency
    )


def decompose_forecast(
    forecast: Forecast, prior: Prior, method: str, folds: int, seed: int, level: float, currency: str | None
) -> Decomposition:
    """The same, past the door: of a forecast that has its costs."""
    rows, _ = rows_of(forecast)
    constant = _costs(forecast, np.broadcast_to(rows.frequencies, forecast.values.shape), prior)
    if _all_alike(rows):
        recalibrated = constant
    else:
        scores = _recalibrated(rows, method, deal(rows.truth, folds, seed))
        recalibrated = _costs(forecast, probabilities_of(scores), prior)
    own = np.asarray(mean_or_rows(search_costs(forecast, prior), per_instance=True))

    def term(values: FloatArray) -> Term:
        return _term(values, forecast.weights, level)

    gained = term(own - recalibrated), term(constant - recalibrated)
    return Decomposition(term(own), *gained, term(constant), currency, level)


def _recalibrated(rows: Rows, method: str, fold: Any) -> FloatArray:
    """Scores by maps that other folds fitted; weights count like rows, whatever their unit."""
    rows = replace(rows, weights=rows.weights / rows.weights.mean(), costs=np.ones((rows.n_classes, 1)))

    def fit(some: Rows) -> Map:
        step = -(-len(some) // ENOUGH_ROWS)
        some = some.some(np.arange(0, len(some), step)) if step > 1 else some
        return warranted_map(some) if method == "auto" else default_map(method, some, LogLoss())

    return cross_fitted(rows, fold, fit)


def _costs(forecast: Forecast, table: FloatArray, prior: Prior) -> FloatArray:
    """What searching by other probabilities costs, one value per row."""
    other = replace(forecast, values=np.ascontiguousarray(table), logits=False, tolerance=1e-6, checked=True)
    return np.asarray(mean_or_rows(search_costs(other, prior), per_instance=True))


def _all_alike(rows: Rows) -> bool:
    return bool((np.ptp(rows.scores, axis=1) <= SAME).all())


def _term(values: FloatArray, weights: FloatArray | None, level: float) -> Term:
    mean = Mean.of(values, weights)
    half = NormalDist().inv_cdf((1 + level) / 2) * mean.standard_error
    return Term(mean.mean, mean.mean - half, mean.mean + half)


def _plain(number: float) -> float | None:
    return None if np.isnan(number) else float(number)


def _read_folds(folds: Any, forecast: Forecast) -> int:
    count = min(read_count(folds, "folds", least=2), len(forecast))
    if count < 2:
        raise InputError("y_true has 1 row: recalibrating a row takes another to learn from; pass at least two.")
    return count
