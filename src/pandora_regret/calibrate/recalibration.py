"""One map for all forecasts of a model, what it saves on rows that had no part in it, and its file."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret._version import __version__
from pandora_regret.atomic import write_atomically
from pandora_regret.calibrate.maps import (
    METHODS,
    Map,
    adjusted_frequencies,
    fitted_map,
    out_of_fold_inverse_temperatures,
    read_objective,
)
from pandora_regret.calibrate.rows import (
    cross_fit,
    folds_of_cases,
    frequencies_in,
    log_probabilities,
    probabilities_of,
    read_groups,
    table_of,
    weights_of,
)
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.intervals import hull
from pandora_regret.inference.joint import Figure
from pandora_regret.inputs import (
    FloatArray,
    Forecast,
    InputError,
    IntArray,
    Labels,
    Table,
    read_choice,
    read_forecast,
    read_probabilities,
)
from pandora_regret.inputs.errors import renamed
from pandora_regret.inputs.names import quoted
from pandora_regret.inputs.numbers import read_level
from pandora_regret.priors import Prior
from pandora_regret.records import from_plain, to_plain
from pandora_regret.scores import priced, row_costs

SCHEMA = "pandora-map/1"
SMALLEST_FREQUENCY = 1e-12  # a class that has gone keeps this much, so that its logarithm is a number


@dataclass(frozen=True)
class RecalibrationMap:
    """Forecasts that say better what they know, ``softmax(factors ln p + shifts)``; made by `recalibrate`.

    Examples
    --------
    >>> import numpy as np
    >>> calmer = RecalibrationMap(("a", "b"), "temperature", "log_loss", (0.5, 0.5), (0.0, 0.0), -20.0, rows=100)
    >>> calmer.predict_proba([[0.9, 0.1]])
    array([[0.75, 0.25]])
    """

    classes: tuple[str, ...]
    method: str  # "temperature", "vector", "matrix" or "prior"
    objective: str | None  # "search" or "log_loss"; None of class frequencies
    factors: tuple[float | tuple[float, ...], ...]  # (K,), or (K, K) of a matrix
    shifts: tuple[float, ...]  # (K,)
    zero: float  # the log-probability at which a probability of 0 counts
    rows: int  # it was fitted on

    @classmethod
    def of(
        cls, forecast: Forecast, method: str, objective: str | None, map_: Map, zero: float
    ) -> RecalibrationMap:
        """A map that was fitted to a forecast."""
        factors = [tuple(row) if isinstance(row, list) else row for row in map_.factors.tolist()]
        about, parts = (method, objective), (tuple(factors), tuple(map_.shifts.tolist()))
        return cls(tuple(map(str, forecast.labels)), *about, *parts, zero, forecast.n_cases)

    @property
    def temperature(self) -> float | None:
        """What logits are divided by, where that is all it does: above 1 the forecasts were overconfident."""
        return 1 / float(np.asarray(self.factors)[0]) if self.method == "temperature" else None

    def predict_proba(self, y_proba: Table, *, labels: Any = None, logits: bool = False) -> FloatArray:
        """Recalibrated forecasts, (N, K), columns in the order of `classes`.

        A frame's columns are matched by name; an array's are in the order of `classes`, or of `labels`.
        """
        names = list(self.classes) if labels is None else labels
        return self.apply(read_probabilities(y_proba, labels=names, logits=logits).check())

    def apply(self, forecast: Forecast) -> FloatArray:
        """The same past the door; the forecast's columns may be in any order."""
        columns = {str(label): column for column, label in enumerate(forecast.labels)}
        if differ := sorted(set(columns) ^ set(self.classes)):
            problem = f"has other classes than the map was fitted for: {quoted(differ)}"
            fix = "recalibrate forecasts of the same model"
            raise InputError(problem, argument="y_proba", value=differ, fix=fix)
        rows, _ = log_probabilities(forecast, self.zero)
        scores = rows.values.T[[columns[name] for name in self.classes]]
        return probabilities_of(Map(np.asarray(self.factors), np.asarray(self.shifts))(scores))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it as JSON, for `load_map`."""
        about = {"schema": SCHEMA, "library": f"pandora-regret {__version__}"}
        text = json.dumps(about | to_plain(self), indent=1, allow_nan=False) + "\n"
        return write_atomically(path, lambda file: file.write(text.encode()))


def load_map(path: str | os.PathLike[str]) -> RecalibrationMap:
    """A map that `RecalibrationMap.save` or ``pandora recalibrate`` has written.

    Parameters
    ----------
    path
        The JSON file.

    Returns
    -------
    RecalibrationMap
        Ready to transform forecasts of the same classes.

    Examples
    --------
    >>> load_map("triage.map.json").predict_proba(forecasts)  # doctest: +SKIP
    """
    place = os.fspath(path)
    try:
        plain = json.loads(Path(path).read_bytes())
    except ValueError:  # no JSON, or no text
        plain = None
    if not isinstance(plain, dict) or plain.pop("schema", None) != SCHEMA:
        fix = "pandora recalibrate writes them"
        raise InputError(f"is no map: its schema is not {SCHEMA!r}", place=place, fix=fix)
    loaded = from_plain(RecalibrationMap, plain, place)
    k, shape = len(loaded.classes), np.shape(np.asarray(loaded.factors, dtype=object))
    if len(set(loaded.classes)) != k or k < 2 or shape not in ((k,), (k, k)) or len(loaded.shifts) != k:
        raise InputError(
            f"has {k} classes, factors {shape} and {len(loaded.shifts)} shifts: they differ", place=place
        )
    return loaded


@dataclass(frozen=True)
class Recalibration:
    """A map fitted to all rows, and the mean costs per case without it and with maps that other rows fitted."""

    map: RecalibrationMap
    cost: Estimate
    recalibrated: Estimate
    saved: Estimate  # paired
    unit: str | None
    level: float

    @property
    def worth_it(self) -> bool | None:
        """Whether the interval of what it saves lies above zero; None where it includes zero, or there is none."""
        if self.saved.low is None or self.saved.high is None or self.saved.low <= 0 < self.saved.high:
            return None
        return self.saved.low > 0


@renamed("typical_costs", "costs")
def recalibrate(
    y_true: Labels,
    y_proba: Table,
    *,
    method: str = "temperature",
    objective: str = "log_loss",
    prior: Prior | None = None,
    costs: Any = None,
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
        What the map is fitted for: "log_loss", or, of a temperature, "search", the expected search cost itself.
    prior, costs, currency
        What tests cost, as in `expected_search_cost`: what is saved is in their unit.
    groups
        What rows belong together, (N,): no row is judged by a map that saw another of its group.
    folds, seed
        Rows, or groups, are dealt into so many folds, copies of a row into one. Each row's saving comes from a map
        that rows of other folds fitted; the map that is returned is fitted to all rows.
    level
        Of the intervals, which are Student's, of paired differences. That of what is saved is about this way of
        recalibrating on new cases, whatever sample it learns from: it is that of rows or that of folds, whichever
        is wider.

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
    >>> result = recalibrate(truth, bold, costs=[100.0, 200.0, 300.0])
    >>> result.worth_it, round(result.map.temperature)
    (True, 3)
    """
    forecast = read_forecast(y_true, y_proba, labels, sample_weight, logits, normalise)
    prior, forecast = priced(forecast, prior, costs)
    method, level = read_choice(method, "method", METHODS), read_level(level)
    by = prior if read_objective(objective, method) == "search" else None
    units, weights, (rows, zero) = (
        read_groups(groups, forecast.n_cases),
        weights_of(forecast),
        log_probabilities(forecast),
    )
    later, fold = out_of_fold(forecast, method, by, folds, seed, units)
    own, then = (row_costs(each, prior) for each in (forecast, later))
    cost, recalibrated, saved = (
        Figure.of_mean(each, weights, units).estimate(level) for each in (own, then, own - then)
    )
    # rows of a fold share a map, and so what is wrong with it: folds may differ by more than their rows explain
    by_fold = Figure.of_mean(own - then, weights, fold).limits(level)
    saved = Estimate(saved.value, *hull((saved.low, saved.high), by_fold))
    map_ = RecalibrationMap.of(forecast, method, objective, fitted_map(method, rows, prior=by), zero)
    return Recalibration(map_, cost, recalibrated, saved, currency, level)


def out_of_fold(
    forecast: Forecast, method: str, prior: Prior | None, folds: int, seed: int, groups: IntArray | None
) -> tuple[Forecast, IntArray]:
    """The forecasts as logits, each row by a map that rows of other folds fitted; and the fold of each case.

    Maps are fitted for log loss, or with a prior for the search cost under it.
    """
    rows, _ = log_probabilities(forecast)
    fold = folds_of_cases(rows, folds, seed, groups)
    of_rows, scores = rows.per_row(fold), np.empty_like(rows.values)
    if method == "temperature" and prior is None:
        scores = rows.values * out_of_fold_inverse_temperatures(rows, of_rows)[:, None]
    else:
        for inside, map_ in cross_fit(rows, of_rows, partial(fitted_map, method, prior=prior)):
            scores[inside] = map_(rows.values[inside].T).T
    return replace(rows, values=scores), fold


def shifted_frequencies(labelled: Forecast, new: Forecast) -> RecalibrationMap:
    """Adjust forecasts to the class frequencies of new cases, found without their labels, as `PriorShift` does."""
    rows, zero = log_probabilities(labelled)
    source = frequencies_in(rows)
    columns = [list(map(str, new.labels)).index(str(label)) for label in labelled.labels]
    target, _ = adjusted_frequencies(table_of(new)[:, columns], source, new.weights)
    shifts = np.log(np.maximum(target, SMALLEST_FREQUENCY) / source)
    return RecalibrationMap.of(labelled, "prior", None, Map(np.ones(len(source)), shifts), zero)
