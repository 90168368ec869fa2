"""Imperfect tests, and tests that answer for several classes at once: checked values and their messages."""

from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from pandora_regret.core.inputs.costs import check_costs
from pandora_regret.core.inputs.errors import InputError, InputTypeError
from pandora_regret.core.inputs.forecast import Forecast
from pandora_regret.core.inputs.labels import read_labels
from pandora_regret.core.inputs.numbers import LARGEST, FloatArray, check_each, check_shape, read_flag, read_floats
from pandora_regret.core.inputs.tables import by_name, match_names

SearchName: TypeAlias = Literal["single_pass", "restarts", "adaptive"]

LEAST_SENSITIVITY = 1e-4  # of adaptive repeats, whose expenditure is a sum of about 30 / s terms


@dataclass(frozen=True, eq=False)
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

    cost: Any
    sensitivity: Any = 1.0
    false_positive_rate: Any = 0.0
    confirmatory_cost: Any = 0.0
    labels: Any = None
    confirm_truth: bool = False

    def __post_init__(self) -> None:
        read_flag(self.confirm_truth, "confirm_truth")
        described = {field.name: getattr(self, field.name) for field in fields(self)[:4]}
        named = [values for values in described.values() if hasattr(values, "keys")]
        labels = list(named[0].keys()) if self.labels is None and named else self.labels
        labels = None if labels is None else list(read_labels(labels))
        object.__setattr__(self, "labels", labels)
        arrays = {name: read_floats(by_name(values, labels, name), name) for name, values in described.items()}
        k = max(array.size for array in arrays.values()) if labels is None else len(labels)
        if k < 2:
            fix = "name two classes at least, each with its number, separated by commas"
            raise InputError(f"are about {k} class", argument="tests", fix=fix)
        for name, array in arrays.items():
            check_shape(array, name, f"give one number, or one for each of {k} classes", (), (k,))
            object.__setattr__(self, name, np.broadcast_to(array, k))
        check_costs(self.cost, "cost", labels)
        s = self.sensitivity
        f = self.false_positive_rate
        workup = self.confirmatory_cost
        for good, name, fix in (
            ((s > 0) & (s <= 1), "sensitivity", "it must lie in (0, 1]"),
            ((f >= 0) & (f < 1), "false_positive_rate", "it must lie in [0, 1), as 1 - specificity does"),
            ((workup >= 0) & (workup <= LARGEST), "confirmatory_cost", f"it must lie between 0 and {LARGEST:g}"),
        ):
            check_each(good, getattr(self, name), name, fix, labels)
        check_costs(self.effective_cost, "effective cost (c + f C) / s", labels)

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


def read_tests(tests: Any, forecast: Forecast) -> Tests:
    """The tests of a forecast's classes, in the order of its columns."""
    checked = check_is_tests(tests)
    if checked.labels is not None:
        order = match_names(checked.labels, forecast.labels, "tests", "tests' labels")
        ordered = {field.name: getattr(checked, field.name)[order] for field in fields(checked)[:4]}
        return replace(checked, labels=forecast.labels, **ordered)
    if checked.n_classes != forecast.n_classes:
        problem = f"describe {checked.n_classes} classes but y_proba has {forecast.n_classes} columns"
        raise InputError(problem, argument="tests", value=checked.n_classes, fix="describe one test per column")
    return checked


def check_is_tests(tests: Any) -> Tests:
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


def read_per_class(values: Any, tests: Tests, name: str) -> FloatArray:
    """Finite numbers, one for all classes or one per class of the tests, or named by class."""
    array = read_floats(by_name(values, tests.labels or range(tests.n_classes), name), name)
    fix = f"pass one number, or one for each of {tests.n_classes} classes"
    check_shape(array, name, fix, (), (tests.n_classes,))
    check_each(np.isfinite(array), array, name, "it must be finite", tests.labels)
    return np.broadcast_to(array, tests.n_classes)
