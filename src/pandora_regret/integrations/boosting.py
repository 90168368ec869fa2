"""Gradient boosting for search: an objective and metrics for XGBoost and LightGBM.

Neither library is imported here: they call these objects, with arrays. The same objective serves both, in their
own training functions and in their scikit-learn classifiers.

CatBoost is left out. It asks a custom multiclass objective for one row at a time, twice per round, in Python: that
was several times slower than its own loss on 1,800 rows already. Train it on log loss and recalibrate, with
`pandora_regret.calibrate.CalibratedSearch`.
"""

from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from pandora_regret.core.inputs import (
    ByClass,
    FloatArray,
    Forecast,
    InputError,
    Table,
    read_alpha,
    read_probabilities,
    read_truth,
)
from pandora_regret.core.kernels.engine import search_costs
from pandora_regret.core.kernels.reference import costs_of, log_odds
from pandora_regret.core.priors import Prior
from pandora_regret.core.priors.beta import beta_loss_slope
from pandora_regret.core.priors.names import read_prices
from pandora_regret.core.scores import mean_or_rows, priced
from pandora_regret.optional import import_optional

# Both libraries divide by curvatures in float32. XGBoost floors its own softmax at the same number.
LEAST_CURVATURE = 1e-16


class TrainingData(Protocol):
    """A `DMatrix` of XGBoost or a `Dataset` of LightGBM: what is used of one."""

    def get_label(self) -> ArrayLike:
        """The true classes."""

    def get_weight(self) -> ArrayLike | None:
        """The rows' weights, if there are any."""


Scores: TypeAlias = NDArray[np.floating]  # raw scores or probabilities, (N, K); or (N,) of two classes
Weights: TypeAlias = ArrayLike | None


@dataclass(frozen=True, eq=False, kw_only=True)
class SearchObjective:
    """A multiclass objective for XGBoost and LightGBM: the weighted Beta score of the softmax of raw scores.

    The loss of a row is ``sum_j C_j L_alpha(q_i / q_j)``, costs counted in their mean, times the row's weight.
    Pass it as ``xgboost.train(params, data, obj=...)``, ``lightgbm.train({"objective": ...}, data)``,
    ``XGBClassifier(objective=...)`` or ``LGBMClassifier(objective=...)``.

    Parameters
    ----------
    alpha
        From 0, where the objective is convex, to any finite number; 1 is Pandora's Regret.
    costs
        What a test of each class costs, shape (K,) in class order, or named by class; only proportions count.
    labels
        The classes in the order of their numbers, where costs are named; 0 to K - 1 unless given.

    Notes
    -----
    With ``g`` the gradient in the raw scores, the curvature is taken as ``h = 2 (1 + alpha) |g|``. Each pair of
    truth and rival bends by at most ``1 + alpha`` times its slope, and the 2 is there because both scores of a
    pair move at once; where there is one score only (two classes), it is left out. A leaf therefore moves a raw
    score by at most ``learning_rate / (2 (1 + alpha))`` per round, however wrong its rows are: training is steady,
    but takes more rounds than log loss does. Give it several hundred, and stop early.

    The curvature fades as ``e^(-(1 + alpha) lead)`` while a row gets fitted, faster than that of log loss.
    XGBoost's ``min_child_weight`` of 1 then ends training too soon: set it to 0.1. LightGBM's 0.001 is fine.

    Where costs differ by a lot, most pairs are far from the tie ``p_i / C_i = p_j / C_j`` from the first round on
    and teach little. Log loss, stopped by the search cost (``logits=False`` in the metrics), is then often the
    better teacher; compare the two.

    Neither library weights the gradients of a custom objective; this one does so itself, by weights divided by
    their mean: a factor on all of them does not change how strongly the libraries regularise. Where training is
    spread over several machines, each divides by the mean of its own rows.

    The first raw scores are the same for all classes, while the libraries' own log loss starts at the classes'
    frequencies. To start there too, pass their logarithms as ``base_margin`` (XGBoost) or ``init_score``
    (LightGBM). They are no part of the model: at prediction, hand XGBoost the ``base_margin`` again, and add
    LightGBM's to its raw scores, before `probabilities`. XGBoost's ``base_score`` is the same for all classes and
    changes nothing, except in the one raw score of a classifier of two classes.

    Predictions are raw scores: see `predict_proba`.

    Examples
    --------
    >>> objective = SearchObjective(alpha=0.0)
    >>> gradient, curvature = objective(np.array([0]), np.array([[1.0, 1.0, 1.0]]))
    >>> gradient.tolist(), curvature.tolist()
    ([[-2.0, 1.0, 1.0]], [[4.0, 2.0, 2.0]])
    """

    alpha: float = 1.0
    costs: ByClass | None = None
    labels: ArrayLike | None = None

    def __post_init__(self) -> None:
        if read_alpha(self.alpha) == np.inf:
            fix = "that score has no gradient to boost along, choose a finite alpha"
            raise InputError(argument="alpha", value=self.alpha, fix=fix)

    def __call__(
        self, first: ArrayLike, second: ArrayLike | TrainingData, sample_weight: Weights = None
    ) -> tuple[FloatArray, FloatArray]:
        """Gradient and curvature at ``(raw, data)``, as `train` calls it, or at ``(y, raw, weight)``; (N, K) each.

        In the raw score of a rival j, the loss of a row of class i has the slope ``-C_j L_alpha'(ln q_i / q_j)``;
        in that of i, minus the sum of these. Costs are counted in their mean.
        """
        alpha = read_alpha(self.alpha)
        batch = _read_library_batch(first, second, sample_weight)
        forecast = batch.forecast(self.labels)
        _, costs = read_prices(None, self.costs, forecast.labels, len(forecast))
        parts = []
        for block in forecast.with_costs(costs).blocks():
            base = costs_of(block)
            at_truth = (np.arange(len(block)), block.truth)
            gradient = base * beta_loss_slope(log_odds(block), alpha) / -base.mean()
            gradient[at_truth] = 0.0
            gradient[at_truth] = -gradient.sum(axis=1)
            if block.weights is not None:
                gradient = gradient * block.weights[:, None]
            parts.append(gradient)
        slopes = np.concatenate(parts)
        bends = (1 + alpha) * np.abs(slopes)
        if batch.is_single:
            return slopes[:, 1], np.maximum(bends[:, 1], LEAST_CURVATURE)
        return slopes, np.maximum(2 * bends, LEAST_CURVATURE)


@dataclass(frozen=True, eq=False, kw_only=True)
class SearchMetric:
    """The expected search cost of raw scores, or of probabilities."""

    prior: Prior | None = None
    costs: ByClass | None = None
    labels: ArrayLike | None = None
    logits: bool = True

    __name__ = "search_cost"  # what XGBoost's classifiers call it

    def cost(self, first: ArrayLike, second: ArrayLike | TrainingData, sample_weight: Weights) -> float:
        """The weighted mean over rows."""
        forecast = _read_library_batch(first, second, sample_weight).forecast(self.labels, self.logits)
        prior, forecast = priced(forecast, self.prior, self.costs)
        return mean_or_rows(forecast, search_costs(forecast, prior), per_instance=False)


class XGBoostMetric(SearchMetric):
    """The expected search cost, for ``xgboost.train(custom_metric=...)`` or ``XGBClassifier(eval_metric=...)``.

    `XGBClassifier` computes log loss besides, unless it is told ``disable_default_eval_metric=1``; early stopping
    goes by this metric either way, as it comes last.

    Parameters
    ----------
    prior, costs
        As in `expected_search_cost`, with one cost per class.
    labels
        As in `SearchObjective`.
    logits
        True where the objective is a custom one, whose predictions are raw scores. Pass False with the objectives
        "multi:softprob" and "binary:logistic", to stop log-loss training by what a search costs.

    Examples
    --------
    >>> metric = XGBoostMetric(costs=[100, 200])
    >>> round(metric(np.array([0, 1]), np.array([[3.0, 0.0], [0.0, 3.0]])), 2)
    150.19
    """

    def __call__(
        self, first: ArrayLike, second: ArrayLike | TrainingData, sample_weight: Weights = None
    ) -> float | tuple[str, float]:
        """A name and a value for `train`, the value alone for classifiers."""
        value = self.cost(first, second, sample_weight)
        return (self.__name__, value) if _is_training_data(second) else value


class LightGBMMetric(SearchMetric):
    """The expected search cost, for ``lightgbm.train(feval=...)`` or ``LGBMClassifier().fit(eval_metric=...)``.

    Set ``metric="None"`` to have no other. Parameters as in `XGBoostMetric`; ``logits=False`` belongs to
    LightGBM's own objectives, "multiclass" and "binary".

    Examples
    --------
    >>> LightGBMMetric()(np.array([0, 1]), np.array([[0.0, 0.0], [0.0, 0.0]]))
    ('search_cost', 0.6666666666666666, False)
    """

    def __call__(
        self, first: ArrayLike, second: ArrayLike | TrainingData, sample_weight: Weights = None
    ) -> tuple[str, float, bool]:
        """A name, a value, and that higher is not better."""
        return self.__name__, self.cost(first, second, sample_weight), False


class BoostedModel(Protocol):
    """A booster or a classifier of XGBoost or LightGBM: what both have."""

    def predict(self, X: object, **options: object) -> ArrayLike:
        """Raw scores, if the options say so."""


def predict_proba(model: BoostedModel, X: Table) -> FloatArray:
    """The forecasts of a boosted model, (N, K), whichever objective it was trained with.

    A model does not know that its custom objective meant logits: an XGBoost or a LightGBM booster, and an
    `LGBMClassifier`, predict raw scores. (An `XGBClassifier` does apply the softmax itself, and needs no help.)
    After early stopping, the best round counts, also for XGBoost's booster, which by itself would use all.

    Parameters
    ----------
    model
        A booster or a fitted classifier of XGBoost or LightGBM. Columns are in the order of a classifier's
        ``classes_``: the most likely are ``model.classes_[predict_proba(model, X).argmax(axis=1)]``.
    X
        What its `predict` takes; for XGBoost's booster also an array or a frame.

    Returns
    -------
    array
        Probabilities, shape (N, K).
    """
    if hasattr(model, "get_booster"):
        return probabilities(model.predict(X, output_margin=True))
    if not type(model).__module__.startswith("xgboost"):
        return probabilities(model.predict(X, raw_score=True))
    xgboost = import_optional("xgboost", extra="boosting")
    assert isinstance(model, xgboost.Booster)
    data = X if isinstance(X, xgboost.DMatrix) else xgboost.DMatrix(X)
    rounds = int(model.attr("best_iteration") or -1) + 1  # (0, 0) stands for all
    return probabilities(model.predict(data, output_margin=True, iteration_range=(0, rounds)))


def probabilities(raw: ArrayLike) -> FloatArray:
    """The softmax of raw scores (N, K); of two classes (N,) is enough, the score of the second over the first.

    Parameters
    ----------
    raw
        Scores, shape (N, K) or (N,).

    Returns
    -------
    array
        Probabilities, shape (N, K).

    Examples
    --------
    >>> probabilities([0.0, np.log(3)])
    array([[0.5 , 0.5 ],
           [0.25, 0.75]])
    """
    table = _table(np.asarray(raw, dtype=np.float64), logits=True)
    return np.asarray(softmax(table, axis=1), dtype=np.float64)


@dataclass(frozen=True)
class LibraryBatch:
    """What a library hands over: true classes, which it keeps as floats, scores, and weights."""

    truth: NDArray[np.generic]  # (N,)
    scores: Scores
    weights: Weights

    @property
    def is_single(self) -> bool:
        """Whether two classes have one score."""
        return self.scores.ndim == 1

    def forecast(self, labels: ArrayLike | None, logits: bool = True) -> Forecast:
        """The rows past the door; the classes may have names, by which costs are given."""
        forecast = read_probabilities(_table(self.scores, logits), labels, self.weights, logits)
        numbers = self.truth.astype(np.intp)
        truth = numbers if np.array_equal(self.truth, numbers) else self.truth
        return replace(forecast, truth=read_truth(truth, range(forecast.n_classes), len(forecast)))


def _read_library_batch(
    first: ArrayLike, second: ArrayLike | TrainingData, sample_weight: Weights
) -> LibraryBatch:
    """A batch from ``(raw, data)``, as `train` passes it, or from ``(y, raw, weight)``, as classifiers do."""
    if _is_training_data(second):
        truth = np.asarray(second.get_label())
        scores = np.asarray(first)
        sample_weight = second.get_weight()
    else:
        truth = np.asarray(first)
        scores = np.asarray(second)
    weights = None if sample_weight is None or np.size(sample_weight) == 0 else sample_weight
    return LibraryBatch(truth, scores, weights)


def _is_training_data(value: object) -> TypeGuard[TrainingData]:
    """Whether a value is what `train` hands over beside raw scores."""
    return hasattr(value, "get_label")


def _table(scores: Scores, logits: bool) -> Scores:
    """Scores of every class, (N, K), where of two classes the library may say what it has of the second alone."""
    if scores.ndim == 2:
        return scores
    first = np.zeros_like(scores) if logits else 1 - scores
    return np.stack([first, scores], axis=1)
