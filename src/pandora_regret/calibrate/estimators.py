"""Calibrators as scikit-learn estimators: temperature, vector and matrix scaling, and other class frequencies.

Their features are forecasts, one column per class: probabilities, or logits with ``logits=True``. A probability of
zero counts as half the smallest positive one seen in `fit`, since no scaling could ever repair it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from pandora_regret.calibrate.maps import (
    DEFAULT_PENALTIES,
    MOST_ROUNDS,
    TOLERANCE,
    Map,
    Penalties,
    adjusted,
    adjusted_frequencies,
    fitted_map,
    read_objective,
)
from pandora_regret.calibrate.rows import LabelledScores, probabilities_of, rows_of, table_of, turned
from pandora_regret.inputs import (
    FloatArray,
    Forecast,
    InputError,
    IntArray,
    read_count,
    read_positive,
    read_probabilities,
)
from pandora_regret.inputs.costs import check_named
from pandora_regret.inputs.errors import renamed
from pandora_regret.inputs.forecast import voted
from pandora_regret.inputs.labels import are_votes, check_row_order, read_labels, read_truth
from pandora_regret.inputs.tables import by_name, is_frame, read_columns
from pandora_regret.priors import Prior
from pandora_regret.scores import priced

FLOATS = (np.float64, np.float32, np.float16)


class NamesLikeliest(ClassifierMixin):  # type: ignore[misc]
    """A classifier that predicts what its forecasts say."""

    def predict(self, X: Any) -> Any:
        """The most likely class of each row, after recalibration."""
        proba = self.predict_proba(X)
        return self.classes_[np.argmax(proba, axis=1)]


@dataclass(eq=False, repr=False, kw_only=True)
class ReadsForecasts(NamesLikeliest, BaseEstimator):  # type: ignore[misc]
    """A classifier whose features are another one's forecasts."""

    logits: bool = False
    labels: Any = None
    normalise: bool = False

    def _labelled(self, X: Any, y: Any, sample_weight: Any) -> Forecast:
        """Forecasts and labels, or votes, to fit on; says what the columns stand for."""
        check_row_order(X=X, y=y, sample_weight=sample_weight)
        labels, by_votes = self.labels, are_votes(y)
        if is_frame(X):
            listed, labels = read_columns(X, None if labels is None else read_labels(labels), "X")
            X = np.stack(listed, axis=1)
        options: dict[str, Any] = {"dtype": FLOATS, "ensure_all_finite": False, "ensure_min_features": 2}
        if by_votes:
            X = validate_data(self, X, **options)
            named = read_columns(y, None, "y")[1] if labels is None and is_frame(y) else labels
            self._columns: Sequence[Any] = list(range(X.shape[1]) if named is None else read_labels(list(named)))
            self._order, self.classes_ = None, np.asarray(self._columns)
            return voted(self._read(X, sample_weight), y)
        X, y = validate_data(self, X, y, **options)
        check_labels(y)
        self._columns, self._order, self.classes_ = columns(y, X.shape[1], labels)
        names = self._columns if self._order is None else np.argsort(self._order).tolist()
        return replace(self._read(X, sample_weight), truth=read_truth(y, names, len(X)))

    def _unlabelled(self, X: Any, sample_weight: Any = None) -> Forecast:
        """Forecasts to recalibrate."""
        check_is_fitted(self)
        if is_frame(X):
            X = np.stack(read_columns(X, self._columns, "X")[0], axis=1)
        X = validate_data(self, X, dtype=FLOATS, ensure_all_finite=False, reset=False)
        return self._read(X, sample_weight)

    def _in_class_order(self, table: FloatArray) -> FloatArray:
        """Recalibrated forecasts in the order of `classes_`, which are the columns unless labels came encoded."""
        return table if self._order is None else np.ascontiguousarray(table[:, self._order])

    def _read(self, X: NDArray[Any], sample_weight: Any) -> Forecast:
        weights = None if sample_weight is None else np.asarray(sample_weight)
        options: dict[str, Any] = {"logits": self.logits, "normalise": self.normalise, "name": "X"}
        return read_probabilities(X, labels=self._columns, sample_weight=weights, **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # whatever the features say, it only scales them
        return tags


class Scaling(ReadsForecasts):
    """A linear map of log-probabilities, fitted to labels."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the map to forecasts X, (N, K), and the true classes y, (N,), or votes, (N, K)."""
        forecast = self._labelled(X, y, sample_weight)
        rows, self._level = rows_of(forecast)
        fitted = self._fitted_map(rows, forecast)
        self.factors_, self.shifts_ = fitted.factors, fitted.shifts
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """The recalibrated forecasts, (N, K)."""
        scores, _ = turned(self._unlabelled(X), self._level)
        return self._in_class_order(probabilities_of(Map(self.factors_, self.shifts_)(scores)))


@renamed("typical_costs", "costs")
@dataclass(eq=False, repr=False, kw_only=True)
class TemperatureScaling(Scaling):
    """One temperature for all forecasts, ``softmax(ln p / T)``: it changes how sure they are, not their order.

    The log loss is convex in 1 / T, and Newton's method finds its minimum. T stays in [0.001, 1000]: forecasts
    that always favour the truth would ask for 0, and get 0.001; forecasts that are worse than guessing would ask
    for infinity, and get 1000; forecasts that favour no class in any row keep T = 1.

    Parameters
    ----------
    objective
        "log_loss", or "search", the expected search cost under `prior` and `costs`.
    prior, costs
        What a search costs, for that objective, as in `expected_search_cost`; costs may be named by class.
    logits
        Whether forecasts come as logits.
    labels
        What the columns stand for, in column order, such as a classifier's `classes_`. Unless given: a frame's
        column names; sorted numbers, if there are as many as columns; else column numbers. Classes that are names
        need one of the first two.
    normalise
        Whether rows of probabilities whose sum is off 1 by at most 1 % are divided by it.

    Attributes
    ----------
    temperature_
        T.
    classes_
        What the columns stand for; a class that never occurs among the labels is fine. Whole numbers as labels of
        columns that have names are read as scikit-learn encodes names, by their place in the sorted ones, as
        `cross_val_predict` does; forecasts then come in that order, too.

    See Also
    --------
    recalibrate : What a map saves, and whether that is worth it.
    CalibratedSearch : A classifier and its calibrator in one.

    References
    ----------
    Guo et al. (2017) [guo17]_.

    Examples
    --------
    >>> import numpy as np
    >>> bold = np.array([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.1, 0.9]])
    >>> calibrator = TemperatureScaling().fit(bold, [0, 0, 1, 1])
    >>> calibrator.predict_proba(bold).round(3)
    array([[0.75, 0.25],
           [0.75, 0.25],
           [0.75, 0.25],
           [0.25, 0.75]])
    """

    objective: str = "log_loss"
    prior: Prior | None = None
    costs: Any = None

    def _fitted_map(self, rows: LabelledScores, forecast: Forecast) -> Map:
        if self.labels is None:
            check_named(forecast.labels, self.costs)
        prior: Prior | None = None
        if read_objective(self.objective, "temperature") == "search":
            prior, forecast = priced(forecast, self.prior, self.costs)
        fitted = fitted_map("temperature", replace(rows, costs=forecast.costs), prior=prior)
        self.temperature_ = 1 / float(fitted.factors[0])
        return fitted


@dataclass(eq=False, repr=False, kw_only=True)
class VectorScaling(Scaling):
    """One factor and one shift per class: ``softmax(w_k ln p_k + b_k)``.

    The map is drawn towards the best temperature by `penalty`, so that a single row, separable data and a class
    that never occurs have a finite answer. It is fitted for log loss.

    Parameters
    ----------
    penalty
        How strongly: of the squared distances, over twice the number of rows (the sum of the weights).

    logits, labels, normalise
        As in `TemperatureScaling`.

    Attributes
    ----------
    factors_, shifts_
        w and b, both (K,).

    References
    ----------
    Guo et al. (2017) [guo17]_.

    Examples
    --------
    >>> calibrator = VectorScaling().fit([[0.5, 0.5]] * 40, [0] * 30 + [1] * 10)
    >>> bool(calibrator.predict_proba([[0.5, 0.5]])[0, 0] > 0.6)
    True
    """

    penalty: float = DEFAULT_PENALTIES.diagonal

    def _fitted_map(self, rows: LabelledScores, forecast: Forecast) -> Map:
        penalty = read_positive(self.penalty, "penalty")  # without any, separable data have no best map
        return fitted_map("vector", rows, Penalties(penalty, penalty, penalty))


@dataclass(eq=False, repr=False, kw_only=True)
class MatrixScaling(Scaling):
    """Dirichlet calibration, ``softmax(W ln p + b)``: every class may weigh in on every other.

    Drawn towards the best temperature as `VectorScaling` is, with a penalty of its own for entries off the
    diagonal, of which there are most, and for shifts.

    Parameters
    ----------
    off_diagonal, intercept, diagonal
        Penalties of the squared distances, over twice the number of rows (the sum of the weights).

    logits, labels, normalise
        As in `TemperatureScaling`.

    Attributes
    ----------
    factors_, shifts_
        W, (K, K), and b, (K,).

    References
    ----------
    Kull et al. (2019) [kull19]_.

    Examples
    --------
    >>> calibrator = MatrixScaling().fit([[0.6, 0.4], [0.3, 0.7]] * 20, [0, 1] * 20)
    >>> calibrator.factors_.shape
    (2, 2)
    """

    off_diagonal: float = DEFAULT_PENALTIES.off_diagonal
    intercept: float = DEFAULT_PENALTIES.intercept
    diagonal: float = DEFAULT_PENALTIES.diagonal

    def _fitted_map(self, rows: LabelledScores, forecast: Forecast) -> Map:
        strengths = (read_positive(getattr(self, name), name) for name in Penalties._fields)
        return fitted_map("matrix", rows, Penalties(*strengths))


@dataclass(eq=False, repr=False, kw_only=True)
class PriorShift(ReadsForecasts):
    """Forecasts made where classes had some frequencies, adjusted to where they have others.

    `fit` counts the labels of the data that the classifier was trained on, or of data like it. `adapt` looks at
    forecasts of the new population, without labels, and finds the class frequencies under which they are most
    likely (EM, Saerens and others, 2002). `predict_proba` multiplies each forecast by the ratio of frequencies,
    new over old, and normalises; before `adapt`, and without `target_prior`, it changes nothing.

    Adapting trusts the classifier: what p(features | class) says must be the same in both populations, and
    forecasts must be calibrated in the old one. A class that never occurs in `fit` has no old frequency: its
    forecasts keep their proportion. A row to which the new frequencies give no possible class is left as it is.

    Parameters
    ----------
    target_prior
        The new class frequencies where they are known: (K,), or named by class.
    tolerance, max_rounds
        EM stops when no frequency moves by more than the tolerance, or after so many rounds.
    logits, labels, normalise
        As in `TemperatureScaling`.

    Attributes
    ----------
    source_prior_, target_prior_
        Old and new class frequencies, (K,).
    rounds_
        Rounds of EM.

    Examples
    --------
    >>> shift = PriorShift(target_prior=[0.1, 0.9]).fit([[0.5, 0.5]] * 2, [0, 1])
    >>> shift.predict_proba([[0.5, 0.5]])
    array([[0.1, 0.9]])
    """

    target_prior: Any = None
    tolerance: float = TOLERANCE
    max_rounds: int = MOST_ROUNDS

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PriorShift:
        """Count the classes y, (N,), or votes, (N, K), of data as in training; X are its forecasts, (N, K)."""
        forecast = self._labelled(X, y, sample_weight).check()
        counts = np.bincount(forecast.truth, forecast.weights, forecast.n_classes)
        self.source_prior_ = counts / counts.sum()
        self.target_prior_, self.rounds_ = self.source_prior_, 0
        if self.target_prior is not None:
            listed = by_name(self.target_prior, self._columns, "target_prior")
            target = read_probabilities([listed], labels=self._columns, name="target_prior").check()
            self.target_prior_ = np.asarray(target.values[0], dtype=np.float64)
        return self

    def adapt(self, X: Any, sample_weight: Any = None) -> PriorShift:
        """Find the class frequencies of a population from forecasts of it, (N, K), without labels."""
        forecast = self._unlabelled(X, sample_weight)
        limits = read_positive(self.tolerance, "tolerance"), read_count(self.max_rounds, "max_rounds")
        about = (table_of(forecast), self.source_prior_, forecast.weights)
        self.target_prior_, self.rounds_ = adjusted_frequencies(*about, *limits)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Forecasts adjusted to the new class frequencies, (N, K)."""
        table = table_of(self._unlabelled(X))
        return self._in_class_order(adjusted(table, self.source_prior_, self.target_prior_))


def check_labels(y: NDArray[Any]) -> None:
    """Whole numbers and text are classes; anything else might be a measurement, or missing."""
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise InputError(f"y contains {y[~np.isfinite(y)][0]}, which is no label: drop the row, or label it.")
    if y.dtype.kind not in "biuUS":
        check_classification_targets(y)


def columns(y: NDArray[Any], n_columns: int, labels: Any) -> tuple[Sequence[Any], IntArray | None, NDArray[Any]]:
    """What the columns stand for, their order in what is predicted if it is another one, and the classes there.

    Columns are what is said, else the sorted numbers, else column numbers: a class that never occurs in y leaves
    fewer labels than columns. Names are never guessed: that columns are in alphabetical order nobody has said.
    """
    seen = np.unique(y)
    if labels is not None:
        names = list(read_labels(labels))
        if (order := _encoded_order(seen, names)) is not None:
            return names, order, np.arange(len(names))
        own = {str(label): label for label in seen.tolist()}  # a frame's '1' may be the label 1
        known = [own.get(str(label), label) for label in names]
        return known, None, np.asarray(known)
    if seen.dtype.kind not in "biuf":
        problem = f"has names, {seen.tolist()[:8]}, and nothing says which column of X stands for which"
        fix = (
            "pass labels=[...] in column order, such as a classifier's classes_, when making the calibrator, "
            "VectorScaling(labels=[...]), or pass X as a frame with named columns"
        )
        raise InputError(problem, argument="y", value=seen.tolist()[:8], fix=fix)
    if len(seen) == n_columns:
        return seen.tolist(), None, np.asarray(seen)
    if seen.dtype.kind in "biu" and seen[0] >= 0 and seen[-1] < n_columns:
        return list(range(n_columns)), None, np.arange(n_columns)
    problem = f"has {len(seen)} classes, {seen.tolist()[:8]}, but X has {n_columns} columns"
    fix = "say what the columns stand for with labels=[...], in column order"
    raise InputError(problem, argument="y", value=len(seen), fix=fix)


def _encoded_order(seen: NDArray[Any], names: Sequence[Any]) -> IntArray | None:
    """The column of each code, where y holds whole numbers and columns have names, none of which is such a number.

    scikit-learn numbers the names that occur, sorted. That the last name occurs shows that all do; else there is
    no telling which ones were left out.
    """
    if seen.dtype.kind not in "iu" or seen[0] < 0 or seen[-1] >= len(names):
        return None
    if not all(isinstance(name, str) for name in names) or not set(map(str, seen.tolist())).isdisjoint(names):
        return None
    if seen[-1] < len(names) - 1:
        problem = f"holds the numbers {seen.tolist()[:8]} where X has the columns {list(names)[:8]}"
        fix = "pass names as labels; scikit-learn's numbers of names say nothing where a class is missing"
        raise InputError(problem, argument="y", value=seen.tolist()[:8], fix=fix)
    return np.argsort(np.asarray(names, dtype=object), kind="stable")
