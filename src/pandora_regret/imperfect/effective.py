"""Effective costs, which let a score speak of imperfect tests; when it stays strict; what treatment is worth."""

from __future__ import annotations

from typing import Any

import numpy as np

from pandora_regret.inputs import FloatArray
from pandora_regret.inputs.tests import Tests, check_is_tests, read_per_class, read_unit_costs
from pandora_regret.priors import Prior
from pandora_regret.priors.reading import check_prior


def effective_costs(tests: Tests, *, unit_costs: Any = None) -> FloatArray:
    """``(c + f C) / s``, shape (K,): use them as `costs` of any score to rank forecasts for a single pass.

    Such a score is proper, and orders tests as the best single pass does. **Its value is not an expenditure**:
    it charges a test of class j with ``(c_j + f_j C_j) / s_j``, which nobody pays. `expected_expenditure` is the
    bill.

    Parameters
    ----------
    tests
        What the test of each class costs and how far it can be trusted.
    unit_costs
        Draws u from a prior, shape (draws, K): the answer is ``(c u + f C) / s`` for each of them. The price of
        tests varies, that of work-ups does not. `Empirical` makes a prior of it.

    Returns
    -------
    array
        Shape (K,), or (draws, K) where `unit_costs` are given.

    References
    ----------
    Flores et al. (2026), Appendix D.2 [flores26]_.

    Examples
    --------
    >>> tests = Tests(cost=[100.0, 40.0], sensitivity=[0.9, 0.5], false_positive_rate=0.1, confirmatory_cost=200.0)
    >>> effective_costs(tests)
    array([133.33333333, 120.        ])
    >>> from pandora_regret import search_order
    >>> search_order([0.5, 0.5], costs=effective_costs(tests))
    array([1, 0])
    """
    check_is_tests(tests)
    if unit_costs is None:
        return tests.effective_cost
    workup = tests.false_positive_rate * tests.confirmatory_cost
    return np.asarray((tests.cost * read_unit_costs(unit_costs, tests) + workup) / tests.sensitivity)


def keeps_strict_propriety(tests: Tests, prior: Prior) -> bool:
    """Whether only the true probabilities are optimal under costs ``(c u + f C) / s``, u drawn from the prior.

    They are if ratios of these costs have full support. A work-up at a fixed price keeps effective costs away from
    zero. If unit costs are also bounded, as under `Uniform`, a class that is unlikely enough is tested last
    whatever its exact probability, and the score cannot see that probability. It is still proper. A prior
    that does not say whether it is bounded counts as bounded.

    With ``costs=effective_costs(tests)`` the prior multiplies the work-up too, and the score is as strict as the
    prior is.

    Parameters
    ----------
    tests
        What the test of each class costs and how far it can be trusted.
    prior
        The distribution of unit costs.

    Returns
    -------
    bool
        False also where it is not known.

    Examples
    --------
    >>> from pandora_regret import Exponential, Uniform
    >>> tests = Tests(cost=[100.0, 40.0], false_positive_rate=0.1, confirmatory_cost=200.0)
    >>> keeps_strict_propriety(tests, Uniform()), keeps_strict_propriety(tests, Exponential())
    (False, True)
    """
    check_is_tests(tests)
    check_prior(prior, tests.n_classes, "the tests' classes")
    pays_for_alarms = np.any(tests.false_positive_rate * tests.confirmatory_cost > 0)
    return bool(prior.strictly_proper and (prior.unbounded or not pays_for_alarms))


def treatment_payoff(
    tests: Tests, *, benefit: Any = 0.0, harm: Any = 0.0, untreated_cost: Any = 0.0
) -> FloatArray:
    """``lambda_j = s_j (B_j - r_j) - (1 - s_j) D_j``: what finding or missing class j is worth, shape (K,).

    It depends on the true class alone. No order of tests changes it, so it is no part of any bill or score here:
    subtract the bill from it, ``payoff[y_true] - expenditure``, for what a case brings in total. It speaks of one
    chance to find the truth, as a single pass gives; searches that go on until they find it bring ``B - r``.

    Parameters
    ----------
    tests
        Their sensitivities are used.
    benefit, harm, untreated_cost
        B and r of treating the class, D of leaving it untreated: one number, one per class, or named by class.

    Returns
    -------
    array
        Shape (K,), in the unit of its arguments.

    References
    ----------
    Flores et al. (2026), Appendix D.2 [flores26]_.

    Examples
    --------
    >>> tests = Tests(cost=[100.0, 40.0], sensitivity=[0.9, 0.5])
    >>> treatment_payoff(tests, benefit=[5000.0, 300.0], harm=100.0, untreated_cost=[8000.0, 0.0])
    array([3610.,  100.])
    """
    check_is_tests(tests)
    payoffs = {"benefit": benefit, "harm": harm, "untreated_cost": untreated_cost}
    b, r, d = (read_per_class(values, tests, name) for name, values in payoffs.items())
    return np.asarray(tests.sensitivity * (b - r) - (1 - tests.sensitivity) * d)
