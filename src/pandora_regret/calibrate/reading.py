"""What every calibrator has in common: tables of forecasts instead of features, one column per class."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from pandora_regret.inputs import Forecast, InputError, read_probabilities
from pandora_regret.inputs.labels import read_labels, read_truth
from pandora_regret.inputs.tables import is_frame, read_columns

FLOATS = (np.float64, np.float32, np.float16)


class ReadsForecasts(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose features are another one's forecasts."""

    logits: bool
    normalise: bool
    labels: Any
    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> Any:
        """The recalibrated forecasts, (N, K)."""
        raise NotImplementedError

    def predict(self, X: Any) -> Any:
        """The most likely class of each row, after recalibration."""
        proba = self.predict_proba(X)
        return self.classes_[np.argmax(proba, axis=1)]

    def _labelled(self, X: Any, y: Any, sample_weight: Any) -> Forecast:
        """Forecasts and labels to fit on; says what the columns stand for."""
        labels = self.labels
        if is_frame(X):
            listed, labels = read_columns(X, None if labels is None else read_labels(labels), "X")
            X = np.stack(listed, axis=1)
        X, y = validate_data(self, X, y, dtype=FLOATS, ensure_all_finite=False, ensure_min_features=2)
        check_labels(y)
        self.classes_ = columns(y, X.shape[1], labels)
        forecast = self._read(X, sample_weight)
        return replace(forecast, truth=read_truth(y, _positions(self.classes_), len(forecast)))

    def _unlabelled(self, X: Any, sample_weight: Any = None) -> Forecast:
        """Forecasts to recalibrate."""
        check_is_fitted(self)
        if is_frame(X):
            X = np.stack(read_columns(X, list(self.classes_), "X")[0], axis=1)
        X = validate_data(self, X, dtype=FLOATS, ensure_all_finite=False, reset=False)
        return self._read(X, sample_weight)

    def _read(self, X: NDArray[Any], sample_weight: Any) -> Forecast:
        weights = None if sample_weight is None else np.asarray(sample_weight)
        labels = list(self.classes_)
        return read_probabilities(
            X, labels=labels, sample_weight=weights, logits=self.logits, normalise=self.normalise, name="X"
        )

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


def columns(y: NDArray[Any], n_columns: int, labels: Any) -> NDArray[Any]:
    """What the columns stand for: what is said, else the sorted labels, else column numbers.

    A class that never occurs in y leaves fewer labels than columns. Whole numbers are then column numbers.
    """
    seen = np.unique(y)
    if labels is not None:
        own = {str(label): label for label in seen.tolist()}  # a frame's '1' may be the label 1
        return np.asarray([own.get(str(label), label) for label in read_labels(labels)])
    if len(seen) == n_columns:
        return np.asarray(seen)
    if seen.dtype.kind in "biu" and seen[0] >= 0 and seen[-1] < n_columns:
        return np.arange(n_columns)
    problem = f"has {len(seen)} classes, {seen.tolist()[:8]}, but X has {n_columns} columns"
    fix = "say what the columns stand for with labels=[...], in column order"
    raise InputError(problem, argument="y", value=len(seen), fix=fix)


def _positions(classes: NDArray[Any]) -> Any:
    """The labels to look up; where they are the column numbers themselves there is nothing to look up."""
    numbers = range(len(classes))
    return numbers if classes.dtype.kind in "iu" and np.array_equal(classes, numbers) else list(classes)
