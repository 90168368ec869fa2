"""Where a search's cost comes from: poor calibration, poor discrimination, or classes that are hard to know."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pandora_regret.calibrate.maps import METHODS, Map, fitted_map, frequency_map, warranted_map
from pandora_regret.calibrate.rows import (
    at_most,
    cross_fit,
    folds_of_cases,
    frequencies_in,
    log_probabilities,
    probabilities_of,
    read_groups,
    weights_of,
)
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.joint import Figure, effective_number, within
from pandora_regret.inputs import FloatArray, Forecast, Labels, Table, read_choice, read_forecast
from pandora_regret.inputs.errors import renamed
from pandora_regret.inputs.numbers import read_level
from pandora_regret.priors import Prior
from pandora_regret.scores import priced, row_costs

ENOUGH_ROWS = 100_000  # to fit a map on
CHOICES = {"auto": "the one of least AIC, or none", **METHODS}
TERMS = ("miscalibration", "discrimination", "uncertainty")
SAME = 1e-12  # forecasts whose log-probabilities differ by no more are one forecast


@dataclass(frozen=True)
class Decomposition:
    """``score = miscalibration - discrimination + uncertainty``, each an amount of the costs' unit."""

    score: Estimate
    miscalibration: Estimate
    discrimination: Estimate
    uncertainty: Estimate
    unit: str | None
    level: float


@renamed("typical_costs", "costs")
def decompose(
    y_true: Labels,
    y_proba: Table,
    *,
    prior: Prior | None = None,
    costs: Any = None,
    currency: str | None = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    groups: Any = None,
    method: str = "auto",
    folds: int = 10,
    seed: int = 0,
    level: float = 0.95,
) -> Decomposition:
    """What of the expected search cost would go away by recalibrating, and what the forecasts know at all.

    - uncertainty: what searching by the class frequencies alone costs;
    - discrimination: what the recalibrated forecasts save beside that;
    - miscalibration: what recalibrating the forecasts saves.

    Each row is recalibrated by a map that was fitted, for log loss, on other rows, and its class frequencies are
    those of other rows too. So miscalibration is what a user could save, not what hindsight could: calibrated
    forecasts come out near zero, on either side of it, and at zero where no map was warranted. Forecasts that are
    the same in every row know nothing: recalibrated they are the class frequencies. Intervals are Student's, from
    the paired differences of rows, summed within groups; those of miscalibration and discrimination reach up to
    what one map fitted to all rows, in hindsight, would save.

    Parameters
    ----------
    y_true, y_proba, prior, costs, labels, sample_weight, logits, normalise
        As in `expected_search_cost`.
    currency
        The costs' unit, to be handed on.
    groups
        What rows belong together, shape (N,), as a patient's images do: no row is recalibrated by a map that saw
        another of its group, and a map must be warranted by groups, however many rows they have.
    method
        How forecasts are recalibrated: "temperature", "vector" or "matrix" scaling, or "auto": in each fold the
        one of least AIC, or none, or the class frequencies, so that neither calibrated nor useless forecasts are
        harmed (no matrix beyond 30 classes).
    folds, seed
        Rows, or groups, are shuffled by the seed and dealt into so many folds; copies of a row share one.
    level
        Of the intervals.

    Returns
    -------
    Decomposition
        The cost and its three terms, each with an interval; ``cost = uncertainty + miscalibration -
        discrimination``.

    See Also
    --------
    recalibrate : The map itself, and what it saves.
    search_entropy : What forecasts expect their searches to cost.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> calm = rng.dirichlet([1.0, 1.0, 1.0], size=2000)
    >>> truth = [rng.choice(3, p=p) for p in calm]
    >>> bold = calm**3 / (calm**3).sum(axis=1, keepdims=True)
    >>> parts = decompose(truth, bold, costs=[100.0, 200.0, 300.0], currency="USD")
    >>> parts.miscalibration.low > 0 and parts.discrimination.low > 0
    True
    >>> abs(decompose(truth, calm).miscalibration.value) < 0.005
    True
    """
    forecast = read_forecast(y_true, y_proba, labels, sample_weight, logits, normalise)
    prior, forecast = priced(forecast, prior, costs)
    method, level = read_choice(method, "method", CHOICES), read_level(level)
    units, own, weights = read_groups(groups, forecast.n_cases), row_costs(forecast, prior), weights_of(forecast)
    # A map must be warranted by what is independent, so weights are made to sum to the number of such units: rows
    # of one group count as one, and rows of unequal weights as the number of equal ones that would say as much.
    rows, independent = log_probabilities(forecast)[0], effective_number(within(weights, units) / weights.sum())
    rows = replace(rows, weights=rows.each_weight * (independent / weights.sum()))
    all_alike = (np.ptp(rows.values, axis=0) <= SAME).all()
    method = "frequencies" if all_alike else method

    def fit(others: Forecast, by: str = method) -> tuple[FloatArray, Map]:
        """Class frequencies, (K,), and a map."""
        if by == "frequencies":
            return frequencies_in(others), frequency_map(others)
        some = at_most(ENOUGH_ROWS, others)
        return frequencies_in(others), warranted_map(some) if by == "auto" else fitted_map(by, some)

    out_of_fold = cross_fit(rows, rows.per_row(folds_of_cases(rows, folds, seed, units)), fit)
    baseline, recalibrated = _recalibrated_costs(forecast, prior, own, rows, out_of_fold)
    hindsight = [(np.ones(len(rows), dtype=bool), fit(rows, "vector" if method == "auto" else method))]
    easier, best = _recalibrated_costs(forecast, prior, own, rows, hindsight)

    def term(values: FloatArray, in_hindsight: FloatArray | None = None) -> Estimate:
        """A mean, whose interval reaches up to what hindsight would save.

        Maps that other rows fitted save less than the best one would, and fitted to the rows themselves they save
        more. Both err by the number of parameters over the number of rows, which the rows' spread does not show:
        what the best map saves lies between.
        """
        estimate = Figure.of_mean(values, weights, units).estimate(level)
        further = None if in_hindsight is None else term(in_hindsight).high
        if estimate.high is None or further is None:
            return estimate
        return replace(estimate, high=max(estimate.high, further))

    miscalibration = term(own - recalibrated, own - best)
    discrimination = term(baseline - recalibrated, easier - best)
    return Decomposition(term(own), miscalibration, discrimination, term(baseline), currency, level)


def _recalibrated_costs(
    forecast: Forecast,
    prior: Prior,
    own: FloatArray,
    rows: Forecast,
    fitted: Iterable[tuple[NDArray[np.bool_], tuple[FloatArray, Map]]],
) -> tuple[FloatArray, FloatArray]:
    """What searching by class frequencies and by recalibrated forecasts costs, (n_cases,) each.

    Where a map changes nothing, or knows nothing but the frequencies, its costs are those of the forecasts or of
    the frequencies to the last bit: no rounding shows up as a saving.
    """
    shares, table = np.empty((2, *forecast.values.shape))
    unchanged = np.zeros(len(rows))
    for inside, (frequencies, map_) in fitted:
        shares[inside] = table[inside] = frequencies
        if map_.factors.any():
            table[inside] = probabilities_of(map_(rows.values[inside].T))
        unchanged[inside] = map_.factors.ndim == 1 and (map_.factors == 1).all() and not map_.shifts.any()
    settled = replace(forecast, logits=False, tolerance=1e-6, checked=True)
    baseline, recalibrated = (row_costs(replace(settled, values=values), prior) for values in (shares, table))
    return baseline, np.where(forecast.per_case(unchanged) > 0, own, recalibrated)  # a case has one map
