"""One case worked through: what to test next, what it will have cost by then, and the chance of being done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.imperfect import imperfect_order, predicted_expenditure
from pandora_regret.inputs import FloatArray, InputError, IntArray
from pandora_regret.inputs.forecast import read_probabilities
from pandora_regret.inputs.tests import SearchName, Tests, read_tests
from pandora_regret.kernels.reference import probabilities
from pandora_regret.text import Shown, Table, money

MOST_STEPS = 10  # in a notebook


@dataclass(frozen=True)
class PlanStep:
    """One test of the plan."""

    test: Any  # the class that is tested
    probability: float  # that it is the truth, given that all tests before found nothing
    cost: float  # of this test, with the work-up of the false alarms it raises
    total_cost: float  # of all tests up to here, if the search comes this far
    done: float  # the chance that the truth has been found by now


@dataclass(frozen=True, repr=False)
class Plan(Shown):
    """In which order to test, and what that is expected to cost."""

    steps: tuple[PlanStep, ...]
    expected_cost: float
    search: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    def __repr__(self) -> str:
        tests = [str(step.test) for step in self.steps]
        shown = tests if len(tests) <= MOST_STEPS else [*tests[:MOST_STEPS], "..."]
        return f"Plan({', '.join(shown)}; expected_cost={self.expected_cost:.6g})"

    def _table(self) -> Table:
        said = f"Expected cost: {money(self.expected_cost, '')}."
        rows = [
            (
                str(step.test),
                _percent(step.probability),
                money(step.cost, ""),
                money(step.total_cost, ""),
                _percent(step.done),
            )
            for step in self.steps[:MOST_STEPS]
        ]
        more = [f"and {len(self.steps) - MOST_STEPS:,} more"] if len(self.steps) > MOST_STEPS else []
        header = ["Test for", "Probability now", "Cost", "Total so far", "Done by then"]
        return Table(header, rows, [said], more)

    def _frame(self) -> list[dict[str, Any]]:
        return [asdict(step) for step in self.steps]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def plan_search(
    y_proba: Any,
    costs: Any = None,
    *,
    tests: Tests | None = None,
    search: SearchName = "single_pass",
    steps: int | None = None,
    labels: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
) -> Plan:
    """The optimal order of tests for one forecast, step by step.

    Parameters
    ----------
    y_proba
        One forecast: probabilities of K classes, or a mapping from classes to probabilities.
    costs
        What the test of each class costs, shape (K,) or named by class.
    tests
        Instead of `costs`: tests that may miss their class or raise false alarms.
    search
        What happens when no test finds the truth, as in `imperfect_order`; perfect tests need one pass.
    steps
        How many tests to list: K, one pass, unless given.
    labels, logits, normalise
        As in `pandora_regret`.

    Returns
    -------
    Plan
        The steps, and what they are expected to cost in all; `print` shows a table.

    See Also
    --------
    plan_workup : For tests that tell about several classes.
    plot_search_trace : As a picture.

    Examples
    --------
    >>> plan = plan_search({"melanoma": 0.2, "nevus": 0.8}, costs={"melanoma": 384.0, "nevus": 75.0})
    >>> [(step.test, step.total_cost, step.done) for step in plan.steps]
    [('nevus', 75.0, 0.8), ('melanoma', 459.0, 1.0)]
    >>> plan.expected_cost
    151.8
    """
    if hasattr(y_proba, "keys") and np.ndim(y_proba) < 2:  # a mapping, or a row of a pandas frame
        y_proba, labels = [chance for _, chance in y_proba.items()], list(y_proba.keys())
    if np.ndim(y_proba) != 1:
        shape, fix = np.shape(y_proba), "pass one forecast, shape (K,), such as y_proba[0]"
        raise InputError(f"has shape {shape}", argument="y_proba", value=shape, fix=fix)
    forecast = read_probabilities(
        np.asarray(y_proba)[None], labels=labels, logits=logits, normalise=normalise
    ).check()
    used = read_tests(_one_of(costs, tests, forecast.labels), forecast)
    p = probabilities(next(forecast.blocks()))[0]
    named: dict[str, Any] = {"labels": forecast.labels, "logits": logits}
    order = imperfect_order(forecast.values, used, search=search, steps=steps, **named)[0]
    return Plan(
        steps=tuple(_walk(p, order, used, forecast.labels)),
        expected_cost=float(predicted_expenditure(forecast.values, used, search=search, **named)),
        search=search,
    )


def _one_of(costs: Any, tests: Tests | None, labels: Any) -> Tests:
    if (costs is None) == (tests is None):
        problem = "pass either costs, for tests that are always right, or tests, and not both"
        raise InputError(problem, argument="tests", place="")
    return Tests(cost=costs, labels=labels) if tests is None else tests


def _walk(p: FloatArray, order: IntArray, tests: Tests, labels: Sequence[Any]) -> Iterator[PlanStep]:
    """Bayes' rule along the order: a test that found nothing makes its class less likely, and others more."""
    missed, before = p.copy(), np.empty(len(order))
    for step, k in enumerate(order):
        before[step] = missed[k]
        missed[k] *= 1 - tests.sensitivity[k]
    caught = before * tests.sensitivity[order]  # the chance that this step finds the truth
    left = np.append(caught, missed.sum())[::-1].cumsum()[::-1]  # that no step before did: added from the end,
    # where the terms are small, since what is left of 1 after many subtractions is rounding
    now = np.divide(before, left[:-1], out=np.zeros(len(order)), where=left[:-1] > 0)
    costs = tests.fruitless_cost[order]
    columns = (now, costs, costs.cumsum(), np.clip(1 - left[1:], 0.0, None))
    for k, values in zip(order, zip(*(column.tolist() for column in columns), strict=True), strict=True):
        yield PlanStep(labels[k], *values)
