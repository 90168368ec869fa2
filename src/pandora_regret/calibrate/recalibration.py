"""One map for all forecasts of a model, and what it saves on rows that had no part in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.calibrate.decomposition import Term, read_folds
from pandora_regret.calibrate.frequencies import adjusted_frequencies
from pandora_regret.calibrate.objectives import DEFAULT_OBJECTIVE, OBJECTIVES, LogLoss, Objective, SearchCost
from pandora_regret.calibrate.rows import LabelledScores, cross_fit, deal, probabilities_of, read_groups, rows_of
from pandora_regret.calibrate.saved_map import RecalibrationMap
from pandora_regret.calibrate.scaling import METHODS, Map, default_map
from pandora_regret.inputs import FloatArray, Forecast, IntArray, Labels, Table, read_choice, read_forecast
from pandora_regret.inputs.numbers import read_level
from pandora_regret.kernels.reference import probabilities
from pandora_regret.priors import Prior
from pandora_regret.scores import priced, row_costs

SMALLEST_FREQUENCY = 1e-12  # a class that has gone keeps this much, so that its logarithm is a number


@dataclass(frozen=True)
class Recalibration:
    """A map fitted to all rows, and the mean costs per case without it and with maps that other rows fitted."""

    map: RecalibrationMap
    cost: Term
    recalibrated: Term
    saved: Term  # paired
    unit: str | None
    level: float

    @property
    def worth_it(self) -> bool | None:
        """Whether the interval of what it saves lies above zero; None where it includes zero, or there is none."""
        if self.saved.low > 0:
            return True
        return False if self.saved.high <= 0 else None


def recalibrate(
    y_true: Labels,
    y_proba: Table,
    *,
    method: str = "temperature",
    objective: str = DEFAULT_OBJECTIVE,
    prior: Prior | None = None,
    costs: Any = None,
    typical_costs: Any = None,
    currency: str | None = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    groups: Any = None,
    folds: int = 10,
    seed: int = 0,
    level: float = 0.95,
) -> Recalibration:
    """Learn from labelled forecasts how to say better what they know, and find out what that saves.

    Parameters
    ----------
    y_true, y_proba, labels, sample_weight, logits, normalise
        As in `pandora_regret`.
    method
        "temperature" (one factor), "vector" (one factor and one shift per class) or "matrix" scaling.
    objective
        What the map is fitted for: "log_loss", or "search", the expected search cost itself.
    prior, costs, typical_costs, currency
        What tests cost, as in `expected_search_cost`: what is saved is in their unit.
    groups
        What rows belong together, (N,): no row is judged by a map that saw another of its group.
    folds, seed
        Rows, or groups, are dealt into so many folds, class by class. Each row's saving comes from a map that rows
        of other folds fitted; the map that is returned is fitted to all rows.
    level
        Of the intervals, which are Student's, of paired differences.

    Returns
    -------
    Recalibration
        The map, what it saves out of fold with an interval, and whether that is worth it.

    See Also
    --------
    decompose : What of the cost would go away, by the best of several maps.
    load_map : A map that was saved.

    References
    ----------
    Guo et al. (2017), on temperature scaling [guo17]_.
    Kull et al. (2019), on matrix scaling [kull19]_.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> calm = rng.dirichlet([1.0, 1.0, 1.0], size=2000)
    >>> truth = [rng.choice(3, p=p) for p in calm]
    >>> bold = calm**3 / (calm**3).sum(axis=1, keepdims=True)
    >>> result = recalibrate(truth, bold, typical_costs=[100.0, 200.0, 300.0])
    >>> result.worth_it, round(result.map.temperature)
    (True, 3)
    """
    options: dict[str, Any] = {"labels": labels, "sample_weight": sample_weight}
    forecast = read_forecast(y_true, y_proba, logits=logits, normalise=normalise, **options)
    prior, forecast = priced(forecast, prior, costs, typical_costs)
    numbered = read_groups(groups, forecast.n_cases)
    n_folds = read_folds(folds, forecast.n_cases, numbered)
    return recalibrate_forecast(
        forecast, prior, method, objective, n_folds, seed, read_level(level), currency, numbered
    )


def recalibrate_forecast(
    forecast: Forecast,
    prior: Prior,
    method: str,
    objective: str,
    folds: int,
    seed: int,
    level: float,
    currency: str | None = None,
    groups: IntArray | None = None,
) -> Recalibration:
    """The same, past the door: of a forecast that has its costs, and groups numbered from 0."""
    method, wanted = read_choice(method, "method", METHODS), read_choice(objective, "objective", OBJECTIVES)
    minimised: Objective = LogLoss() if wanted == "log_loss" else SearchCost(prior)
    rows, zero = rows_of(forecast)

    def fit(some: LabelledScores) -> Map:
        return default_map(method, some, minimised)

    table = np.empty((len(rows), rows.n_classes))
    for inside, map_ in cross_fit(rows, deal(rows.truth, folds, seed, groups), fit):
        table[inside] = probabilities_of(map_(rows.scores[:, inside]))
    whole = fit(rows)
    saved_map = _saved(forecast, method, wanted, whole, zero)
    return judged(forecast, table, prior, saved_map, level, currency, groups)


def judged(
    forecast: Forecast,
    table: FloatArray,
    prior: Prior,
    map_: RecalibrationMap,
    level: float,
    currency: str | None = None,
    groups: IntArray | None = None,
) -> Recalibration:
    """What recalibrated forecasts, (N, K) in the order of the forecast's columns, save."""
    settled = replace(forecast, values=forecast.per_row(table), logits=False, tolerance=1e-6, checked=True)
    before, after = (row_costs(each, prior) for each in (forecast, settled))
    weights = np.ones(forecast.n_cases) if forecast.case_weights is None else forecast.case_weights
    term = partial(Term.of, weights=weights, groups=groups, level=level)
    return Recalibration(map_, term(before), term(after), term(before - after), currency, level)


def shifted_frequencies(labelled: Forecast, new: Forecast) -> RecalibrationMap:
    """Adjust forecasts to the class frequencies of new cases, found without their labels, as `PriorShift` does."""
    rows, zero = rows_of(labelled)
    source = rows.frequencies
    tables = [probabilities(block) for block in new.blocks()]
    columns = [list(map(str, new.labels)).index(str(label)) for label in labelled.labels]
    target, _ = adjusted_frequencies(np.concatenate(tables)[:, columns], source, new.weights)
    shifts = np.log(np.maximum(target, SMALLEST_FREQUENCY) / source)
    return _saved(labelled, "prior", None, Map(np.ones(len(source)), shifts), zero)


def _saved(forecast: Forecast, method: str, objective: str | None, map_: Map, zero: float) -> RecalibrationMap:
    classes, factors = tuple(str(label) for label in forecast.labels), map_.factors.tolist()
    nested = tuple(tuple(row) if isinstance(row, list) else row for row in factors)
    return RecalibrationMap(
        classes, method, objective, nested, tuple(map_.shifts.tolist()), zero, forecast.n_cases
    )
