"""The bill of a search with imperfect tests: the order that keeps it lowest, its exact mean, and its simulation.

What a test of class j costs:

- c_j, and C_j more with probability f_j, whenever it finds nothing: because j is not the truth, or because the
  truth was missed. The work-up dismisses the finding, not the class. So a miss looks like any other fruitless
  test, alarms say nothing about the truth, and no search that heeds them can beat the ones here.
- c_i when it finds the truth i, and C_i more if `Tests.confirm_truth` says that true positives are worked up.

How often the truth is tested does not depend on the order, so neither does the part of the bill that its own
tests make up. The indices are optimal whichever way those tests are charged.

The searches:

"single_pass"
    Every class once, by falling ``s p / (c + f C)``; a miss pays the rest of the pass.
"restarts"
    Every class in a fixed order, by falling ``p / (c + f C)``, and again until the truth is found: sensitivity
    decides how many passes are made, not their order.
"adaptive"
    Always the largest ``p (1 - s)^n s / (c + f C)``, n the tests of the class so far (Blackwell, Matula). Equal
    indices are tested in the order of the first pass.

All that chance decides about a search is how often the test of the truth misses it. Given that number, the tests
made in vain can be counted class by class; a test that misses the truth counts among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.core.inputs import (
    ByClass,
    FloatArray,
    Forecast,
    InputError,
    IntArray,
    Labels,
    SearchName,
    Seed,
    Table,
    Tests,
    check_is_tests,
    check_repeatable,
    is_frame,
    read_choice,
    read_count,
    read_forecast,
    read_per_class,
    read_probabilities,
    read_seed,
    read_tests,
    row_slices,
)
from pandora_regret.core.kernels.reference import (
    costs_of,
    if_true,
    log_ratio,
    probabilities,
    rank_odds,
    search_order,
)
from pandora_regret.core.priors import Prior
from pandora_regret.core.priors.names import check_prior
from pandora_regret.core.scores import Score, ScoreOptions, mean_or_rows
from pandora_regret.core.search import Simulation
from pandora_regret.core.tally import Means

if TYPE_CHECKING:
    from numpy.random import Generator  # loaded where something is drawn

SEARCHES = {
    "single_pass": "every class once",
    "restarts": "the same pass again until the truth is found",
    "adaptive": "repeats where they are worth most",
}
INDEX_TIE = 1e-10  # two tests whose indices agree to this are equally good: rounding must not make both the first
FAR_BEHIND = -1e9  # indices of impossible classes: repeats of a possible one never come so far
LARGEST_TAIL = 1e-13  # what is left of a series when summing stops, as a share of what a test costs
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
    single = not is_frame(y_proba) and np.asarray(y_proba).ndim == 1
    table = np.asarray(y_proba)[None] if single else y_proba
    forecast = read_probabilities(table, labels, None, logits, normalise)
    tests = read_tests(tests, forecast)
    n_steps = forecast.n_classes if steps is None else read_count(steps, "steps")
    orders = np.concatenate([order_of_tests(search, block, tests, n_steps) for block in forecast.blocks()])
    return orders[0] if single else orders


@overload
def expected_expenditure(
    y_true: Labels,
    y_proba: Table,
    tests: Tests,
    *,
    search: SearchName,
    per_instance: Literal[False] = ...,
    **options: Unpack[ScoreOptions],
) -> float: ...
@overload
def expected_expenditure(
    y_true: Labels,
    y_proba: Table,
    tests: Tests,
    *,
    search: SearchName,
    per_instance: Literal[True],
    **options: Unpack[ScoreOptions],
) -> FloatArray: ...
@overload
def expected_expenditure(
    y_true: Labels,
    y_proba: Table,
    tests: Tests,
    *,
    search: SearchName,
    per_instance: bool,
    **options: Unpack[ScoreOptions],
) -> Score: ...
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
    series, summed until a bound on what is left falls below 1e-13 of the cheapest test. Repeats never come to a
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


@overload
def predicted_expenditure(
    y_proba: Table,
    tests: Tests,
    *,
    search: SearchName,
    per_instance: Literal[False] = ...,
    **options: Unpack[ScoreOptions],
) -> float: ...
@overload
def predicted_expenditure(
    y_proba: Table,
    tests: Tests,
    *,
    search: SearchName,
    per_instance: Literal[True],
    **options: Unpack[ScoreOptions],
) -> FloatArray: ...
@overload
def predicted_expenditure(
    y_proba: Table, tests: Tests, *, search: SearchName, per_instance: bool, **options: Unpack[ScoreOptions]
) -> Score: ...
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
    seed: Seed = None,
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
    mean = Means()
    rng = read_seed(seed)
    weight = forecast.each_weight.sum()
    for batch in row_slices(read_count(draws, "draws"), forecast.values.size):
        totals = np.zeros(batch.stop - batch.start)
        for block in forecast.blocks():
            totals += _drawn_bills(Race.of(search, block, tests), len(totals), rng) @ block.each_weight
        mean.add(totals / weight)
    return Simulation(mean.mean, mean.standard_error)


def _mean_bills(race: Race) -> FloatArray:
    """Fruitless tests at ``c + f C``, and the one that finds the truth."""
    fruitless = race.mean_fruitless_tests() * race.tests.fruitless_cost
    return np.asarray(fruitless.sum(axis=1) + race.found(race.mean_misses()) * race.tests.finding_cost[race.truth])


def predicted_bills(block: Forecast, tests: Tests, search: SearchName) -> FloatArray:
    """The mean bill over every class that might be the truth, (n,); impossible ones do not count."""
    p = probabilities(block)
    if search != "adaptive":
        order = search_order(indexed(search, block, tests))
        bills = _bills_of_passes(search, order, tests)
        return np.asarray((np.take_along_axis(p, order, axis=1) * bills).sum(axis=1))
    total = np.zeros(len(block))
    for i in range(block.n_classes):
        rows = np.flatnonzero(p[:, i] > 0)
        if len(rows):
            race = Race.of(search, if_true(block.rows(rows), i), tests)
            total[rows] += p[rows, i] * _mean_bills(race)
    return total


def _bills_of_passes(search: SearchName, order: IntArray, tests: Tests) -> FloatArray:
    r"""The mean bill of each row if the t-th class of its order, (n, K), is the truth, in column t.

    A test in vain costs :math:`d = c + f C`, the one that finds the truth e, and all tests before that
    of the truth :math:`D_t = \sum_{u < t} d_u`:

    - a single pass pays :math:`D_t + s e + (1 - s) \sum_{u \ge t} d_u`: after a miss, the truth's own test and the
      rest of the pass were in vain;
    - restarts pay :math:`D_t + e + (1 / s - 1) \sum_u d_u`: a whole pass more for each miss, of which there are
      :math:`1 / s - 1` on average.
    """
    in_vain = tests.fruitless_cost[order]
    finding = tests.finding_cost[order]
    s = tests.sensitivity[order]
    before = np.cumsum(in_vain, axis=1) - in_vain
    whole_pass = in_vain.sum(axis=1, keepdims=True)
    if search == "single_pass":
        return np.asarray(before + (1 - s) * (whole_pass - before) + s * finding)
    return np.asarray(before + (1 - s) * whole_pass / s + finding)


def _drawn_bills(race: Race, n_draws: int, rng: Generator) -> FloatArray:
    """What each draw pays for each row, (n_draws, n)."""
    tests = race.tests
    misses = race.draw_misses(n_draws, rng)
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
    check_prior(prior, check_is_tests(tests).n_classes, "the tests' classes")
    pays_for_alarms = np.any(tests.false_positive_rate * tests.confirmatory_cost > 0)
    return bool(prior.strictly_proper and (prior.unbounded or not pays_for_alarms))


def treatment_payoff(
    tests: Tests, *, benefit: ByClass = 0.0, harm: ByClass = 0.0, untreated_cost: ByClass = 0.0
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
    s = check_is_tests(tests).sensitivity
    payoffs = {"benefit": benefit, "harm": harm, "untreated_cost": untreated_cost}
    b, r, d = (read_per_class(values, tests, name) for name, values in payoffs.items())
    return np.asarray(s * (b - r) - (1 - s) * d)


def indexed(search: SearchName, block: Forecast, tests: Tests) -> Forecast:
    """Forecasts with the costs that make ``p / c`` the index which the first pass follows."""
    if read_choice(search, "search", SEARCHES) == "adaptive":
        check_repeatable(tests)
    return block.with_costs(tests.fruitless_cost if search == "restarts" else tests.effective_cost)


@dataclass(frozen=True)
class Race:
    """How every class stands against the truth of its row when a search begins."""

    search: SearchName
    lead: FloatArray  # (n, K) logarithm of the class's index over the truth's, and INDEX_TIE further from 0
    truth: IntArray  # (n,)
    tests: Tests

    @classmethod
    def of(cls, search: SearchName, block: Forecast, tests: Tests) -> Race:
        """Every class against the truth of its row."""
        lead = -rank_odds(indexed(search, block, tests))
        has_lower_number = np.arange(block.n_classes) < block.truth[:, None]
        is_before = (lead > 0) | ((lead == 0) & has_lower_number)
        return cls(search, lead + np.where(is_before, INDEX_TIE, -INDEX_TIE), block.truth, tests)

    @property
    def sensitivity(self) -> FloatArray:
        """The sensitivity of the truth's test, (n,)."""
        return np.asarray(self.tests.sensitivity[self.truth])

    def mean_misses(self) -> FloatArray:
        """How often the truth is missed on average, (n,): once at most, or it takes ``1 / s`` tests to find it."""
        if self.search == "single_pass":
            return 1 - self.sensitivity
        return 1 / self.sensitivity - 1

    def draw_misses(self, n_draws: int, rng: Generator) -> FloatArray:
        """How often the truth is missed in each draw, (n_draws, n)."""
        s = self.sensitivity
        shape = (n_draws, len(self.truth))
        if self.search == "single_pass":
            return (rng.random(shape) >= s).astype(np.float64)
        n_tests = rng.geometric(s, shape)  # of the truth, the last of which finds it
        return (n_tests - 1).astype(np.float64)

    def found(self, misses: FloatArray) -> FloatArray:
        """Whether, or how likely, the search ends with the truth."""
        return 1 - misses if self.search == "single_pass" else np.ones_like(misses)

    def fruitless_tests(self, misses: FloatArray) -> FloatArray:
        """How often each class is tested in vain, (..., n, K), if the truth is missed so often, (..., n).

        Those before the truth, and after a miss the rest of the pass, or all of it again; or tests whose index
        exceeds the index of the truth's test after the given misses.
        """
        if self.search != "adaptive":
            before = self.lead > 0
            again = ~before if self.search == "single_pass" else np.ones_like(before)
            return before + misses[..., None] * again
        fading = self.tests.fading
        with np.errstate(invalid="ignore"):  # a perfect test, -ln(1 - s) = inf, that was never made: 0 * inf
            lead = self.lead + np.where(misses > 0, misses * fading[self.truth], 0.0)[..., None]
            return np.where(lead > 0, 1 + np.floor(np.nan_to_num(lead / fading, posinf=np.inf)), 0.0)

    def mean_fruitless_tests(self) -> FloatArray:
        """How often each class is tested in vain on average, (n, K).

        Of adaptive repeats ``N_j(0) + sum_n (1 - s_i)^m``: beyond those before the first test of the truth i, the
        n-th test of class j is made if i is missed so often, m times, that it falls behind. A term is at most
        ``(1 - s_j)^n``, so what is left of the sum after n terms is at most ``(1 - s_j)^n / s_j``.
        """
        if self.search != "adaptive":
            return self.fruitless_tests(self.mean_misses())  # linear in the misses
        tests = self.tests
        total = self.fruitless_tests(np.zeros(len(self.truth)))
        own = tests.fading[self.truth]
        chance = 1 - self.sensitivity
        negligible = LARGEST_TAIL * tests.cost.min() / tests.n_classes
        n_terms = 1 + np.log(tests.fruitless_cost / tests.sensitivity / negligible) / tests.fading
        for j, fading in enumerate(tests.fading):
            sure = total[:, j].copy()
            for some in row_slices(int(np.ceil(n_terms[j])), len(sure)):
                made = sure + np.arange(some.start, some.stop)[:, None]
                with np.errstate(invalid="ignore"):  # 0 * inf of a perfect test, inf - inf of an impossible truth
                    behind = np.where(made > 0, made * fading, 0.0) - self.lead[:, j]
                    misses = 1 + np.floor(np.maximum(behind, 0) / own)
                    total[:, j] += np.nan_to_num(chance**misses).sum(axis=0)
        return total


def order_of_tests(search: SearchName, block: Forecast, tests: Tests, steps: int) -> IntArray:
    """The first tests, (n, steps): a pass, and then the same again, or whatever is best by then."""
    k = tests.n_classes
    block = indexed(search, block, tests)
    if steps > k and (search == "single_pass" or (search == "adaptive" and np.all(tests.sensitivity == 1))):
        limit = f"the search ends after {k} tests; those that may miss are repeated with"
        raise InputError(
            argument="steps",
            value=steps,
            fix=f"{limit} search='restarts' or search='adaptive'",
            command_fix=f"{limit} --search restarts or --search adaptive",
        )
    first = search_order(block)
    if search != "adaptive":
        return np.take(first, np.arange(steps) % k, axis=1)
    return _adaptive_order(block, first, tests, steps)


def _adaptive_order(block: Forecast, first: IntArray, tests: Tests, steps: int) -> IntArray:
    """Tests by falling index, each index falling by the test's fading when it is made, (n, steps).

    `first`, (n, K), is the order of the first pass; of equal indices the earlier there comes first.
    """
    values = np.take_along_axis(block.values, first, axis=1)
    costs = np.take_along_axis(costs_of(block), first, axis=1)
    index = log_ratio(values, values[:, :1], costs, costs[:, :1], logits=block.logits)
    index = np.where(index > -np.inf, index, FAR_BEHIND - np.log(costs))  # impossible classes
    fading = tests.fading[first]
    rows = np.arange(len(index))
    places = np.empty((len(index), steps), dtype=np.intp)  # in the first pass
    n_made = np.zeros_like(index)
    for step in range(steps):
        with np.errstate(invalid="ignore"):  # 0 * inf of a perfect test that was not made
            faded = np.where(n_made > 0, index - n_made * fading, index)
        is_best = faded >= faded.max(axis=1, keepdims=True) - INDEX_TIE
        places[:, step] = np.argmax(is_best, axis=1)
        n_made[rows, places[:, step]] += 1
    return np.take_along_axis(first, places, axis=1)


def searched(p: FloatArray, order: IntArray, tests: Tests) -> FloatArray:
    """What each test of an order meets, (steps, 4).

    The chance of its class by then, its cost, what was spent by then, and how likely the truth was found by then.
    By Bayes' rule: a test that found nothing makes its class less likely, and others more.
    """
    missed = p.copy()  # by the tests so far: the chance of each class and of that
    before = np.empty(len(order))
    for step, k in enumerate(order):
        before[step] = missed[k]
        missed[k] *= 1 - tests.sensitivity[k]
    caught = before * tests.sensitivity[order]
    costs = tests.fruitless_cost[order]
    # Added from the end, where the terms are small: what is left of 1 after many subtractions is rounding.
    from_the_end = np.append(caught, missed.sum())[::-1].cumsum()
    uncaught = from_the_end[::-1]  # (steps + 1,) how likely nothing was found before each step, and in the end
    uncaught_before = uncaught[:-1]
    chances = before / np.where(uncaught_before > 0, uncaught_before, 1.0)
    found = np.clip(1 - uncaught[1:], 0.0, None)
    return np.stack([chances, costs, costs.cumsum(), found], axis=1)
