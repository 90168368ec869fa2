"""Calibrators as scikit-learn estimators: temperature, vector and matrix scaling, and other class frequencies.

And any classifier, calibrated by cross-validation for the search that its forecasts will order. The features of
calibrators are forecasts, one column per class: probabilities, or logits with ``logits=True``. A probability of
zero counts as half the smallest positive one seen in `fit`, since no scaling could ever repair it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import PredefinedSplit, check_cv
from sklearn.utils import _safe_indexing, assert_all_finite, get_tags, indexable
from sklearn.utils.metadata_routing import _RoutingNotSupportedMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    _check_method_params,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    validate_data,
)

from pandora_regret.calibrate.maps import (
    DEFAULT_PENALTIES,
    EM_TOLERANCE,
    MAP_METHODS,
    MOST_ROUNDS,
    Map,
    Penalties,
    adjust_to_frequencies,
    find_frequencies,
    fitted_map,
    log_probabilities,
    probabilities_of,
    probability_table,
    read_objective,
)
from pandora_regret.calibrate.recalibration import deal, number_groups
from pandora_regret.core.inputs import (
    ByClass,
    Fields,
    FloatArray,
    Forecast,
    InputError,
    IntArray,
    Labels,
    Table,
    by_name,
    check_named,
    check_row_order,
    is_frame,
    read_array,
    read_choice,
    read_columns,
    read_count,
    read_labels,
    read_positive,
    read_probabilities,
    with_truth,
)
from pandora_regret.core.priors import Prior
from pandora_regret.core.scores import priced

if TYPE_CHECKING:
    from sklearn.utils import Tags

Weights: TypeAlias = ArrayLike | None

FLOATS = (np.float64, np.float32, np.float16)


class Classifier(Protocol):
    """What is used of a scikit-learn classifier, beside `predict_proba` or `decision_function`."""

    classes_: ArrayLike
    n_features_in_: int

    def fit(self, X: Table, y: ArrayLike, **params: object) -> Self:
        """Learn from rows and their classes."""


class Splitter(Protocol):
    """What is used of a scikit-learn splitter."""

    def split(self, X: Table, y: ArrayLike, groups: ArrayLike | None) -> Iterable[tuple[IntArray, IntArray]]:
        """The rows to train on and those to test, fold by fold."""


class LikeliestClass(ClassifierMixin):  # type: ignore[misc]
    """A classifier that predicts what its forecasts say."""

    classes_: NDArray[np.generic]

    def predict_proba(self, X: Table) -> FloatArray:
        """Recalibrated forecasts, (N, K)."""
        raise NotImplementedError

    def predict(self, X: Table) -> NDArray[np.generic]:
        """The most likely class of each row, after recalibration."""
        proba = self.predict_proba(X)  # first, since it says so where nothing was fitted
        return np.asarray(self.classes_[np.argmax(proba, axis=1)])


@dataclass(eq=False, repr=False, kw_only=True)
class ForecastReader(LikeliestClass, BaseEstimator):  # type: ignore[misc]
    """A classifier whose features are another one's forecasts."""

    logits: bool = False
    labels: ArrayLike | None = None
    normalise: bool = False

    def _read_labelled(self, X: Table, y: Labels, sample_weight: Weights) -> Forecast:
        """Forecasts and their truth, to fit on; finds out what the columns stand for."""
        check_row_order(X=X, y=y, sample_weight=sample_weight)
        labels = None if self.labels is None else read_labels(self.labels)
        if is_frame(X):
            listed, labels = read_columns(X, labels, "X")
            X = np.stack(listed, axis=1)
        shape = read_array(y, "y").shape
        has_votes = len(shape) == 2 and shape[1] > 1
        table, truth = self._validated(X, y, has_votes)
        n_columns = table.shape[1]
        if has_votes:
            if labels is None and is_frame(y):
                labels = read_columns(y, None, "y")[1]
            self._columns: Sequence[object] = list(range(n_columns)) if labels is None else labels
            self._order: IntArray | None = None
        else:
            check_labels(truth)
            self._columns, self._order = meaning_of_columns(truth, n_columns, labels)
            y = truth
        if self._order is None:
            names = self._columns
            self.classes_ = np.asarray(names)
        else:  # labels are scikit-learn's numbers of names
            names = np.argsort(self._order).tolist()
            self.classes_ = np.arange(n_columns)
        return with_truth(self._read(table, sample_weight), y, names)

    def _validated(self, X: Table, y: Labels, has_votes: bool) -> tuple[NDArray[np.floating], NDArray[np.generic]]:
        """Features and labels as scikit-learn checks them; it knows no votes, and gets to see none."""
        options: Fields = {"dtype": FLOATS, "ensure_all_finite": False, "ensure_min_features": 2}
        if has_votes:
            return validate_data(self, X, **options), np.empty(0)
        table, truth = validate_data(self, X, y, **options)
        return table, truth

    def _read_unlabelled(self, X: Table, sample_weight: Weights = None) -> Forecast:
        """Forecasts without a truth, (N, K), to recalibrate."""
        check_is_fitted(self)
        if is_frame(X):
            X = np.stack(read_columns(X, self._columns, "X")[0], axis=1)
        table = validate_data(self, X, dtype=FLOATS, ensure_all_finite=False, reset=False)
        return self._read(table, sample_weight)

    def _in_class_order(self, table: FloatArray) -> FloatArray:
        """Recalibrated forecasts in the order of `classes_`, which are the columns unless labels came encoded."""
        return table if self._order is None else np.ascontiguousarray(table[:, self._order])

    def _read(self, table: NDArray[np.floating], sample_weight: Weights) -> Forecast:
        weights = None if sample_weight is None else np.asarray(sample_weight)
        return read_probabilities(table, self._columns, weights, self.logits, self.normalise, name="X")

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # whatever the features say, it only scales them
        return tags


class Scaling(ForecastReader):
    """A linear map of log-probabilities, fitted to labels."""

    def fit(self, X: Table, y: Labels, sample_weight: Weights = None) -> Self:
        """Fit the map to forecasts X, (N, K), and the true classes y, as in `pandora_regret`."""
        rows, self._level = log_probabilities(self._read_labelled(X, y, sample_weight))
        fitted = self._fitted_map(rows)
        self.factors_ = fitted.factors
        self.shifts_ = fitted.shifts
        return self

    def _fitted_map(self, rows: Forecast) -> Map:
        """The map of a method, fitted to log-probabilities."""
        raise NotImplementedError

    def predict_proba(self, X: Table) -> FloatArray:
        """The recalibrated forecasts, (N, K)."""
        rows, _ = log_probabilities(self._read_unlabelled(X), self._level)
        return self._in_class_order(probabilities_of(Map(self.factors_, self.shifts_)(rows.values.T)))


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
    costs: ByClass | None = None

    def _fitted_map(self, rows: Forecast) -> Map:
        if self.labels is None:
            check_named(rows.labels, self.costs)
        if read_objective(self.objective, "temperature") == "search":
            prior, priced_rows = priced(rows, self.prior, self.costs)
            fitted = fitted_map("temperature", priced_rows, prior=prior)
        else:
            fitted = fitted_map("temperature", rows)
        self.temperature_ = 1 / float(fitted.factors[0])
        return fitted


@dataclass(eq=False, repr=False, kw_only=True)
class VectorScaling(Scaling):
    """One factor and one shift per class: ``softmax(w_k ln p_k + b_k)``.

    The map is drawn towards the best temperature by `penalty`, so that a single row, separable data and a class
    that never occurs have a finite answer. It is fitted for log loss. Sample weights are proportions: a factor on
    all of them changes nothing, and two copies of a row are more evidence than one row of weight 2.

    Parameters
    ----------
    penalty
        How strongly: of the squared distances, over twice the number of rows that have weight.

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

    def _fitted_map(self, rows: Forecast) -> Map:
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
        Penalties of the squared distances, over twice the number of rows that have weight.

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

    def _fitted_map(self, rows: Forecast) -> Map:
        penalties = Penalties(
            diagonal=read_positive(self.diagonal, "diagonal"),
            off_diagonal=read_positive(self.off_diagonal, "off_diagonal"),
            intercept=read_positive(self.intercept, "intercept"),
        )
        return fitted_map("matrix", rows, penalties)


@dataclass(eq=False, repr=False, kw_only=True)
class PriorShift(ForecastReader):
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

    target_prior: ByClass | None = None
    tolerance: float = EM_TOLERANCE
    max_rounds: int = MOST_ROUNDS

    def fit(self, X: Table, y: Labels, sample_weight: Weights = None) -> Self:
        """Count the true classes y, as in `pandora_regret`, of data as in training, with forecasts X, (N, K)."""
        forecast = self._read_labelled(X, y, sample_weight).check()
        counts = np.bincount(forecast.truth, forecast.weights, forecast.n_classes)
        self.source_prior_ = counts / counts.sum()
        self.target_prior_ = self.source_prior_
        self.rounds_ = 0
        if self.target_prior is not None:
            listed = np.asarray(by_name(self.target_prior, self._columns, "target_prior"))
            target = read_probabilities(listed[None], labels=self._columns, name="target_prior").check()
            self.target_prior_ = np.asarray(target.values[0], dtype=np.float64)
        return self

    def adapt(self, X: Table, sample_weight: Weights = None) -> Self:
        """Find the class frequencies of a population from forecasts of it, (N, K), without labels."""
        forecast = self._read_unlabelled(X, sample_weight)
        self.target_prior_, self.rounds_ = find_frequencies(
            probability_table(forecast),
            self.source_prior_,
            forecast.weights,
            read_positive(self.tolerance, "tolerance"),
            read_count(self.max_rounds, "max_rounds"),
        )
        return self

    def predict_proba(self, X: Table) -> FloatArray:
        """Forecasts adjusted to the new class frequencies, (N, K)."""
        table = probability_table(self._read_unlabelled(X))
        return self._in_class_order(adjust_to_frequencies(table, self.source_prior_, self.target_prior_))


@dataclass(eq=False, repr=False)
class CalibratedSearch(LikeliestClass, _RoutingNotSupportedMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose forecasts are recalibrated, so that searching by them costs less.

    The classifier is fitted fold by fold, its forecasts of rows it has not seen are what the calibrator learns
    from, and in the end it is fitted to all rows. A `FrozenEstimator` is not fitted again: all rows given to `fit`
    are for the calibrator. A fold that lacks a class forecasts it with probability zero. Classifiers without
    `predict_proba` are asked for their `decision_function`, which is read as logits.

    Parameters
    ----------
    estimator
        The classifier.
    method
        "temperature", "vector" or "matrix" scaling.
    objective, prior, costs
        As in `TemperatureScaling`; the search objective is one of temperature scaling.
    cv
        A number of folds, into which the rows of every class are dealt in turn (a class with fewer rows than folds
        is fine), whole groups at a time if `fit` is told of groups; or what scikit-learn takes: a splitter, or
        pairs of train and test rows.
    n_jobs
        How many folds to fit at once.

    Attributes
    ----------
    estimator_, calibrator_
        The fitted classifier and its calibrator.
    classes_
        The classes, in column order.

    Sample weights go to the calibrator, for which only proportions count, and as they are to the classifier if its
    `fit` takes them: to some, such as penalised regressions, their sum makes a difference.

    See Also
    --------
    recalibrate : What a map saves, and whether that is worth it.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_wine(return_X_y=True)
    >>> model = CalibratedSearch(GaussianNB(), method="temperature").fit(X, y)
    >>> model.calibrator_.temperature_ > 1  # naive Bayes is too sure of itself
    True
    >>> model.predict_proba(X[:1]).shape
    (1, 3)
    """

    estimator: Classifier
    _: KW_ONLY
    method: str = "vector"
    objective: str = "log_loss"
    prior: Prior | None = None
    costs: ByClass | None = None
    cv: int | Splitter | Iterable[tuple[IntArray, IntArray]] = 5
    n_jobs: int | None = None

    def fit(
        self,
        X: Table,
        y: ArrayLike,
        sample_weight: Weights = None,
        *,
        groups: ArrayLike | None = None,
        **fit_params: object,
    ) -> Self:
        """Fit the classifier and its calibrator.

        Groups, (N,), say which rows belong together, as a patient's images do: no row is forecast by a model that
        saw another of its group. A splitter gets them too. `fit_params` go to the classifier.
        """
        X, y = indexable(X, column_or_1d(y, warn=True))
        truth = np.asarray(y)
        check_labels(truth)
        is_frozen = isinstance(self.estimator, FrozenEstimator)
        self.classes_ = np.asarray(self.estimator.classes_) if is_frozen else np.unique(truth)
        check_named(self.classes_.tolist(), self.costs)
        if sample_weight is not None and has_fit_parameter(self.estimator, "sample_weight"):
            fit_params["sample_weight"] = np.asarray(sample_weight)
        if is_frozen:
            self.estimator_ = self.estimator
            seen = np.arange(len(truth))
            forecasts = self._forecasts(self.estimator, X)
        else:
            seen, forecasts = self._out_of_fold(X, y, fit_params, groups)
            self.estimator_ = clone(self.estimator).fit(X, y, **fit_params)
        weights = None if sample_weight is None else np.asarray(sample_weight)[seen]
        self.calibrator_ = self._new_calibrator().fit(forecasts, truth[seen], weights)
        return self

    def _new_calibrator(self) -> Scaling:
        """The calibrator that the parameters describe, not fitted yet."""
        method = read_choice(self.method, "method", MAP_METHODS)
        objective = read_objective(self.objective, method)
        logits = not hasattr(self.estimator_, "predict_proba")
        if method == "temperature":
            return TemperatureScaling(
                labels=self.classes_, logits=logits, objective=objective, prior=self.prior, costs=self.costs
            )
        if method == "vector":
            return VectorScaling(labels=self.classes_, logits=logits)
        return MatrixScaling(labels=self.classes_, logits=logits)

    def predict_proba(self, X: Table) -> FloatArray:
        """Recalibrated forecasts, (N, K)."""
        check_is_fitted(self)
        return self.calibrator_.predict_proba(self._forecasts(self.estimator_, X))

    @property
    def n_features_in_(self) -> int:
        """How many features the classifier was fitted on."""
        check_is_fitted(self)
        return int(self.estimator_.n_features_in_)

    def _out_of_fold(
        self, X: Table, y: ArrayLike, fit_params: Fields, groups: ArrayLike | None
    ) -> tuple[IntArray, FloatArray]:
        """The rows that some fold tests, and forecasts of them by models that were fitted without."""
        rows = np.arange(len(np.asarray(y)))
        if isinstance(self.cv, int | np.integer):
            folds = self._stratified_folds(int(self.cv), np.asarray(y), groups).split()
        else:
            folds = check_cv(self.cv, y, classifier=True).split(X, y, groups)
        parts = Parallel(n_jobs=self.n_jobs)(
            delayed(self._one_fold)(clone(self.estimator), X, y, train, rows[test], fit_params)
            for train, test in folds
        )
        tests, forecasts = zip(*parts, strict=True)
        return np.concatenate(tests), np.concatenate(forecasts)

    def _stratified_folds(self, n_folds: int, y: NDArray[np.generic], groups: ArrayLike | None) -> PredefinedSplit:
        """Folds into which the rows of every class are dealt in turn, whole groups at a time."""
        numbered = number_groups(groups, len(y))
        most = len(y) if numbered is None else int(numbered.max()) + 1
        if min(n_folds, most) < 2:
            unit = "n_samples" if numbered is None else "n_groups"
            problem = f"is {n_folds} and {unit} = {most}: cross-validation needs at least 2 of both"
            fix = "pass more, or FrozenEstimator(estimator) if it is fitted already"
            raise InputError(problem, argument="cv", value=n_folds, fix=fix)
        truth = np.unique(y, return_inverse=True)[1]
        return PredefinedSplit(deal(truth, min(n_folds, most), groups=numbered))

    def _one_fold(
        self, model: Classifier, X: Table, y: ArrayLike, train: IntArray, test: IntArray, fit_params: Fields
    ) -> tuple[IntArray, FloatArray]:
        """The rows of a fold, and forecasts of them.

        Not by `cross_val_predict`, which numbers labels, and refuses decisions where a fold lacks a class.
        """
        params = _check_method_params(X, params=fit_params, indices=train)
        model.fit(_safe_indexing(X, train), _safe_indexing(y, train), **params)
        return test, self._forecasts(model, _safe_indexing(X, test))

    def _forecasts(self, model: Classifier, X: Table) -> FloatArray:
        """Probabilities or logits, one column for every class; one that the model does not know is impossible."""
        if hasattr(model, "predict_proba"):
            table = np.asarray(model.predict_proba(X))
            impossible = 0.0
        elif hasattr(model, "decision_function"):
            table = np.asarray(model.decision_function(X))
            impossible = -np.inf
            table = np.stack([np.zeros_like(table), table], axis=1) if table.ndim == 1 else table
        else:
            raise InputError(
                "has neither predict_proba nor decision_function", argument="estimator", fix="pass a classifier"
            )
        known = np.asarray(model.classes_).tolist()
        if table.shape[1] != len(known):
            problem = f"decision_function has {table.shape[1]} columns for {len(known)} classes"
            fix = "one per class is needed; set decision_function_shape='ovr' if it has that parameter"
            raise InputError(f"the classifier's {problem}", argument="estimator", place="", fix=fix)
        all_classes = self.classes_.tolist()
        forecasts = np.full((len(table), len(all_classes)), impossible)
        forecasts[:, [all_classes.index(name) for name in known]] = table
        return forecasts

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def check_labels(y: NDArray[np.generic]) -> None:
    """An error unless labels are whole numbers or text: all else might be measurements, or missing."""
    if y.dtype.kind not in "biuUS":
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)


def meaning_of_columns(
    y: NDArray[np.generic], n_columns: int, labels: Sequence[object] | None
) -> tuple[Sequence[object], IntArray | None]:
    """What the columns stand for, and the column of each class where labels came as numbers of names.

    Columns are what `labels` say, else the sorted numbers, else column numbers: a class that never occurs in y
    leaves fewer labels than columns. Names are never guessed: that columns are in alphabetical order nobody has
    said.
    """
    seen = np.unique(y)
    if labels is not None:
        order = _encoded_order(seen, labels)
        if order is not None:
            return labels, order
        as_in_y = {str(label): label for label in seen.tolist()}  # a frame's '1' may be the label 1
        return [as_in_y.get(str(label), label) for label in labels], None
    if seen.dtype.kind not in "biuf":
        problem = f"has names, {seen.tolist()[:8]}, and nothing says which column of X stands for which"
        fix = (
            "pass labels=[...] in column order, such as a classifier's classes_, when making the calibrator, "
            "VectorScaling(labels=[...]), or pass X as a frame with named columns"
        )
        raise InputError(problem, argument="y", value=seen.tolist()[:8], fix=fix)
    if len(seen) == n_columns:
        return seen.tolist(), None
    if seen.dtype.kind in "biu" and seen[0] >= 0 and seen[-1] < n_columns:
        return list(range(n_columns)), None
    problem = f"has {len(seen)} classes, {seen.tolist()[:8]}, but X has {n_columns} columns"
    fix = "say what the columns stand for with labels=[...], in column order"
    raise InputError(problem, argument="y", value=len(seen), fix=fix)


def _encoded_order(seen: NDArray[np.generic], names: Sequence[object]) -> IntArray | None:
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
