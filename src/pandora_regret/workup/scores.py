"""The scores of work-ups: what the work-up of a forecast costs under the truth, expects to cost, and wastes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.inputs import (
    FloatArray,
    Forecast,
    InputError,
    InputTypeError,
    IntArray,
    Labels,
    Table,
    read_count,
    read_forecast,
    read_probabilities,
)
from pandora_regret.inputs.tables import is_frame
from pandora_regret.kernels.reference import probabilities
from pandora_regret.priors import Prior
from pandora_regret.scores import mean_or_rows
from pandora_regret.workup.description import Workup
from pandora_regret.workup.draws import cost_draws, read_step_prior
from pandora_regret.workup.policies import Pairs, Policy

if TYPE_CHECKING:
    from pandora_regret.workup.menu import Menu

DRAWS = 128


def workup_cost(
    y_true: Labels,
    y_proba: Table,
    workup: Workup | Menu,
    *,
    prior: Prior | None = None,
    draws: int = DRAWS,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    per_instance: bool = False,
) -> float | FloatArray:
    """What the best work-up of each forecast costs under the truth: a proper score, lower is better.

    Each forecast chooses the policy that it expects to cost least; the score is what that policy costs if the
    true class is what it is, in the mean over outcomes that are left to chance.

    Parameters
    ----------
    y_true
        True classes, shape (N,): names, or column numbers. Or annotators' votes as probabilities, shape (N, K).
    y_proba
        Forecasts, shape (N, K), as in `pandora_regret`.
    workup
        A `Workup`, or a `Menu` of protocols.
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
    options = {"labels": labels, "sample_weight": sample_weight, "logits": logits, "normalise": normalise}
    rows = _read_rows(workup, prior, draws, y_true, y_proba, options)
    return mean_or_rows(rows.forecast, rows.costs(), per_instance)


def workup_regret(
    y_true: Labels,
    y_proba: Table,
    workup: Workup | Menu,
    *,
    prior: Prior | None = None,
    draws: int = DRAWS,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    per_instance: bool = False,
) -> float | FloatArray:
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
    options = {"labels": labels, "sample_weight": sample_weight, "logits": logits, "normalise": normalise}
    rows = _read_rows(workup, prior, draws, y_true, y_proba, options)
    least = rows.least()
    excess = ((block, rows.paid(p, pairs) - least[pairs.truths]) for block, p, pairs in rows)
    return mean_or_rows(rows.forecast, excess, per_instance)


def workup_entropy(
    y_proba: Table,
    workup: Workup | Menu,
    *,
    prior: Prior | None = None,
    draws: int = DRAWS,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    per_instance: bool = False,
) -> float | FloatArray:
    """What forecasts expect their own work-up to cost: `workup_cost` in the mean, if they are right.

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
    options = {"labels": labels, "sample_weight": sample_weight, "logits": logits, "normalise": normalise}
    rows = _read_rows(workup, prior, draws, None, y_proba, options)
    predicted = ((block, rows.predicted(p)) for block, p, _ in rows)
    return mean_or_rows(rows.forecast, predicted, per_instance)


class WorkupRows:
    """Forecasts that were read before, in the order of a work-up's classes, some at a time, and what they cost."""

    def __init__(
        self,
        workup: Workup | Menu,
        forecast: Forecast,
        prior: Prior | None = None,
        draws: int = DRAWS,
    ) -> None:
        self.policy, self.workup = read_policy(workup)
        self.prior = None if prior is None else read_step_prior(prior, self.workup)
        self.draws, self.forecast = read_count(draws, "draws"), forecast
        self.columns = class_columns(forecast, self.workup)
        self.policy.prepare(len(forecast))

    def __iter__(self) -> Iterator[tuple[Forecast, FloatArray, Pairs]]:
        """Rows, their probabilities, and which truths they are asked about."""
        position = np.argsort(self.columns)
        for block in self.forecast.blocks():
            yield block, self._ordered(block), Pairs.of_labels(position[block.truth])

    def costs(self) -> Iterator[tuple[Forecast, FloatArray]]:
        """Rows, and what each one's work-up costs under its truth."""
        return ((block, self.paid(p, pairs)) for block, p, pairs in self)

    def costs_for_every_truth(self) -> Iterator[tuple[Forecast, FloatArray]]:
        """Rows, and what each one's work-up costs if each class is the truth, (n, K) in the order of columns."""
        position = np.argsort(self.columns)
        for block in self.forecast.blocks():
            p = self._ordered(block)
            yield block, self.paid(p, Pairs.of_table(np.ones_like(p))).reshape(p.shape)[:, position]

    def least(self) -> FloatArray:
        """What someone who knew the truth would pay, for each class in the order of the work-up, (K,)."""
        known = np.eye(len(self.workup.classes))
        return self.paid(known, Pairs.of_table(known))

    def _ordered(self, block: Forecast) -> FloatArray:
        p, in_order = probabilities(block), (np.diff(self.columns) == 1).all()
        return np.ascontiguousarray(p if in_order else p[:, self.columns])

    def paid(self, p: FloatArray, pairs: Pairs) -> FloatArray:
        """What each row's policy costs under each of its truths, (P,)."""
        if self.prior is None:
            return self.policy.paid(p, pairs, self.workup.costs)
        if self.policy.has_closed_form:
            return self.policy.paid_on_average(p, pairs, self.prior)
        return self._average(len(p), self.prior, lambda costs: self.policy.paid(p, pairs, costs))

    def predicted(self, p: FloatArray) -> FloatArray:
        """What each row expects its policy to cost, (n,)."""
        if self.prior is None:
            return self.policy.predicted(p, self.workup.costs)
        if self.policy.has_closed_form:
            return self.policy.predicted_on_average(p, self.prior)
        return self._average(len(p), self.prior, lambda costs: self.policy.predicted(p, costs))

    def _average(self, n_rows: int, prior: Prior, cost: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """The mean over the draws that all forecasts share."""
        drawn = cost_draws(prior, self.workup, self.draws)
        self.policy.prepare(n_rows * len(drawn))
        return np.asarray(sum(cost(costs) for costs in drawn) / len(drawn))


def _read_rows(
    workup: Workup | Menu, prior: Prior | None, draws: int, y_true: Any, y_proba: Table, options: dict[str, Any]
) -> WorkupRows:
    """Forecasts, and the truth where there is one: labels, or votes."""
    described = read_policy(workup)[1]
    options["labels"] = _default_labels(y_true, y_proba, options["labels"], described)
    if y_true is None:
        return WorkupRows(workup, read_probabilities(y_proba, **options), prior, draws)
    return WorkupRows(workup, read_forecast(y_true, y_proba, **options), prior, draws)


def read_policy(workup: Any) -> tuple[Policy, Workup]:
    """The policy of a work-up or a menu, and the work-up."""
    policy = getattr(workup, "policy", None)
    if not isinstance(policy, Policy):
        raise InputTypeError(f"workup must be a Workup or a Menu, such as Workup.load(path), got {workup!r:.200}.")
    return policy, policy.workup


def class_columns(forecast: Forecast, workup: Workup) -> IntArray:
    """The column of each class of the work-up; by name where columns have names."""
    names = [str(label) for label in forecast.labels]
    if isinstance(forecast.labels, range) and len(names) == len(workup.classes):
        return np.arange(len(names))
    if sorted(names) != sorted(workup.classes):
        raise InputError(
            f"y_proba has the columns {names[:8]} but the work-up is about {list(workup.classes)[:8]}: "
            "name every class of the work-up, and no other, with labels=[...]."
        )
    return np.array([names.index(name) for name in workup.classes], dtype=np.intp)


def _default_labels(y_true: Any, y_proba: Table, labels: Any, workup: Workup) -> Any:
    """Columns without names are the work-up's classes, unless the truth is given as column numbers."""
    if labels is not None or is_frame(y_proba):
        return labels
    numbers = y_true is not None and not is_frame(y_true) and np.asarray(y_true).dtype.kind in "iuf"
    return None if numbers or np.shape(y_proba)[1:] != (len(workup.classes),) else list(workup.classes)
