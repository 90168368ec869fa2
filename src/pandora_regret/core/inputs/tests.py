"""Imperfect tests, and tests that answer for several classes at once: checked values and their messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.core.inputs.costs import check_costs
from pandora_regret.core.inputs.errors import InputError, InputTypeError
from pandora_regret.core.inputs.forecast import Forecast
from pandora_regret.core.inputs.kinds import ByClass, has_names
from pandora_regret.core.inputs.labels import read_labels
from pandora_regret.core.inputs.numbers import LARGEST, FloatArray, check_each, check_shape, read_flag, read_floats
from pandora_regret.core.inputs.tables import by_name, match_names

SearchName: TypeAlias = Literal["single_pass", "restarts", "adaptive"]

LEAST_SENSITIVITY = 1e-4  # of adaptive repeats, whose expenditure is a sum of about 30 / s terms


class Tests:
    """What the test of each class costs and how far it can be trusted.

    Parameters
    ----------
    cost
        c, the cost of a test: positive.
    sensitivity
        s, the probability that the test finds its class where it is the truth: in (0, 1].
    false_positive_rate
        f, the probability that a test which finds nothing raises a false alarm: in [0, 1).
    confirmatory_cost
        C, the cost of the work-up that dismisses a false alarm: not negative.
    labels
        The classes' labels, in the order of the other arguments; tests are then matched to forecasts by name.
    confirm_truth
        Whether a true positive is worked up as well before it is believed, for another C.

    The first four are one number for all classes, one per class, or named by class; one of them at least must say
    how many classes there are.

    See Also
    --------
    imperfect_order : The best order of such tests.
    expected_expenditure : What the search by them costs.

    References
    ----------
    Flores et al. (2026), Appendix D.2 [flores26]_.

    Examples
    --------
    >>> tests = Tests(cost=[100.0, 40.0], sensitivity=[0.9, 0.5], false_positive_rate=0.1, confirmatory_cost=200.0)
    >>> tests.fruitless_cost
    array([120.,  60.])
    """

    __test__ = False  # pytest takes classes of this name for test cases

    def __init__(
        self,
        cost: ByClass,
        sensitivity: ByClass = 1.0,
        false_positive_rate: ByClass = 0.0,
        confirmatory_cost: ByClass = 0.0,
        labels: ArrayLike | Sequence[object] | None = None,
        confirm_truth: bool = False,
    ) -> None:
        self.confirm_truth = read_flag(confirm_truth, "confirm_truth")
        described = {
            "cost": cost,
            "sensitivity": sensitivity,
            "false_positive_rate": false_positive_rate,
            "confirmatory_cost": confirmatory_cost,
        }
        names: Sequence[object] | None = None if labels is None else read_labels(labels)
        for values in described.values():
            if names is None and has_names(values):
                names = read_labels(list(values.keys()))
        arrays = {name: read_floats(by_name(values, names, name), name) for name, values in described.items()}
        k = max(array.size for array in arrays.values()) if names is None else len(names)
        if k < 2:
            fix = "name two classes at least, each with its number, separated by commas"
            raise InputError(f"are about {k} class", argument="tests", fix=fix)
        for name, array in arrays.items():
            check_shape(array, name, f"give one number, or one for each of {k} classes", (), (k,))
        self.cost = np.broadcast_to(arrays["cost"], k)
        self.sensitivity = np.broadcast_to(arrays["sensitivity"], k)
        self.false_positive_rate = np.broadcast_to(arrays["false_positive_rate"], k)
        self.confirmatory_cost = np.broadcast_to(arrays["confirmatory_cost"], k)
        self.labels = names
        self._check()

    def _check(self) -> None:
        """That all numbers make sense, each and together."""
        s = self.sensitivity
        f = self.false_positive_rate
        workup = self.confirmatory_cost
        lies_in_range = (workup >= 0) & (workup <= LARGEST)
        check_costs(self.cost, "cost", self.labels)
        check_each((s > 0) & (s <= 1), s, "sensitivity", "it must lie in (0, 1]", self.labels)
        fix = "it must lie in [0, 1), as 1 - specificity does"
        check_each((f >= 0) & (f < 1), f, "false_positive_rate", fix, self.labels)
        check_each(
            lies_in_range, workup, "confirmatory_cost", f"it must lie between 0 and {LARGEST:g}", self.labels
        )
        check_costs(self.effective_cost, "effective cost (c + f C) / s", self.labels)

    def __repr__(self) -> str:
        numbers = (
            f"cost={self.cost.tolist()}, sensitivity={self.sensitivity.tolist()}, "
            f"false_positive_rate={self.false_positive_rate.tolist()}, "
            f"confirmatory_cost={self.confirmatory_cost.tolist()}"
        )
        return f"Tests({numbers}, labels={self.labels}, confirm_truth={self.confirm_truth})"

    def in_order(self, order: Sequence[int], labels: Sequence[object]) -> Tests:
        """The tests of some classes, by their numbers, with other labels."""
        return Tests(
            self.cost[order],
            self.sensitivity[order],
            self.false_positive_rate[order],
            self.confirmatory_cost[order],
            labels,
            self.confirm_truth,
        )

    @property
    def n_classes(self) -> int:
        """How many classes there are, K."""
        return len(self.cost)

    @property
    def fruitless_cost(self) -> FloatArray:
        """``c + f C``: what a test that finds nothing costs on average."""
        return np.asarray(self.cost + self.false_positive_rate * self.confirmatory_cost)

    @property
    def finding_cost(self) -> FloatArray:
        """``c``, or ``c + C`` where the truth is confirmed too: what the test that ends the search costs."""
        return np.asarray(self.cost + self.confirmatory_cost if self.confirm_truth else self.cost)

    @property
    def effective_cost(self) -> FloatArray:
        """``(c + f C) / s``."""
        return np.asarray(self.fruitless_cost / self.sensitivity)

    @property
    def fading(self) -> FloatArray:
        """``-ln(1 - s)``: how much a fruitless test takes off the logarithm of its class's probability."""
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log1p(-self.sensitivity))


def read_tests(tests: object, forecast: Forecast) -> Tests:
    """The tests of a forecast's classes, in the order of its columns."""
    checked = check_is_tests(tests)
    if checked.labels is not None:
        order = match_names(checked.labels, forecast.labels, "tests", "tests' labels")
        return checked.in_order(order, forecast.labels)
    if checked.n_classes != forecast.n_classes:
        problem = f"describe {checked.n_classes} classes but y_proba has {forecast.n_classes} columns"
        raise InputError(problem, argument="tests", value=checked.n_classes, fix="describe one test per column")
    return checked


def check_is_tests(tests: object) -> Tests:
    """A Tests value and nothing else."""
    if not isinstance(tests, Tests):
        problem = f"must be a Tests value, such as Tests(cost=[...], sensitivity=0.9), got {tests!r:.200}"
        raise InputTypeError(problem, argument="tests", value=tests)
    return tests


def check_repeatable(tests: Tests) -> None:
    """Adaptive repeats need sensitivities that are not all but zero."""
    fix = f"adaptive repeats need at least {LEAST_SENSITIVITY:g}; drop the class, or use search='restarts'"
    command_fix = fix.replace("search='restarts'", "--search restarts")
    good = tests.sensitivity >= LEAST_SENSITIVITY
    check_each(good, tests.sensitivity, "sensitivity", fix, tests.labels, command_fix)


def read_per_class(values: ByClass, tests: Tests, name: str) -> FloatArray:
    """Finite numbers, one for all classes or one per class of the tests, or named by class."""
    array = read_floats(by_name(values, tests.labels or range(tests.n_classes), name), name)
    fix = f"pass one number, or one for each of {tests.n_classes} classes"
    check_shape(array, name, fix, (), (tests.n_classes,))
    check_each(np.isfinite(array), array, name, "it must be finite", tests.labels)
    return np.broadcast_to(array, tests.n_classes)
