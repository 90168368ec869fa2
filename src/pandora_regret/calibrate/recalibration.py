"""One map for all forecasts of a model, what it saves on rows that had no part in it, and its file.

And where a search's cost comes from: poor calibration, poor discrimination, or classes that are hard to know.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pandora_regret._version import __version__
from pandora_regret.calibrate.maps import (
    MAP_METHODS,
    Map,
    draw_rows,
    find_frequencies,
    fitted_map,
    frequencies_in,
    frequency_map,
    log_probabilities,
    out_of_fold_inverse_temperatures,
    pick_rows,
    probabilities_of,
    probability_table,
    read_objective,
    warranted_map,
)
from pandora_regret.core.atomic import write_atomically
from pandora_regret.core.inputs import (
    ByClass,
    FloatArray,
    Forecast,
    InputError,
    IntArray,
    Labels,
    Table,
    quoted,
    read_choice,
    read_count,
    read_forecast,
    read_level,
    read_probabilities,
)
from pandora_regret.core.kernels.engine import costs_for_every_truth
from pandora_regret.core.kernels.reference import probabilities
from pandora_regret.core.priors import Prior
from pandora_regret.core.records import from_plain, to_plain
from pandora_regret.core.scores import priced, row_costs
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.intervals import FEWEST_UNITS, Limits, hull, suitable_interval
from pandora_regret.inference.joint import Figure, effective_number, within
from pandora_regret.inference.keyed import keys_of

Fitted = TypeVar("Fitted")

SCHEMA = "pandora-map/1"
SMALLEST_FREQUENCY = 1e-12  # a class that has gone keeps this much, so that its logarithm is a number
ENOUGH_ROWS = 100_000  # to fit a map on
ENOUGH_UNITS = 2_000  # to see how much savings vary: from 500 on, forecasts widen intervals by less than 2 %
METHOD_CHOICES = {"auto": "the one of least AIC, or none", **MAP_METHODS}
KEY_DIGITS = 9  # to which forecasts are told apart when they are dealt into folds
SAME = 1e-12  # forecasts whose log-probabilities differ by no more are one forecast


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
        classes = tuple(map(str, forecast.labels))
        shifts = tuple(map_.shifts.tolist())
        return cls(classes, method, objective, tuple(factors), shifts, zero, forecast.n_cases)

    @property
    def temperature(self) -> float | None:
        """What logits are divided by, where that is all it does: above 1 the forecasts were overconfident."""
        return 1 / float(np.asarray(self.factors)[0]) if self.method == "temperature" else None

    def predict_proba(
        self, y_proba: Table, *, labels: ArrayLike | None = None, logits: bool = False
    ) -> FloatArray:
        """Recalibrated forecasts, (N, K), columns in the order of `classes`.

        A frame's columns are matched by name; an array's are in the order of `classes`, or of `labels`.
        """
        columns = self.classes if labels is None else labels
        return self.apply(read_probabilities(y_proba, labels=columns, logits=logits).check())

    def apply(self, forecast: Forecast) -> FloatArray:
        """Recalibrated forecasts, (N, K), in the order of `classes`; columns of the forecast may be in any."""
        columns = {str(label): column for column, label in enumerate(forecast.labels)}
        if differ := sorted(set(columns) ^ set(self.classes)):
            problem = f"has other classes than the map was fitted for: {quoted(differ)}"
            fix = "recalibrate forecasts of the same model"
            raise InputError(problem, argument="y_proba", value=differ, fix=fix)
        rows, _ = log_probabilities(forecast, self.zero)
        scores = rows.values.T[[columns[name] for name in self.classes]]
        return probabilities_of(Map(np.asarray(self.factors), np.asarray(self.shifts))(scores))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the map as JSON, for `load_map`."""
        head = {"schema": SCHEMA, "library": f"pandora-regret {__version__}"}
        text = json.dumps(head | to_plain(self), indent=1, allow_nan=False) + "\n"
        return write_atomically(path, text.encode())


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
    k = len(loaded.classes)
    shape = np.shape(np.asarray(loaded.factors, dtype=object))
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
        if self.saved.is_above_zero:
            return True
        return False if self.saved.turned.is_above_zero else None


def recalibrate(
    y_true: Labels | None,
    y_proba: Table | Forecast,
    *,
    method: str = "temperature",
    objective: str = "log_loss",
    prior: Prior | None = None,
    costs: ByClass | None = None,
    currency: str | None = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    groups: Labels | None = None,
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
        recalibrating on new cases, whatever sample it learns from. It holds three intervals: those of rows, of
        folds, and of rows whose truths vary as their recalibrated forecasts say, since the rare cases on which
        most is saved may be missing from a small sample, and then it shows too little spread.

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
    method = read_choice(method, "method", MAP_METHODS)
    level = read_level(level)
    search_prior = prior if read_objective(objective, method) == "search" else None
    units = number_groups(groups, forecast.n_cases)
    recalibrated, fold = out_of_fold(forecast, method, search_prior, folds, seed, units)
    map_ = _map_of_all_rows(forecast, method, objective, search_prior)
    weights = weights_of(forecast)
    costs_before = row_costs(forecast, prior)
    costs_after = row_costs(recalibrated, prior)
    saved = costs_before - costs_after
    n_units = len(saved) if units is None else int(units.max()) + 1
    savings = predicted_savings(forecast, recalibrated, prior) if n_units <= ENOUGH_UNITS else None
    limits = limits_of_saving(saved, fold, forecast, savings, units, level)
    return Recalibration(
        map=map_,
        cost=Figure.of_mean(costs_before, weights, units).estimate(level),
        recalibrated=Figure.of_mean(costs_after, weights, units).estimate(level),
        saved=Estimate(Figure.of_mean(saved, weights, units).value, *limits),
        unit=currency,
        level=level,
    )


def _map_of_all_rows(forecast: Forecast, method: str, objective: str, prior: Prior | None) -> RecalibrationMap:
    """The map that is fitted to all rows: for log loss, or with a prior for the search cost under it."""
    rows, zero = log_probabilities(forecast)
    return RecalibrationMap.of(forecast, method, objective, fitted_map(method, rows, prior=prior), zero)


def limits_of_saving(
    saved: FloatArray,
    fold: IntArray,
    forecast: Forecast,
    savings: PredictedSavings | None,
    units: IntArray | None,
    level: float,
) -> Limits:
    """The interval of the mean saving on new cases: it holds those of rows, of folds, and of the forecasts.

    Parameters
    ----------
    saved
        What each case saves, (n_cases,).
    fold
        The fold of each case, (n_cases,): cases of a fold share a map, and so what is wrong with it, and folds may
        differ by more than their cases explain.
    forecast
        The forecasts as they were, with weights.
    savings
        What the rows save by their own forecasts; None where there are enough units to see it.
    units
        The number of each case's unit, (n_cases,); None where every case is one.
    level
        Of the interval.
    """
    weights = weights_of(forecast)
    by_unit = Figure.of_mean(saved, weights, units).limits(level)
    by_fold = Figure.of_mean(saved, weights, fold).limits(level)
    limits = hull(by_unit, by_fold)
    if savings is None:
        return limits
    by_forecast = predicted_limits(saved, forecast, savings, units, level)
    return limits if by_forecast is None else hull(limits, by_forecast)


@dataclass(frozen=True)
class PredictedSavings:
    """What recalibrating saves each row if its truth is drawn from its recalibrated forecast, (N,) each.

    Not finite where a saving may be infinite.
    """

    mean: FloatArray
    square: FloatArray  # the mean square of what lies off the mean
    cube: FloatArray  # and its mean cube

    @classmethod
    def of_block(cls, recalibrated: Forecast, costs: FloatArray, later_costs: FloatArray) -> PredictedSavings:
        """Those of some rows, from what they cost for every truth, (n, K): as they were, and recalibrated."""
        q = probabilities(recalibrated)
        with np.errstate(invalid="ignore"):
            saved = costs - later_costs
            mean = (q * saved).sum(axis=1)
            centred = saved - mean[:, None]
            square = q * centred * centred
            cube = square * centred  # NumPy's power takes ten times as long
            return cls(mean, square.sum(axis=1), cube.sum(axis=1))

    @classmethod
    def joined(cls, parts: Sequence[PredictedSavings]) -> PredictedSavings:
        """Those of the rows of all parts, in this order."""
        mean = np.concatenate([part.mean for part in parts])
        square = np.concatenate([part.square for part in parts])
        cube = np.concatenate([part.cube for part in parts])
        return cls(mean, square, cube)


def predicted_savings(forecast: Forecast, later: Forecast, prior: Prior) -> PredictedSavings:
    """What each row's search saves by its own recalibrated forecast."""
    parts = []
    before = costs_for_every_truth(forecast, prior)
    after = costs_for_every_truth(later, prior)
    for (_, costs), (later_block, later_costs) in zip(before, after, strict=True):
        parts.append(PredictedSavings.of_block(later_block, costs, later_costs))
    return PredictedSavings.joined(parts)


def predicted_limits(
    saved: FloatArray, forecast: Forecast, savings: PredictedSavings, units: IntArray | None, level: float
) -> Limits | None:
    """An interval of the mean saving that does not depend on which truths the sample happens to have.

    Most is saved in rare cases, in which a bold forecast is wrong. A small sample with few of them shows a saving
    that is too small, and a spread that is, too. So the truth of each case is taken as drawn from its recalibrated
    forecast, whose map was fitted to other cases; the moments that follow take the place of the sample's own in
    Student's interval and its correction for skewness.

    Parameters
    ----------
    saved, forecast, savings, units, level
        As in `limits_of_saving`.

    Returns
    -------
    (float, float) or None
        None where nothing is known of other units, or where a saving may be infinite.
    """
    mean_saving = Figure.of_mean(saved, weights_of(forecast), units)
    if mean_saving.effective < FEWEST_UNITS:
        return None
    dependence = dependence_within_units(saved, forecast, savings, units)
    second, third = predicted_moments(forecast, savings, mean_saving.value, units, dependence)
    if not math.isfinite(second):
        return None
    error = math.sqrt(second / (1 - (mean_saving.shares**2).sum()))
    acceleration = third / (6 * second**1.5) if second > 0 else 0.0
    return suitable_interval(mean_saving.value, error, mean_saving.effective, level, acceleration=acceleration)


def dependence_within_units(
    saved: FloatArray, forecast: Forecast, savings: PredictedSavings, units: IntArray | None
) -> float:
    """How far the cases of a unit save more, or less, than their forecasts say together: from 0, not at all, to 1.

    With what each case adds to the mean beyond its forecast, r: the products of r of two cases of a unit, as a
    share of what they would be if all had one sign. Copies of a case have 1, and so does a sample that lacks the
    rare cases on which most is saved, where all save a little less: then nothing is known, and 1 is the safe side.
    """
    if units is None:
        return 0.0
    weights = weights_of(forecast)
    with np.errstate(invalid="ignore"):  # of savings that are infinite
        beyond = weights / weights.sum() * (saved - forecast.per_case(savings.mean))
    squares = within(beyond**2, units)
    products = (within(beyond, units) ** 2 - squares).sum()
    of_one_sign = (within(np.abs(beyond), units) ** 2 - squares).sum()
    if not of_one_sign > 0:
        return 1.0
    return float(np.clip(products / of_one_sign, 0.0, 1.0))


def predicted_moments(
    forecast: Forecast, savings: PredictedSavings, saving: float, units: IntArray | None, dependence: float
) -> tuple[float, float]:
    r"""The sums over units of the mean square and the mean cube of what each adds to the mean saving.

    If class k is the truth, a case saves :math:`d_k`. With its share w of all weight it adds
    :math:`x_k = w (d_k - \bar d)` to the mean, and with the chances q that its recalibrated forecast gives

    .. math:: m = \sum_k q_k x_k, \quad v = \sum_k q_k (x_k - m)^2, \quad t = \sum_k q_k (x_k - m)^3.

    If truths are independent given the forecasts, v and t add up to V and T over the cases of a unit; if the
    truths of a unit are one and the same, their roots do: V is then :math:`(\sum \sqrt v)^2` and T
    :math:`(\sum \sqrt[3] t)^3`. `dependence` says where between the two, from 0 to 1. With the sum M of m, the
    mean square and cube of what a unit adds are :math:`M^2 + V` and :math:`M^3 + 3 M V + T`. They are infinite or
    NaN where a saving is.
    """
    weights = weights_of(forecast)
    share = weights / weights.sum()
    squares = share**2 * forecast.per_case(savings.square)
    cubes = share**3 * forecast.per_case(savings.cube)
    m = within(share * (forecast.per_case(savings.mean) - saving), units)
    v = within(squares, units)
    t = within(cubes, units)
    v += dependence * (within(np.sqrt(squares), units) ** 2 - v)
    t += dependence * (within(np.cbrt(cubes), units) ** 3 - t)
    return float((m**2 + v).sum()), float((m**3 + 3 * m * v + t).sum())


def weights_of(forecast: Forecast) -> FloatArray:
    """What each case weighs, (n_cases,)."""
    return np.ones(forecast.n_cases) if forecast.case_weights is None else forecast.case_weights


def number_groups(groups: object, n_rows: int) -> IntArray | None:
    """The number of each row's group, (N,), from 0; None where every row stands for itself."""
    return None if groups is None else np.unique(keys_of(groups, "groups", n_rows), return_inverse=True)[1]


def deal(truth: IntArray, folds: int, groups: IntArray | None = None) -> IntArray:
    """The fold of each row, (N,): those of every class are dealt out in turn, so that folds differ by one at most.

    With groups, numbered from 0, whole groups are dealt, each as its first row.
    """
    if groups is not None:
        return deal(truth[np.unique(groups, return_index=True)[1]], folds)[groups]
    fold = np.empty(len(truth), dtype=np.intp)
    fold[np.argsort(truth, kind="stable")] = np.arange(len(truth)) % folds
    return fold


def folds_of_cases(rows: Forecast, folds: int, seed: int, groups: IntArray | None) -> IntArray:
    """The fold of each case, (n_cases,): cases, or groups of them, are dealt by chance, each as a whole.

    Not class by class, from which a map would learn the class frequencies of the fold that it is tried on. Cases
    are told apart by what was said of them and their truth, so that neither the order of rows nor that of columns
    makes a difference, and copies of a case stay in one fold; unless so many are alike, more than a fold holds,
    that forecasts are merely coarse.
    """
    keys = _keys_of_cases(rows)
    available = len(keys) if groups is None else int(groups.max()) + 1
    n_folds = min(read_count(folds, "folds", least=2), available)
    if groups is not None:
        first = np.full(available, np.inf)  # the least key of each group
        np.minimum.at(first, groups, keys)
        units = np.argsort(np.argsort(first, kind="stable"))[groups]
    else:
        _, units, copies = np.unique(keys, return_inverse=True, return_counts=True)
        if copies.max() > len(keys) / n_folds:
            units = np.argsort(np.lexsort((weights_of(rows), keys)))
    shuffled = np.random.default_rng(seed).permutation(int(units.max()) + 1)
    fold = shuffled[units] % n_folds
    if np.count_nonzero(np.bincount(fold, weights_of(rows))) < 2:
        unit = "rows" if groups is None else "groups"
        argument = "y_true" if groups is None else "groups"
        fix = f"recalibrating takes other {unit} to learn from; pass at least two that have weight, or fewer folds"
        raise InputError("has all weight in one fold", argument=argument, fix=fix)
    return fold


def _keys_of_cases(rows: Forecast) -> FloatArray:
    """A number for each case, (n_cases,), made of its forecast and truth, whatever the order of columns."""
    of_truth = rows.values[np.arange(len(rows)), rows.truth]
    mean_square = (rows.values.T**2).mean(axis=0)
    share = np.round(frequencies_in(rows), KEY_DIGITS)[rows.truth]  # the last digits depend on the weights' unit
    return np.round(rows.per_case(of_truth + math.pi * mean_square + math.e * share), KEY_DIGITS)


def cross_fit(
    rows: Forecast, fold: IntArray, fit: Callable[[Forecast], Fitted]
) -> Iterator[tuple[NDArray[np.bool_], Fitted]]:
    """For each fold, which rows are in it, (N,), and what the rows of the other folds fitted."""
    for number in np.unique(fold):
        inside = fold == number
        yield inside, fit(pick_rows(rows, np.flatnonzero(~inside)))


@dataclass(frozen=True)
class FoldMaps:
    """A map for each row that rows of other folds fitted: as a number for each row, or as a map for each fold."""

    fold: IntArray  # (n_cases,)
    inverse_temperatures: FloatArray | None  # (N,) where maps are no more than that; else None
    maps: Mapping[int, Map] | None  # by the fold, where there are no inverse temperatures; else None

    def apply(self, rows: Forecast) -> Forecast:
        """The forecasts that maps were fitted on, as log-probabilities, by the map of each row's case."""
        if self.inverse_temperatures is not None:
            return replace(rows, values=rows.values * self.inverse_temperatures[:, None])
        assert self.maps is not None
        fold_of_row = rows.per_row(self.fold)
        scores = np.empty_like(rows.values)
        for number, map_ in self.maps.items():
            inside = fold_of_row == number
            scores[inside] = map_(rows.values[inside].T).T
        return replace(rows, values=scores)


def maps_out_of_fold(
    rows: Forecast, method: str, prior: Prior | None, folds: int, seed: int, groups: IntArray | None
) -> FoldMaps:
    """Maps of log-probabilities, fitted for log loss, or with a prior for the search cost under it."""
    fold = folds_of_cases(rows, folds, seed, groups)
    fold_of_row = rows.per_row(fold)
    if method == "temperature" and prior is None:
        return FoldMaps(fold, out_of_fold_inverse_temperatures(rows, fold_of_row), None)
    fitted = cross_fit(rows, fold_of_row, partial(fitted_map, method, prior=prior))
    return FoldMaps(fold, None, {int(fold_of_row[inside][0]): map_ for inside, map_ in fitted})


def out_of_fold(
    forecast: Forecast, method: str, prior: Prior | None, folds: int, seed: int, groups: IntArray | None
) -> tuple[Forecast, IntArray]:
    """The forecasts as logits, each row by a map that rows of other folds fitted; and the fold of each case.

    Maps are fitted for log loss, or with a prior for the search cost under it.
    """
    rows, _ = log_probabilities(forecast)
    maps = maps_out_of_fold(rows, method, prior, folds, seed, groups)
    return maps.apply(rows), maps.fold


def shifted_frequencies(labelled: Forecast, new: Forecast) -> RecalibrationMap:
    """Adjust forecasts to the class frequencies of new cases, found without their labels, as `PriorShift` does."""
    rows, zero = log_probabilities(labelled)
    source = frequencies_in(rows)
    columns = [list(map(str, new.labels)).index(str(label)) for label in labelled.labels]
    target, _ = find_frequencies(probability_table(new)[:, columns], source, new.weights)
    shifts = np.log(np.maximum(target, SMALLEST_FREQUENCY) / source)
    return RecalibrationMap.of(labelled, "prior", None, Map(np.ones(len(source)), shifts), zero)


@dataclass(frozen=True)
class Decomposition:
    """``score = miscalibration - discrimination + uncertainty``, each an amount of the costs' unit."""

    score: Estimate
    miscalibration: Estimate
    discrimination: Estimate
    uncertainty: Estimate
    unit: str | None
    level: float


def decompose(
    y_true: Labels | None,
    y_proba: Table | Forecast,
    *,
    prior: Prior | None = None,
    costs: ByClass | None = None,
    currency: str | None = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    groups: Labels | None = None,
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
    method = read_choice(method, "method", METHOD_CHOICES)
    level = read_level(level)
    units = number_groups(groups, forecast.n_cases)
    weights = weights_of(forecast)
    rows = _with_weights_of_units(log_probabilities(forecast)[0], weights, units)
    if (np.ptp(rows.values, axis=0) <= SAME).all():
        method = "frequencies"
    fold = rows.per_row(folds_of_cases(rows, folds, seed, units))
    costs_before = row_costs(forecast, prior)
    costs_by = partial(_learned_costs, forecast, rows, prior, costs_before)
    by_others = costs_by(cross_fit(rows, fold, partial(_learn, method)))
    hindsight = _learn("vector" if method == "auto" else method, rows)
    in_hindsight = costs_by([(np.ones(len(rows), bool), hindsight)])

    def term(values: FloatArray) -> Estimate:
        """The mean of values of cases, (n_cases,), with its interval."""
        return Figure.of_mean(values, weights, units).estimate(level)

    saved = term(costs_before - by_others.recalibrated)
    saved_in_hindsight = term(costs_before - in_hindsight.recalibrated)
    known = term(by_others.baseline - by_others.recalibrated)
    known_in_hindsight = term(in_hindsight.baseline - in_hindsight.recalibrated)
    return Decomposition(
        score=term(costs_before),
        miscalibration=_up_to(saved, saved_in_hindsight),
        discrimination=_up_to(known, known_in_hindsight),
        uncertainty=term(by_others.baseline),
        unit=currency,
        level=level,
    )


def _with_weights_of_units(rows: Forecast, weights: FloatArray, units: IntArray | None) -> Forecast:
    """The rows, their weights made to sum to the number of independent units, by which a map must be warranted.

    So rows of one group count as one, and rows of unequal weights as the number of equal ones that would say as
    much.
    """
    total = weights.sum()
    independent = effective_number(within(weights, units) / total)
    return replace(rows, weights=rows.each_weight * (independent / total))


@dataclass(frozen=True)
class _Lesson:
    """What some rows teach about others."""

    frequencies: FloatArray  # of the classes, (K,)
    map: Map

    @property
    def changes_nothing(self) -> bool:
        """Whether the map leaves every forecast as it is."""
        map_ = self.map
        return bool(map_.factors.ndim == 1 and (map_.factors == 1).all() and not map_.shifts.any())


def _learn(method: str, rows: Forecast) -> _Lesson:
    """The class frequencies of some rows, and the map that a method fits to them."""
    frequencies = frequencies_in(rows)
    if method == "frequencies":
        return _Lesson(frequencies, frequency_map(rows))
    enough = draw_rows(rows, ENOUGH_ROWS)
    return _Lesson(frequencies, warranted_map(enough) if method == "auto" else fitted_map(method, enough))


@dataclass(frozen=True)
class _LessonCosts:
    """What searching by what was learned costs, (n_cases,) each."""

    baseline: FloatArray  # by class frequencies
    recalibrated: FloatArray  # by recalibrated forecasts


def _learned_costs(
    forecast: Forecast,
    rows: Forecast,
    prior: Prior,
    costs_before: FloatArray,
    learned: Iterable[tuple[NDArray[np.bool_], _Lesson]],
) -> _LessonCosts:
    """What searching costs by class frequencies and maps, each for the rows, (N,), that it comes with.

    Where a map changes nothing, or knows nothing but the frequencies, its costs are those of the forecasts or of
    the frequencies to the last bit: no rounding shows up as a saving.
    """
    unchanged = np.zeros(len(rows))
    shares = np.empty(forecast.values.shape)
    table = np.empty(forecast.values.shape)
    for inside, lesson in learned:
        shares[inside] = lesson.frequencies
        table[inside] = lesson.frequencies
        if lesson.map.factors.any():
            table[inside] = probabilities_of(lesson.map(rows.values[inside].T))
        unchanged[inside] = lesson.changes_nothing
    settled = replace(forecast, logits=False, tolerance=1e-6, checked=True)
    recalibrated = row_costs(replace(settled, values=table), prior)
    is_unchanged = forecast.per_case(unchanged) > 0  # all rows of a case have one map
    return _LessonCosts(
        baseline=row_costs(replace(settled, values=shares), prior),
        recalibrated=np.where(is_unchanged, costs_before, recalibrated),
    )


def _up_to(estimate: Estimate, in_hindsight: Estimate) -> Estimate:
    """What maps of other rows save; its interval reaches up to that of what the best map saves in hindsight.

    Maps that other rows fitted save less than the best one would, and fitted to the rows themselves they save
    more. Both err by the number of parameters over the number of rows, which the rows' spread does not show: what
    the best map saves lies between.
    """
    if estimate.high is None or in_hindsight.high is None:
        return estimate
    return replace(estimate, high=max(estimate.high, in_hindsight.high))
