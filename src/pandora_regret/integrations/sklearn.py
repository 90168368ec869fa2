"""Scorers for scikit-learn: the search cost in cross_val_score, GridSearchCV, cross_validate and learning curves.

They read `estimator.classes_`, so a fold whose training part lacks a class still scores: the class was held to
be impossible, and a search for it tests every other class first.
"""

import functools
import warnings
from collections.abc import Callable
from typing import Protocol, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pandora_regret.core.inputs import (
    ByClass,
    Fields,
    FloatArray,
    InputError,
    Table,
    check_named,
    has_names,
    quoted,
    read_alpha,
    read_labels,
)
from pandora_regret.core.priors import Prior
from pandora_regret.core.scores import expected_search_cost, pandora_regret
from pandora_regret.optional import import_optional

import_optional("sklearn", extra="zoo")

# Only scorers of scikit-learn's own base class share one predict_proba among several metrics, and are sent
# sample weights with metadata routing off; make_scorer's never see the estimator, whose classes_ are needed here.
from sklearn.metrics._scorer import _BaseScorer  # noqa: E402


class Forecaster(Protocol):
    """What is used of a fitted classifier."""

    classes_: NDArray[np.generic]

    def predict_proba(self, X: Table) -> ArrayLike:
        """Forecasts, (N, K)."""


class MethodCaller(Protocol):
    """How scikit-learn calls a classifier's method once for all scorers."""

    def __call__(self, estimator: Forecaster, name: str, X: Table, *, pos_label: object) -> ArrayLike:
        """What the method returns."""


class ForecastScorer(_BaseScorer):  # type: ignore[misc]
    """Minus a score of forecasts: higher is better."""

    def __init__(self, score: Callable[..., float | FloatArray], **options: object) -> None:
        super().__init__(score, -1, options, "predict_proba")

    def _score(
        self, method_caller: MethodCaller, estimator: Forecaster, X: Table, y_true: ArrayLike, **metadata: object
    ) -> float:
        trained_on = estimator.classes_.tolist()
        y_true = np.asarray(y_true)
        if len(trained_on) <= 2:  # of two columns scikit-learn hands on one, and 1 - p loses a small other
            table = np.asarray(estimator.predict_proba(X))
        else:
            table = np.asarray(method_caller(estimator, "predict_proba", X, pos_label=None))
        _check_all_priced(self._kwargs, trained_on + y_true.tolist())
        labels = _every_class(self._kwargs, trained_on + y_true.tolist())
        if self._kwargs["labels"] is None:
            check_named(labels, self._kwargs.get("costs"))
        position = {str(label): column for column, label in enumerate(labels)}
        if unknown := [label for label in trained_on if str(label) not in position]:
            problem = f"the estimator knows the classes {unknown[:8]}, which are not among labels {labels[:8]}"
            raise InputError(problem, argument="labels", value=unknown, place="")
        forecasts = np.zeros((len(table), len(labels)), dtype=table.dtype)
        forecasts[:, [position[str(label)] for label in trained_on]] = table
        return -float(self._score_func(y_true, forecasts, **self._kwargs | {"labels": labels} | metadata))


Maker = TypeVar("Maker", bound=Callable[..., ForecastScorer])


def makes_scorers(make: Maker) -> Maker:
    """A function that makes scorers and, where it is itself what ``scoring=`` got, scores as the one it makes.

    It then says what to write. An error would not be heard: scikit-learn would make a score of NaN of it.
    """

    @functools.wraps(make)
    def make_or_score(*arguments: object, **options: object) -> object:
        is_called_as_scorer = len(arguments) > 0 and hasattr(arguments[0], "fit")
        if not is_called_as_scorer:
            return make(*arguments, **options)
        name = make.__name__
        message = f"{name} makes scorers: pass scoring={name}(), with what you choose in the brackets."
        warnings.warn(message, stacklevel=2)
        scorer = make()
        return scorer(*arguments, **options)

    return cast(Maker, make_or_score)


@makes_scorers
def pandora_regret_scorer(*, alpha: float = 1.0, labels: ArrayLike | None = None) -> ForecastScorer:
    """A scorer of minus Pandora's Regret.

    Parameters
    ----------
    alpha
        As in `pandora_regret`.
    labels
        Every class there is. Unless given: those the estimator knows and those of the rows it is scored on. Say
        them where rare classes may be missing from both, since the score is a mean over the other classes.

    Returns
    -------
    ForecastScorer
        For ``scoring=``; the larger, the better.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = load_iris(return_X_y=True)
    >>> model, scorer = LogisticRegression(max_iter=1000), pandora_regret_scorer(alpha=0.5)
    >>> cross_val_score(model, X, y, scoring=scorer).round(2)
    array([-0.02, -0.01, -0.03, -0.02, -0.01])
    """
    return ForecastScorer(pandora_regret, alpha=read_alpha(alpha), labels=labels)


@makes_scorers
def search_cost_scorer(
    *, prior: Prior | None = None, costs: ByClass | None = None, labels: ArrayLike | None = None
) -> ForecastScorer:
    """A scorer of minus the expected search cost, in the costs' unit.

    A class that the estimator has not been trained on has probability zero in its forecasts.

    Parameters
    ----------
    prior, costs
        As in `expected_search_cost`. Costs named by class are matched by name, and say which classes there are.
    labels
        Every class there is, in the order of costs without names. Unless given: the names of the costs, else those
        the estimator knows and those of the rows it is scored on, sorted.

    Returns
    -------
    ForecastScorer
        For ``scoring=``; the larger, the better.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> scorer = search_cost_scorer(costs={0: 100.0, 1: 200.0, 2: 400.0})
    >>> cross_val_score(GaussianNB(), X, y, scoring=scorer).round()
    array([-250., -240., -258., -245., -234.])
    """
    return ForecastScorer(expected_search_cost, prior=prior, costs=costs, labels=labels)


neg_pandora_regret_scorer = pandora_regret_scorer()
"""Minus Pandora's Regret, for `scoring=`."""


def _check_all_priced(options: Fields, seen: list[object]) -> None:
    """An error where prices have names and a class has none; scikit-learn warns of it, or raises it."""
    costs = options.get("costs")
    if not has_names(costs):
        return
    classes = seen if options["labels"] is None else [*read_labels(options["labels"]), *seen]
    priced = {str(name) for name, _ in costs.items()}
    missing = [label for label in dict.fromkeys(classes) if str(label) not in priced]
    if missing:
        fix = "every class that is forecast or occurs needs one"
        raise InputError(f"has no price for {quoted(missing)}", argument="costs", value=missing, fix=fix)


def _every_class(options: Fields, seen: list[object]) -> list[object]:
    """Every class there is, as far as anybody says; else those that were seen."""
    if options["labels"] is not None:
        return list(read_labels(options["labels"]))
    costs = options.get("costs")
    if has_names(costs):
        return list(costs.keys())
    prior = options.get("prior")
    if isinstance(prior, Prior) and prior.labels is not None:
        return list(prior.labels)
    distinct = cast("set[str]", set(seen))  # or numbers; those of one kind can be sorted
    return [*sorted(distinct)]
