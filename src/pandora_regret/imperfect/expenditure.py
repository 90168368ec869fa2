"""The bill of a search with imperfect tests: the order that keeps it lowest, its exact mean, and its simulation.

What a test of class j costs:

- c_j, and C_j more with probability f_j, whenever it finds nothing: because j is not the truth, or because the
  truth was missed. The work-up dismisses the finding, not the class. So a miss looks like any other fruitless
  test, alarms say nothing about the truth, and no search that heeds them can beat the ones here.
- c_i when it finds the truth i, and C_i more if `Tests.confirm_truth` says that true positives are worked up.

How often the truth is tested does not depend on the order, so neither does the part of the bill that its own
tests make up. The indices are optimal whichever way those tests are charged.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from pandora_regret.imperfect.searches import Race, indexed, order_of_tests
from pandora_regret.inputs import (
    FloatArray,
    Forecast,
    IntArray,
    Labels,
    Table,
    read_count,
    read_forecast,
    read_probabilities,
    read_seed,
)
from pandora_regret.inputs.tables import row_slices
from pandora_regret.inputs.tests import (
    SearchName,
    Tests,
    check_is_tests,
    read_per_class,
    read_tests,
)
from pandora_regret.kernels.reference import probabilities, search_order
from pandora_regret.priors import Prior
from pandora_regret.priors.names import check_prior
from pandora_regret.scores import Score, mean_or_rows
from pandora_regret.search import Simulation
from pandora_regret.tally import Means

MOST_DRAWN = 1e18  # beyond as many tests of a class, false alarms no longer stray from their mean


def imperfect_order(
    y_proba: Table,
    tests: Tests,
    *,
    search: SearchName,
    steps: int | None = None,
    labels: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
) -> IntArray:
    """The optimal order of imperfect tests: class numbers, best first.

    Parameters
    ----------
    y_proba
        One forecast, shape (K,), or a table of them, (N, K).
    tests
        What the test of each class costs and how far it can be trusted.
    search
        What happens when no test finds the truth. "single_pass": nothing, the search is over; by falling
        ``s p / (c + f C)``. "restarts": the same pass again; by falling ``p / (c + f C)``. "adaptive": any class
        may be tested again, always the largest ``p (1 - s)^n s / (c + f C)``, n the number of its tests so far.
    steps
        How many tests to list; K, one pass, unless given.
    labels, logits, normalise
        As in `pandora_regret`.

    Returns
    -------
    array
        Class numbers, shape (steps,) or (N, steps).

    See Also
    --------
    expected_expenditure : What the search costs.

    References
    ----------
    Kress et al. (2008), on the index of a single pass [kress08]_.
    Matula (1964), on adaptive repeats [matula64]_.

    Examples
    --------
    >>> tests = Tests(cost=1.0, sensitivity=[0.3, 0.9, 0.95])
    >>> imperfect_order([0.5, 0.3, 0.2], tests, search="single_pass")
    array([1, 2, 0])
    >>> imperfect_order([0.5, 0.3, 0.2], tests, search="restarts")
    array([0, 1, 2])
    >>> imperfect_order([0.5, 0.3, 0.2], tests, search="adaptive", steps=8)
    array([1, 2, 0, 0, 0, 0, 0, 1])
    """
    single = np.ndim(y_proba) == 1
    forecast = read_probabilities(
        np.asarray(y_proba)[None] if single else y_proba, labels, None, logits, normalise
    )
    tests = read_tests(tests, forecast)
    n_steps = forecast.n_classes if steps is None else read_count(steps, "steps")
    orders = np.concatenate([order_of_tests(search, block, tests, n_steps) for block in forecast.blocks()])
    return orders[0] if single else orders


def expected_expenditure(
    y_true: Labels,
    y_proba: Table,
    tests: Tests,
    *,
    search: SearchName,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    per_instance: bool = False,
) -> Score:
    """The bill: what the optimal search with imperfect tests costs on average, given the true class.

    This is money. The score of `effective_costs` is not: it weighs a test of j before the truth i with
    ``(c_j + f_j C_j) / s_j``, where the bill of a single pass has ``s_i (c_j + f_j C_j)``. Both are proper, but
    the bill of a pass never strictly: it sees only the order of its tests.

    A test that finds nothing costs c, and C more with probability f; the test that finds the truth costs c, and
    C more with `Tests.confirm_truth`. Exact: closed forms for "single_pass" and "restarts"; for "adaptive" a
    series, summed until a bound on what is left falls below 1e-13 of the sum. Repeats never come to a
    class of probability 0 while a possible one may have been missed: if that class is the truth, the bill is
    infinite.

    Parameters
    ----------
    y_true, y_proba, labels, sample_weight, logits, normalise, per_instance
        As in `pandora_regret`.
    tests
        What the test of each class costs and how far it can be trusted.
    search
        "single_pass", "restarts" or "adaptive", as in `imperfect_order`.

    Returns
    -------
    float or array
        In the tests' unit: the weighted mean, or one bill per instance, shape (N,), if `per_instance`.

    See Also
    --------
    imperfect_order : The order itself.
    effective_costs : A proper score for ranking forecasts, not a bill.

    References
    ----------
    Flores et al. (2026), Appendix D.2, as corrected in docs/theory/corrections.md [flores26]_.

    Examples
    --------
    >>> tests = Tests(cost=[100.0, 40.0], sensitivity=[0.9, 0.5], false_positive_rate=0.1, confirmatory_cost=200.0)
    >>> expected_expenditure([0, 1], [[0.7, 0.3], [0.7, 0.3]], tests, search="single_pass", per_instance=True)
    array([108., 170.])
    >>> expected_expenditure([0, 1], [[0.7, 0.3], [0.7, 0.3]], tests, search="restarts", per_instance=True)
    array([120., 340.])
    """
    forecast = read_forecast(y_true, y_proba, labels, sample_weight, logits, normalise)
    tests = read_tests(tests, forecast)
    bills = ((block, _mean_bills(Race.of(search, block, tests))) for block in forecast.blocks())
    return mean_or_rows(forecast, bills, per_instance)


def predicted_expenditure(
    y_proba: Table,
    tests: Tests,
    *,
    search: SearchName,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    per_instance: bool = False,
) -> Score:
    """The bill that forecasts predict of themselves: `expected_expenditure` if their probabilities are right.

    No other order of the same search makes it smaller. Adaptive repeats never cost more than restarts; a single
    pass, which may leave the case open, can cost more or less than either.

    Parameters
    ----------
    y_proba, tests, search, labels, sample_weight, logits, normalise, per_instance
        As in `expected_expenditure`.

    Returns
    -------
    float or array
        As for `expected_expenditure`.

    Examples
    --------
    >>> tests = Tests(cost=1.0, sensitivity=[0.3, 0.9, 0.95])
    >>> round(predicted_expenditure([[0.5, 0.3, 0.2]], tests, search="restarts"), 3)
    5.332
    """
    forecast = read_probabilities(y_proba, labels, sample_weight, logits, normalise)
    tests = read_tests(tests, forecast)
    rows = ((block, predicted_bills(block, tests, search)) for block in forecast.blocks())
    return mean_or_rows(forecast, rows, per_instance)


def simulate_expenditure(
    y_true: Labels,
    y_proba: Table,
    tests: Tests,
    *,
    search: SearchName,
    draws: int = 1000,
    seed: int | Generator | None = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
) -> Simulation:
    """The mean bill by Monte Carlo: misses and false alarms are drawn, and what was paid is averaged.

    In each draw every instance is searched once. The standard error speaks of the draws only, so the estimate
    tends to `expected_expenditure` of the same arguments.

    Parameters
    ----------
    y_true, y_proba, tests, search, labels, sample_weight, logits, normalise
        As in `expected_expenditure`.
    draws
        How often each instance is searched.
    seed
        A whole number, a generator, or None for fresh draws.

    Returns
    -------
    Simulation
        Its `mean` and its `standard_error`.

    Examples
    --------
    >>> tests = Tests(cost=[100.0, 40.0], sensitivity=[0.9, 0.5], false_positive_rate=0.1, confirmatory_cost=200.0)
    >>> result = simulate_expenditure([0], [[0.7, 0.3]], tests, search="restarts", draws=4000, seed=0)
    >>> abs(result.mean - 120) < 4 * result.standard_error
    True
    """
    forecast = read_forecast(y_true, y_proba, labels, sample_weight, logits, normalise)
    tests = read_tests(tests, forecast)
    mean, rng = Means(), read_seed(seed)
    for batch in row_slices(read_count(draws, "draws"), forecast.values.size):
        totals, weight = np.zeros(batch.stop - batch.start), 0.0
        for block in forecast.blocks():
            totals += _drawn_bills(Race.of(search, block, tests), len(totals), rng) @ block.each_weight
            weight += block.each_weight.sum()
        mean.add(totals / weight)
    return Simulation(mean.mean, mean.standard_error)


def _mean_bills(race: Race) -> FloatArray:
    """Fruitless tests at ``c + f C``, and the one that finds the truth."""
    fruitless = race.mean_fruitless_tests() * race.tests.fruitless_cost
    return np.asarray(fruitless.sum(axis=1) + race.found(race.mean_misses()) * race.tests.finding_cost[race.truth])


def predicted_bills(block: Forecast, tests: Tests, search: SearchName) -> FloatArray:
    """The mean over every class that might be the truth; impossible ones do not count, however expensive.

    A pass pays for all that come before the truth, and after a miss for the rest of it, or for more of the same.
    """
    p, total = probabilities(block), np.zeros(len(block))
    if search != "adaptive":
        order, single = search_order(indexed(search, block, tests)), search == "single_pass"
        costs, s = tests.fruitless_cost[order], tests.sensitivity[order]
        before = np.cumsum(costs, axis=1) - costs
        again = costs.sum(axis=1, keepdims=True) - before * single
        paid = before + (1 - s) * again / (1 if single else s) + (s if single else 1) * tests.finding_cost[order]
        return np.asarray((np.take_along_axis(p, order, axis=1) * paid).sum(axis=1))
    for i in range(block.n_classes):
        rows = np.flatnonzero(p[:, i] > 0)
        if len(rows):
            as_if = replace(block, values=block.values[rows], truth=np.full(len(rows), i))
            total[rows] += p[rows, i] * _mean_bills(Race.of(search, as_if, tests))
    return total


def _drawn_bills(race: Race, n_draws: int, rng: Generator) -> FloatArray:
    """What each draw pays for each row, (n_draws, n)."""
    tests, misses = race.tests, race.draw_misses(n_draws, rng)
    fruitless = race.fruitless_tests(misses)
    countable = fruitless < MOST_DRAWN
    alarms = rng.binomial(np.where(countable, fruitless, 0).astype(np.int64), tests.false_positive_rate)
    drawn = fruitless * tests.cost + alarms * tests.confirmatory_cost
    spent = np.where(countable, drawn, fruitless * tests.fruitless_cost)
    return np.asarray(spent.sum(axis=-1) + race.found(misses) * tests.finding_cost[race.truth])


def effective_costs(tests: Tests) -> FloatArray:
    """``(c + f C) / s``, shape (K,): use them as `costs` of any score to rank forecasts for a single pass.

    Such a score is proper, and orders tests as the best single pass does. **Its value is not an expenditure**:
    it charges a test of class j with ``(c_j + f_j C_j) / s_j``, which nobody pays. `expected_expenditure` is the
    bill.

    Parameters
    ----------
    tests
        What the test of each class costs and how far it can be trusted.

    Returns
    -------
    array
        Shape (K,).

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
    return check_is_tests(tests).effective_cost


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
