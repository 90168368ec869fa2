"""Where a search's cost comes from: poor calibration, poor discrimination, or classes that are hard to know."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pandora_regret.calibrate.objectives import LogLoss
from pandora_regret.calibrate.rows import LabelledScores, cross_fit, deal, probabilities_of, read_groups, rows_of
from pandora_regret.calibrate.scaling import METHODS, Map, default_map, frequency_map, warranted_map
from pandora_regret.inference.intervals import effective_number, interval_of_mean, within_groups
from pandora_regret.inputs import (
    FloatArray,
    Forecast,
    InputError,
    IntArray,
    Labels,
    Table,
    read_choice,
    read_count,
    read_forecast,
)
from pandora_regret.inputs.numbers import read_level
from pandora_regret.priors import Prior
from pandora_regret.scores import priced, row_costs

ENOUGH_ROWS = 100_000  # to fit a map on
CHOICES = {"auto": "the one of least AIC, or none", **METHODS}
SAME = 1e-12  # forecasts whose log-probabilities differ by no more are one forecast


@dataclass(frozen=True)
class Term:
    """A mean cost per instance and its interval; NaN ends where there is none."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, values: FloatArray, weights: FloatArray, groups: IntArray | None, level: float) -> Term:
        """The weighted mean of one value per row, (N,), whose rows are independent, or groups of them are."""
        mean, low, high = interval_of_mean(values, weights, groups, level)
        return cls(mean, np.nan if low is None else low, np.nan if high is None else high)


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
    y_true, y_proba, prior, costs, typical_costs, labels, sample_weight, logits, normalise
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
        Rows, or groups, are shuffled by the seed and dealt into so many folds, class by class.
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
    >>> parts = decompose(truth, bold, typical_costs=[100.0, 200.0, 300.0], currency="USD")
    >>> parts.miscalibration.low > 0 and parts.discrimination.low > 0
    True
    >>> abs(decompose(truth, calm).miscalibration.value) < 0.005
    True
    """
    forecast = read_forecast(
        y_true, y_proba, labels=labels, sample_weight=sample_weight, logits=logits, normalise=normalise
    )
    prior, forecast = priced(forecast, prior, costs, typical_costs)
    method, numbered = read_choice(method, "method", CHOICES), read_groups(groups, forecast.n_cases)
    n_folds = read_folds(folds, forecast.n_cases, numbered)
    return decompose_forecast(forecast, prior, method, n_folds, seed, read_level(level), currency, numbered)


def decompose_forecast(
    forecast: Forecast,
    prior: Prior,
    method: str,
    folds: int,
    seed: int,
    level: float,
    currency: str | None = None,
    groups: IntArray | None = None,
) -> Decomposition:
    """The same, past the door: of a forecast that has its costs, and groups numbered from 0."""
    own = row_costs(forecast, prior)
    rows = _counted_by_group(rows_of(forecast)[0], groups)
    all_alike = (np.ptp(rows.scores, axis=1) <= SAME).all()
    method = "frequencies" if all_alike else method
    out_of_fold = cross_fit(rows, deal(rows.truth, folds, seed, groups), partial(_fitted, method=method))
    baseline, recalibrated = _recalibrated_costs(forecast, prior, own, rows, out_of_fold)
    hindsight = [(np.ones(len(rows), dtype=bool), _fitted(rows, "vector" if method == "auto" else method))]
    easier, best = _recalibrated_costs(forecast, prior, own, rows, hindsight)
    term = partial(Term.of, weights=rows.weights, groups=groups, level=level)
    miscalibration = _up_to(term(own - recalibrated), term(own - best))
    discrimination = _up_to(term(baseline - recalibrated), term(easier - best))
    return Decomposition(term(own), miscalibration, discrimination, term(baseline), currency, level)


def _counted_by_group(rows: LabelledScores, groups: IntArray | None) -> LabelledScores:
    """Without costs, and with weights that sum to the number of independent rows, whatever their unit.

    A map must be warranted by what is independent: rows of one group count as one, and rows of unequal weights as
    the number of equal ones that would say as much.
    """
    total = rows.weights.sum()
    size = effective_number(within_groups(rows.weights, groups) / total)
    weights = rows.weights * (size / total)
    return replace(rows, weights=weights, costs=np.ones((rows.n_classes, 1)))


def _fitted(rows: LabelledScores, method: str) -> tuple[FloatArray, Map]:
    """Class frequencies (K,), and a map by one of the methods, or by "frequencies" alone."""
    if method == "frequencies":
        return rows.frequencies, frequency_map(rows)
    some = rows.at_most(ENOUGH_ROWS)
    return rows.frequencies, warranted_map(some) if method == "auto" else default_map(method, some, LogLoss())


def _recalibrated_costs(
    forecast: Forecast,
    prior: Prior,
    own: FloatArray,
    rows: LabelledScores,
    fitted: Iterable[tuple[NDArray[np.bool_], tuple[FloatArray, Map]]],
) -> tuple[FloatArray, FloatArray]:
    """What searching by class frequencies and by recalibrated forecasts costs, (N,) each.

    Where a map changes nothing, or knows nothing but the frequencies, its costs are those of the forecasts or of
    the frequencies to the last bit, so that no rounding shows up as a saving.
    """
    shares, table = np.empty((2, len(rows), rows.n_classes))
    unchanged, constant = np.zeros((2, len(rows)), dtype=bool)
    for inside, (frequencies, map_) in fitted:
        shares[inside], table[inside] = frequencies, probabilities_of(map_(rows.scores[:, inside]))
        unchanged[inside], constant[inside] = map_.changes_nothing, map_.forgets_everything
    settled = replace(forecast, logits=False, tolerance=1e-6, checked=True)
    baseline, recalibrated = (
        row_costs(replace(settled, values=forecast.per_row(values)), prior) for values in (shares, table)
    )
    return baseline, np.select([constant, unchanged], [baseline, own], recalibrated)


def _up_to(term: Term, hindsight: Term) -> Term:
    """An interval that reaches up to what hindsight would save.

    Maps that other rows fitted save less than the best one would, and fitted to the rows themselves they save
    more. Both err by the number of parameters over the number of rows, which the rows' spread does not show: what
    the best map saves lies between.
    """
    return replace(term, high=max(term.high, hindsight.high))


def _plain(number: float) -> float | None:
    return None if np.isnan(number) else float(number)


def read_folds(folds: Any, n_rows: int, groups: IntArray | None) -> int:
    """How many folds rows, or groups, are dealt into; at most as many as there are."""
    argument, unit = ("y_true", "row") if groups is None else ("groups", "group")
    available = n_rows if groups is None else int(groups.max()) + 1
    count = min(read_count(folds, "folds", least=2), available)
    if count < 2:
        fix = f"recalibrating a {unit} takes another to learn from; pass at least two"
        raise InputError(f"has 1 {unit}", argument=argument, fix=fix)
    return count
