"""The scores of work-ups: what the work-up of a forecast costs under the truth, expects to cost, and wastes."""

from __future__ import annotations

from typing import Any, Literal, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.core.inputs import (
    FloatArray,
    Forecast,
    InputError,
    InputTypeError,
    IntArray,
    Labels,
    Table,
    is_frame,
    quoted,
    read_count,
    read_forecast,
    read_probabilities,
)
from pandora_regret.core.kernels.engine import Rows
from pandora_regret.core.kernels.reference import probabilities
from pandora_regret.core.priors import Prior
from pandora_regret.core.priors.names import read_prior
from pandora_regret.core.priors.shared_draws import shared_draws
from pandora_regret.core.scores import Score, ScoreOptions, mean_or_rows
from pandora_regret.workup.description import Workup
from pandora_regret.workup.policies import HierarchySearch, exact_policy

DRAWS = 128


@overload
def workup_cost(
    y_true: Labels,
    y_proba: Table,
    workup: Workup,
    *,
    prior: Prior | None = ...,
    draws: int = ...,
    per_instance: Literal[False] = ...,
    **options: Unpack[ScoreOptions],
) -> float: ...
@overload
def workup_cost(
    y_true: Labels,
    y_proba: Table,
    workup: Workup,
    *,
    prior: Prior | None = ...,
    draws: int = ...,
    per_instance: Literal[True],
    **options: Unpack[ScoreOptions],
) -> FloatArray: ...
@overload
def workup_cost(
    y_true: Labels,
    y_proba: Table,
    workup: Workup,
    *,
    prior: Prior | None = ...,
    draws: int = ...,
    per_instance: bool,
    **options: Unpack[ScoreOptions],
) -> Score: ...
def workup_cost(
    y_true: Labels,
    y_proba: Table,
    workup: Workup,
    *,
    prior: Prior | None = None,
    draws: int = DRAWS,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    per_instance: bool = False,
) -> Score:
    """What the best work-up of each forecast costs under the truth: a proper score, lower is better.

    Each forecast chooses the policy that it expects to cost least; the score is what that policy costs if the
    true class is what it is, averaged over outcomes that are left to chance.

    Parameters
    ----------
    y_true
        True classes, shape (N,): names, or column numbers. Or annotators' votes as probabilities, shape (N, K).
    y_proba
        Forecasts, shape (N, K), as in `pandora_regret`.
    workup
        What can be done, and what it costs.
    prior
        How far costs vary around those of the work-up, which are then means: the score is the average over cost
        vectors. In closed form for searches and hierarchies, else over shared quasi-random draws.
    draws
        How many cost vectors to average over where there is no closed form.
    labels, sample_weight, logits, normalise, per_instance
        As in `pandora_regret`.

    Returns
    -------
    float or array
        In the work-up's unit: the weighted mean, or one cost per instance, shape (N,), if `per_instance`.

    See Also
    --------
    plan_workup : The best next step for one case.
    expected_search_cost : Where each test tells about one class.

    Examples
    --------
    >>> visit_and_biopsy = Workup(
    ...     ["melanoma", "nevus", "keratosis"],
    ...     {"visit": {"cost": 75, "tells_apart": ["nevus"]},
    ...      "biopsy": {"cost": 300, "requires": "visit", "tells_apart": ["melanoma", "keratosis"]}},
    ... )
    >>> workup_cost(["nevus", "melanoma"], [[0.2, 0.7, 0.1]] * 2, visit_and_biopsy, per_instance=True)
    array([ 75., 375.])
    """
    rows = _read_rows(y_true, y_proba, workup, prior, draws, labels, sample_weight, logits, normalise)
    return mean_or_rows(rows.forecast, rows.costs(), per_instance)


@overload
def workup_regret(
    y_true: Labels,
    y_proba: Table,
    workup: Workup,
    *,
    prior: Prior | None = ...,
    draws: int = ...,
    per_instance: Literal[False] = ...,
    **options: Unpack[ScoreOptions],
) -> float: ...
@overload
def workup_regret(
    y_true: Labels,
    y_proba: Table,
    workup: Workup,
    *,
    prior: Prior | None = ...,
    draws: int = ...,
    per_instance: Literal[True],
    **options: Unpack[ScoreOptions],
) -> FloatArray: ...
@overload
def workup_regret(
    y_true: Labels,
    y_proba: Table,
    workup: Workup,
    *,
    prior: Prior | None = ...,
    draws: int = ...,
    per_instance: bool,
    **options: Unpack[ScoreOptions],
) -> Score: ...
def workup_regret(
    y_true: Labels,
    y_proba: Table,
    workup: Workup,
    *,
    prior: Prior | None = None,
    draws: int = DRAWS,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    per_instance: bool = False,
) -> Score:
    """What the work-up costs beyond what someone who knew the truth would pay: never negative.

    Parameters
    ----------
    y_true, y_proba, workup, prior, draws, labels, sample_weight, logits, normalise, per_instance
        As in `workup_cost`.

    Returns
    -------
    float or array
        As for `workup_cost`, less what knowing the truth would cost.

    Examples
    --------
    >>> tests = Workup(["a", "b"], {"look": {"cost": 3, "confirms": "a"}, "probe": {"cost": 5, "confirms": "b"}})
    >>> workup_regret(["a", "b"], [[0.9, 0.1], [0.9, 0.1]], tests, per_instance=True)
    array([0., 3.])
    """
    rows = _read_rows(y_true, y_proba, workup, prior, draws, labels, sample_weight, logits, normalise)
    least = rows.least()
    excess = ((block, costs - least[block.truth]) for block, costs in rows.costs())
    return mean_or_rows(rows.forecast, excess, per_instance)


@overload
def workup_entropy(
    y_proba: Table,
    workup: Workup,
    *,
    prior: Prior | None = ...,
    draws: int = ...,
    per_instance: Literal[False] = ...,
    **options: Unpack[ScoreOptions],
) -> float: ...
@overload
def workup_entropy(
    y_proba: Table,
    workup: Workup,
    *,
    prior: Prior | None = ...,
    draws: int = ...,
    per_instance: Literal[True],
    **options: Unpack[ScoreOptions],
) -> FloatArray: ...
@overload
def workup_entropy(
    y_proba: Table,
    workup: Workup,
    *,
    prior: Prior | None = ...,
    draws: int = ...,
    per_instance: bool,
    **options: Unpack[ScoreOptions],
) -> Score: ...
def workup_entropy(
    y_proba: Table,
    workup: Workup,
    *,
    prior: Prior | None = None,
    draws: int = DRAWS,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    per_instance: bool = False,
) -> Score:
    """What forecasts expect their own work-up to cost: `workup_cost` on average, if they are right.

    Parameters
    ----------
    y_proba, workup, prior, draws, labels, sample_weight, logits, normalise, per_instance
        As in `workup_cost`.

    Returns
    -------
    float or array
        As for `workup_cost`.

    Examples
    --------
    >>> tests = Workup(["a", "b"], {"look": {"cost": 3, "confirms": "a"}, "probe": {"cost": 5, "confirms": "b"}})
    >>> workup_entropy([[0.5, 0.5]], tests)
    5.5
    """
    rows = _read_rows(None, y_proba, workup, prior, draws, labels, sample_weight, logits, normalise)
    return mean_or_rows(rows.forecast, rows.predicted(), per_instance)


class WorkupRows:
    """Forecasts that were read before, some at a time, and what their work-up costs."""

    def __init__(self, workup: Workup, forecast: Forecast, prior: Prior | None = None, draws: int = DRAWS) -> None:
        self.workup = check_workup(workup)
        self.policy = exact_policy(workup)
        self.forecast = forecast
        self.draws = read_count(draws, "draws")
        steps = list(workup.step_index)
        self.prior = None if prior is None else read_prior(prior, steps, "the work-up's steps")
        self.columns = class_columns(forecast, workup)  # of each class
        self.classes = np.argsort(self.columns)  # of each column
        self.policy.worth_loops(len(forecast))

    def costs(self) -> Rows:
        """Rows, and what each one's work-up costs under its truth."""
        for block, p in self._blocks():
            yield block, self._paid(p, self.classes[block.truth][:, None])[:, 0]

    def costs_for_every_truth(self) -> Rows:
        """Rows, and what each one's work-up costs if each class is the truth, (n, K) in the order of columns."""
        for block, p in self._blocks():
            yield block, self._paid(p, np.broadcast_to(self.classes, p.shape))

    def predicted(self) -> Rows:
        """Rows, and what each one expects its work-up to cost."""
        for block, costs in self.costs_for_every_truth():
            yield block, (probabilities(block) * costs).sum(axis=1)

    def least(self) -> FloatArray:
        """What someone who knew the truth would pay, for each class in the order of columns, (K,)."""
        certain = np.eye(len(self.classes))[self.classes]
        return self._paid(certain, self.classes[:, None])[:, 0]

    def _blocks(self) -> Rows:
        """Rows, and their probabilities in the order of the work-up's classes."""
        for block in self.forecast.blocks():
            yield block, np.take(probabilities(block), self.columns, axis=1)

    def _paid(self, p: FloatArray, truths: IntArray) -> FloatArray:
        """What each row's policy costs under each of its truths, (n, T): at the work-up's costs, or on average.

        There is a closed form, or the mean is over draws that all forecasts share.
        """
        costs = self.workup.costs
        if self.prior is None:
            return self.policy.paid(p, truths, costs)
        if isinstance(self.policy, HierarchySearch):
            return self.policy.paid(p, truths, costs / self.prior.mean, self.prior)
        drawn = shared_draws(self.prior, self.draws, len(costs)) / self.prior.mean
        self.policy.worth_loops(len(p) * len(drawn))
        total = np.zeros(truths.shape)
        for units in drawn:
            total += self.policy.paid(p, truths, costs * units)
        return total / len(drawn)


def _read_rows(
    y_true: Labels | None,
    y_proba: Table,
    workup: Workup,
    prior: Prior | None,
    draws: int,
    labels: ArrayLike | None,
    *options: Any,
) -> WorkupRows:
    """Forecasts, and the truth where there is one; columns without names are the work-up's classes."""
    check_workup(workup)
    if y_true is None:
        return WorkupRows(workup, read_probabilities(y_proba, labels, *options), prior, draws)
    if labels is None and not is_frame(y_proba):
        are_names = is_frame(y_true) or np.asarray(y_true).dtype.kind not in "iuf"
        if are_names:
            labels = list(workup.classes)
    return WorkupRows(workup, read_forecast(y_true, y_proba, labels, *options), prior, draws)


def check_workup(workup: Any) -> Workup:
    """A work-up, or an error that says what was given instead."""
    if not isinstance(workup, Workup):
        problem = f"must be a Workup, such as Workup.load(path), got {workup!r:.200}"
        raise InputTypeError(problem, argument="workup", value=workup)
    return workup


def class_columns(forecast: Forecast, workup: Workup) -> IntArray:
    """The column of each class of the work-up; by name where columns have names."""
    names = [str(label) for label in forecast.labels]
    if isinstance(forecast.labels, range) and len(names) == len(workup.classes):
        return np.arange(len(names))
    if sorted(names) != sorted(workup.classes):
        problem = f"has the classes {quoted(names)} but the work-up is about {quoted(workup.classes)}"
        fix = "name every class of the work-up, and no other"
        raise InputError(problem, argument="y_proba", fix=f"{fix}, with labels=[...]", command_fix=fix)
    return np.array([names.index(name) for name in workup.classes])
