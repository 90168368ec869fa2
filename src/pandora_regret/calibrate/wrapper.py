"""Any classifier, calibrated by cross-validation for the search that its forecasts will order."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import PredefinedSplit, check_cv
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.metadata_routing import _RoutingNotSupportedMixin
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, check_is_fitted, column_or_1d, has_fit_parameter

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
        if frozen:
            self.estimator_, seen, forecasts = (
                self.estimator,
                np.arange(len(y)),
                self._forecasts(self.estimator, X),
            )
        else:
            seen, forecasts = self._out_of_fold(X, y, fit_params, groups)
            self.estimator_ = clone(self.estimator).fit(X, y, **fit_params)
        method = read_choice(self.method, "method", METHODS)
        objective = read_objective(self.objective, method)
        about: dict[str, Any] = {"labels": self.classes_, "logits": not hasattr(self.estimator_, "predict_proba")}
        if method == "temperature":
            about |= {"objective": objective, "prior": self.prior, "costs": self.costs}
        of_seen = None if weights is None else weights[seen]
        self.calibrator_ = SCALINGS[method](**about).fit(forecasts, np.asarray(y)[seen], of_seen)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Recalibrated forecasts, (N, K)."""
        check_is_fitted(self)
        return np.asarray(self.calibrator_.predict_proba(self._forecasts(self.estimator_, X)))

    @property
    def n_features_in_(self) -> int:
        """What the classifier says."""
        check_is_fitted(self)
        return int(self.estimator_.n_features_in_)

    def _out_of_fold(self, X: Any, y: Any, fit_params: dict[str, Any], groups: Any) -> tuple[Any, FloatArray]:
        """The rows that some fold tests, and forecasts of them by models that were fitted without."""
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
        parts = Parallel(n_jobs=self.n_jobs)(
            delayed(self._one_fold)(clone(self.estimator), X, y, train, np.arange(len(y))[test], fit_params)
            for train, test in cv.split(X, y, groups)
        )
        tests, forecasts = zip(*parts, strict=True)
        return np.concatenate(tests), np.concatenate(forecasts)

    def _one_fold(self, model: Any, X: Any, y: Any, train: Any, test: Any, fit_params: Any) -> tuple[Any, Any]:
        """Not by `cross_val_predict`, which numbers labels, and refuses decisions where a fold lacks a class."""
        params = _check_method_params(X, params=fit_params, indices=train)
        model.fit(_safe_indexing(X, train), _safe_indexing(y, train), **params)
        return test, self._forecasts(model, _safe_indexing(X, test))

    def _forecasts(self, model: Any, X: Any) -> FloatArray:
        """Probabilities or logits, one column for every class; one that the model does not know is impossible."""
        if hasattr(model, "predict_proba"):
            table, impossible = np.asarray(model.predict_proba(X)), 0.0
        else:
            table, impossible = np.asarray(model.decision_function(X)), -np.inf
            table = np.stack([np.zeros_like(table), table], axis=1) if table.ndim == 1 else table
        if table.shape[1] != len(model.classes_):
            problem = f"decision_function has {table.shape[1]} columns for {len(model.classes_)} classes"
            fix = "one per class is needed; set decision_function_shape='ovr' if it has that parameter"
            raise InputError(f"the classifier's {problem}", fix=fix)
        every = np.full((len(table), len(self.classes_)), impossible)
        every[:, [self.classes_.tolist().index(name) for name in np.asarray(model.classes_).tolist()]] = table
        return every

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags
