"""What every calibrator has in common: tables of forecasts instead of features, one column per class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from pandora_regret.inputs import FloatArray, Forecast, InputError, IntArray, read_probabilities
from pandora_regret.inputs.index import check_row_order
from pandora_regret.inputs.labels import read_labels, read_truth
from pandora_regret.inputs.tables import is_frame, read_columns
from pandora_regret.inputs.votes import are_votes, read_votes

FLOATS = (np.float64, np.float32, np.float16)


class ReadsForecasts(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose features are another one's forecasts."""

    logits: bool
    normalise: bool
    labels: Any
    classes_: NDArray[Any]
    _columns: Sequence[Any]  # what the columns of X stand for
    _order: IntArray | None  # the columns in the order of `classes_`, where that is another

    def predict_proba(self, X: Any) -> Any:
        """The recalibrated forecasts, (N, K)."""
        raise NotImplementedError

    def predict(self, X: Any) -> Any:
        """The most likely class of each row, after recalibration."""
        proba = self.predict_proba(X)
        return self.classes_[np.argmax(proba, axis=1)]

    def _labelled(self, X: Any, y: Any, sample_weight: Any) -> Forecast:
        """Forecasts and labels, or votes, to fit on; says what the columns stand for."""
        check_row_order(X=X, y=y, sample_weight=sample_weight)
        labels = self.labels
        if is_frame(X):
            listed, labels = read_columns(X, None if labels is None else read_labels(labels), "X")
            X = np.stack(listed, axis=1)
        if are_votes(y):
            return self._voted(X, y, sample_weight, labels)
        X, y = validate_data(self, X, y, dtype=FLOATS, ensure_all_finite=False, ensure_min_features=2)
        check_labels(y)
        self._columns, self._order, self.classes_ = columns(y, X.shape[1], labels)
        forecast = self._read(X, sample_weight)
        names = self._columns if self._order is None else np.argsort(self._order)
        return replace(forecast, truth=read_truth(y, _positions(np.asarray(names)), len(forecast)))

    def _voted(self, X: Any, y: Any, sample_weight: Any, labels: Any) -> Forecast:
        X = validate_data(self, X, dtype=FLOATS, ensure_all_finite=False, ensure_min_features=2)
        names = read_columns(y, None, "y")[1] if labels is None and is_frame(y) else labels
        self._columns = list(range(X.shape[1]) if names is None else read_labels(list(names)))
        self._order, self.classes_ = None, np.asarray(self._columns)
        forecast = self._read(X, sample_weight)
        return forecast.with_votes(read_votes(y, self._columns, len(forecast)))

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
        if _are_codes(seen, names):
            return names, _encoded_order(seen, names), np.arange(len(names))
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


def _are_codes(seen: NDArray[Any], names: Sequence[Any]) -> bool:
    """Whether y holds whole numbers where columns have names, none of which is such a number."""
    if seen.dtype.kind not in "iu" or seen[0] < 0 or seen[-1] >= len(names):
        return False
    return all(isinstance(name, str) for name in names) and set(map(str, seen.tolist())).isdisjoint(names)


def _encoded_order(seen: NDArray[Any], names: Sequence[str]) -> IntArray:
    """The column of each code: scikit-learn numbers the names that occur, sorted.

    That the last name occurs shows that all do; else there is no telling which ones were left out.
    """
    if seen[-1] < len(names) - 1:
        problem = f"holds the numbers {seen.tolist()[:8]} where X has the columns {list(names)[:8]}"
        fix = "pass names as labels; scikit-learn's numbers of names say nothing where a class is missing"
        raise InputError(problem, argument="y", value=seen.tolist()[:8], fix=fix)
    return np.argsort(np.asarray(names, dtype=object), kind="stable")


def _positions(classes: NDArray[Any]) -> Any:
    """The labels to look up; where they are the column numbers themselves there is nothing to look up."""
    numbers = range(len(classes))
    return numbers if classes.dtype.kind in "iu" and np.array_equal(classes, numbers) else list(classes)
