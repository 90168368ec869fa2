"""Any classifier, calibrated by cross-validation for the search that its forecasts will order."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import PredefinedSplit, check_cv, cross_val_predict
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import _RoutingNotSupportedMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, has_fit_parameter

from pandora_regret.calibrate.estimators import (
    MatrixScaling,
    NamesLikeliest,
    TemperatureScaling,
    VectorScaling,
    check_labels,
)
from pandora_regret.calibrate.maps import METHODS, read_objective
from pandora_regret.calibrate.rows import deal, read_groups
from pandora_regret.inputs import FloatArray, InputError, read_choice
from pandora_regret.inputs.costs import check_named
from pandora_regret.inputs.errors import renamed
from pandora_regret.priors import Prior

SCALINGS: dict[str, Any] = {"temperature": TemperatureScaling, "vector": VectorScaling, "matrix": MatrixScaling}


@renamed("typical_costs", "costs")
@dataclass(eq=False, repr=False)
class CalibratedSearch(NamesLikeliest, _RoutingNotSupportedMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
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
        is fine), whole groups at a time if `fit` is told of groups; or what scikit-learn's `cross_val_predict`
        takes: a splitter, or pairs of train and test rows, which test every row once.
    n_jobs
        How many folds to fit at once.

    Attributes
    ----------
    estimator_, calibrator_
        The fitted classifier and its calibrator.
    classes_
        The classes, in column order.

    Sample weights go to the calibrator, and to the classifier if its `fit` takes them.

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

    estimator: Any
    _: KW_ONLY
    method: str = "vector"
    objective: str = "log_loss"
    prior: Prior | None = None
    costs: Any = None
    cv: Any = 5
    n_jobs: int | None = None

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, **fit_params: Any
    ) -> CalibratedSearch:
        """Fit the classifier and its calibrator.

        Groups, (N,), say which rows belong together, as a patient's images do: no row is forecast by a model that
        saw another of its group. A splitter gets them too. `fit_params` go to the classifier.
        """
        X, y = indexable(X, column_or_1d(y, warn=True))
        check_labels(y)
        frozen = isinstance(self.estimator, FrozenEstimator)
        self.classes_ = np.asarray(self.estimator.classes_) if frozen else np.unique(y)
        check_named(self.classes_.tolist(), self.costs)
        weights = None if sample_weight is None else np.asarray(sample_weight)
        if weights is not None and has_fit_parameter(self.estimator, "sample_weight"):
            fit_params["sample_weight"] = weights
        forecasts = None if frozen else self._out_of_fold(X, y, fit_params, groups)
        self.estimator_ = self.estimator if frozen else clone(self.estimator).fit(X, y, **fit_params)
        method = read_choice(self.method, "method", METHODS)
        objective = read_objective(self.objective, method)
        about: dict[str, Any] = {"labels": self.classes_, "logits": not hasattr(self.estimator_, "predict_proba")}
        if method == "temperature":
            about |= {"objective": objective, "prior": self.prior, "costs": self.costs}
        forecasts = self._forecasts(X) if forecasts is None else forecasts
        self.calibrator_ = SCALINGS[method](**about).fit(forecasts, y, weights)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Recalibrated forecasts, (N, K)."""
        check_is_fitted(self)
        return np.asarray(self.calibrator_.predict_proba(self._forecasts(X)))

    @property
    def n_features_in_(self) -> int:
        """What the classifier says."""
        check_is_fitted(self)
        return int(self.estimator_.n_features_in_)

    def _out_of_fold(self, X: Any, y: Any, fit_params: dict[str, Any], groups: Any) -> FloatArray:
        """Forecasts of all rows by models that were fitted without them."""
        if isinstance(self.cv, (int, np.integer)):
            numbered = read_groups(groups, len(y))
            most = len(y) if numbered is None else int(numbered.max()) + 1
            if min(self.cv, most) < 2:
                unit = "n_samples" if numbered is None else "n_groups"
                problem = f"cv is {self.cv} and {unit} = {most}: cross-validation needs at least 2 of both"
                raise InputError(problem, fix="pass more, or FrozenEstimator(estimator) if it is fitted already")
            truth = np.unique(y, return_inverse=True)[1]
            cv, groups = PredefinedSplit(deal(truth, min(int(self.cv), most), groups=numbered)), None
        else:
            cv = check_cv(self.cv, y, classifier=True)
        method = "predict_proba" if hasattr(self.estimator, "predict_proba") else "decision_function"
        options: dict[str, Any] = {"groups": groups, "cv": cv, "n_jobs": self.n_jobs, "params": fit_params}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Number of classes in fold", RuntimeWarning)
            table = cross_val_predict(self.estimator, X, y, method=method, **options)
        table[table == np.finfo(table.dtype).min] = -np.inf  # of a class that a fold lacks
        return self._per_class(table)

    def _forecasts(self, X: Any) -> FloatArray:
        """The classifier's probabilities, or logits."""
        if hasattr(self.estimator_, "predict_proba"):
            return np.asarray(self.estimator_.predict_proba(X))
        return self._per_class(np.asarray(self.estimator_.decision_function(X)))

    def _per_class(self, table: FloatArray) -> FloatArray:
        """One column for every class: of two, the second is the decision function."""
        if table.ndim == 1:
            return np.stack([np.zeros_like(table), table], axis=1)
        if table.shape[1] != len(self.classes_):
            problem = f"decision_function has {table.shape[1]} columns for {len(self.classes_)} classes"
            fix = "one per class is needed; set decision_function_shape='ovr' if it has that parameter"
            raise InputError(f"the classifier's {problem}", fix=fix)
        return table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags
