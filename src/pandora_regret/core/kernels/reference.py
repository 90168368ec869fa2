"""The paper's formulas in plain NumPy, one block of rows at a time: the specification of every faster kernel.

Two classes tie if their quotients ``p / c`` agree to a few units in the last place; `tie_widths` says how many.
To ask for equal floats would be too strict: 0.3 / 3 is not 0.1 / 1. The rule matters only where a loss jumps, that
is for known costs and for samples of costs; a continuous loss is computed from the odds as they are.

Such ties are not transitive: a may tie with b, and b with c, but not a with c. What is summed over pairs (scores,
realised and simulated costs) therefore decides each pair alone. An order (`search_order`, entropies) goes by
falling quotient, and a run of ties reaches as far as classes tie with its first one. The two agree unless
quotients differ by one to two widths, which rounding alone cannot make them do.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs import FloatArray, Forecast, IntArray, row_slices
from pandora_regret.core.priors import Beta, Exponential, Prior
from pandora_regret.core.priors.base import TIE, TIE_IN_SINGLE, log_quotient, settle_ties
from pandora_regret.core.priors.beta import beta_loss, decay, power, rise

SWEPT_AT_ONCE = 1 << 16  # numbers, of which there are many temporary copies: they stay in the cache,
FEWEST_SWEPT = 512  # but of so many rows, as each step down a row takes some Python
LEAST_BESIDE_BEST = 1e-100  # of a possible class's quotient: next to it
VANISHING = 1e-280  # is nothing, and so is the square of what they make,
MOST_OF_CHEAPEST = 1e20  # while costs of impossible classes that differ by no more than this are told apart
SMALLEST_COST = float(np.finfo(np.float64).tiny)  # where a product underflows: p / c stays finite

Scalar = TypeVar("Scalar", bound=np.generic)
TieLosses: TypeAlias = tuple[float, float]  # L_inf of a tie with a class of lower, and of higher number
BROKEN_AT_RANDOM: TieLosses = (1.0, 1.0)
BROKEN_BY_INDEX: TieLosses = (2.0, 0.0)  # the lower class number is tested first


def costs_of(block: Forecast) -> FloatArray:
    """The base costs :math:`C_k` of every row, (n, K)."""
    costs = np.ones(block.n_classes) if block.costs is None else block.costs
    return np.broadcast_to(costs, block.values.shape)


def of_class(table: NDArray[Scalar], column: IntArray) -> NDArray[Scalar]:
    """The entry of each row in the given column, as an (n, 1) table."""
    return np.take_along_axis(table, column[:, None], axis=1)


def log_odds(block: Forecast) -> FloatArray:
    r"""The log odds of the truth i against every class j, :math:`\ln r_{ij} = \ln\frac{p_i / C_i}{p_j / C_j}`.

    Parameters
    ----------
    block
        Rows that were read and checked.

    Returns
    -------
    array
        Shape (n, K).
    """
    ours = of_class(block.values, block.truth)
    if block.costs is None:
        return log_ratio(ours, block.values, logits=block.logits)
    costs = costs_of(block)
    return log_ratio(ours, block.values, of_class(costs, block.truth), costs, logits=block.logits)


def tie_widths(ours: FloatArray, theirs: FloatArray, block: Forecast) -> FloatArray | float:
    r"""How far from 0 :math:`\ln r` may be in a tie of numbers of a block: one number, or one per pair of logits.

    A few units in the last place of the quotients, :math:`\varepsilon`; of logits, whose rounding grows with their
    size, :math:`\varepsilon (1 + |z_i| + |z_j|)`.
    """
    tie = relative_tie(block)
    if not block.logits:
        return tie
    return tie * (1 + _finite_size(ours) + _finite_size(theirs))


def _finite_size(logits: FloatArray) -> FloatArray:
    """The size of each logit, by which its rounding grows; that of an impossible class is 0."""
    return np.where(np.isfinite(logits), np.abs(logits), 0.0)


def relative_tie(block: Forecast) -> float:
    """How far apart quotients may be in a tie, relatively, in the precision in which their forecasts came.

    Half precision is compared as single: its own units are so coarse that forecasts which differ would tie.
    """
    precision = block.read_as or block.values.dtype
    return TIE if precision.itemsize > 4 else TIE_IN_SINGLE


def rank_odds(block: Forecast) -> FloatArray:
    r"""The :math:`\ln r_{ij}` of `log_odds`, but exactly 0 where the truth i ties with j."""
    ours = of_class(block.values, block.truth)
    return settle_ties(log_odds(block), tie_widths(ours, block.values, block))


def log_ratio(
    ours: FloatArray,
    theirs: FloatArray,
    our_cost: FloatArray | None = None,
    their_cost: FloatArray | None = None,
    *,
    logits: bool,
) -> FloatArray:
    r"""The log odds of classes a against classes b, :math:`\ln\frac{p_a / C_a}{p_b / C_b}`.

    Two classes of probability zero count as equally likely, so their costs alone decide. The sign is that of the
    difference of two floats: whether they tie is for `tie_widths` to say.

    Parameters
    ----------
    ours, theirs
        Probabilities, or logits, of a and b, of shapes that broadcast.
    our_cost, their_cost
        Base costs of a and b; None where all are 1.
    logits
        Which of the two they are.

    Returns
    -------
    array
        One value per pair.
    """
    if logits:
        with np.errstate(invalid="ignore", over="ignore"):
            gap = np.where(ours == theirs, 0.0, ours - theirs)
        if our_cost is None or their_cost is None:
            return gap
        with np.errstate(invalid="ignore", over="ignore"):
            return np.asarray(gap + log_quotient(their_cost, our_cost))
    both_impossible = (ours == 0) & (theirs == 0)
    if both_impossible.any():
        ours = np.where(both_impossible, 1.0, ours)
        theirs = np.where(both_impossible, 1.0, theirs)
    if our_cost is None or their_cost is None:
        return log_quotient(ours, theirs)
    unit = unit_near(max(our_cost.max(), their_cost.max()))
    return log_quotient(ours / (our_cost / unit), theirs / (their_cost / unit))


def unit_near(largest_cost: float) -> float:
    """A power of two in which to count costs: exact, and :math:`p / C` does not underflow at large costs."""
    return float(np.exp2(np.frexp(largest_cost)[1] - 1.0))


def _at_cost(block: Forecast, losses: FloatArray) -> FloatArray:
    r"""What each row spends on testing the wrong class j before its truth i, :math:`C_j L(r_{ij})`; 0 at j = i."""
    spent = costs_of(block) * losses
    np.put_along_axis(spent, block.truth[:, None], 0.0, axis=1)
    return spent


def mean_waste(block: Forecast, prior: Prior, numbers: IntArray | None = None) -> FloatArray:
    r"""The mean spend on each wrong test under a prior, :math:`C_j\,\mathbb{E}[u_j 1(j \text{ before } i)]`.

    Parameters
    ----------
    block
        As in `log_odds`.
    prior
        The distribution of unit costs.
    numbers
        Which of the prior's tests each column is, shape (K,); 0 to K - 1 unless given.

    Returns
    -------
    array
        Shape (n, K), zero at the truth.

    References
    ----------
    Flores et al. (2026), Theorem A.1 [flores26]_.
    """
    tests = np.arange(block.n_classes) if numbers is None else numbers
    true_tests = tests[block.truth][:, None]
    width = tie_widths(of_class(block.values, block.truth), block.values, block)
    shares = prior.share_with_ties(log_odds(block), true_tests, tests, width)
    return np.asarray(_at_cost(block, shares) * prior.mean_of(tests))


def pair_losses(block: Forecast, alpha: float, ties: TieLosses = BROKEN_AT_RANDOM) -> FloatArray:
    r"""The loss of each pair in the Beta family, :math:`C_j L_\alpha(q_i / q_j)` with :math:`q_k = p_k / C_k`.

    Parameters
    ----------
    block
        As in `log_odds`.
    alpha
        From 0 to inf.
    ties
        At inf, what a tie is worth with a class of lower, and of higher number.

    Returns
    -------
    array
        Shape (n, K), zero at j = i.

    References
    ----------
    Flores et al. (2026), Proposition A.5 [flores26]_.
    """
    if alpha < np.inf:
        return _at_cost(block, beta_loss(log_odds(block), alpha))
    odds = rank_odds(block)
    worth_if_lower, worth_if_higher = ties
    is_lower = np.arange(block.n_classes) < block.truth[:, None]
    worth = np.where(is_lower, worth_if_lower, worth_if_higher)
    return _at_cost(block, np.where(odds == 0, worth, 2.0 * (odds < 0)))


def total_losses(block: Forecast, alpha: float, ties: TieLosses = BROKEN_AT_RANDOM) -> FloatArray:
    r"""The loss of each row in the Beta family, :math:`\sum_{j \ne i} C_j L_\alpha(q_i / q_j)`.

    Parameters
    ----------
    block, alpha, ties
        As in `pair_losses`.

    Returns
    -------
    array
        Shape (n,).

    References
    ----------
    Flores et al. (2026), Corollary A.7 [flores26]_.
    """
    return np.asarray(pair_losses(block, alpha, ties).sum(axis=1))


def at_truth(block: Forecast, table: FloatArray) -> FloatArray:
    """The entry of each row's truth in an (n, K) table; (n,)."""
    return of_class(table, block.truth)[:, 0]


def own_costs(block: Forecast) -> FloatArray:
    """The base cost :math:`C_i` of each row's truth, (n,)."""
    return at_truth(block, costs_of(block))


def unavoidable_costs(block: Forecast, prior: Prior, numbers: IntArray | None = None) -> FloatArray:
    r"""What testing the truth itself costs, :math:`C_i\,\mathbb{E}[u_i]`.

    Parameters
    ----------
    block, prior, numbers
        As in `mean_waste`.

    Returns
    -------
    array
        Shape (n,).
    """
    true_tests = block.truth if numbers is None else numbers[block.truth]
    return np.asarray(own_costs(block) * prior.mean_of(true_tests))


def at_mean_costs(forecast: Forecast, prior: Prior) -> tuple[Forecast, float]:
    r"""The forecast at mean costs :math:`C_k\,\mathbb{E}[u_k]`, and their unit.

    One mean for all classes changes no order: it is the unit. Several do: they join the costs, and the unit is 1.
    """
    mean = prior.mean
    if not isinstance(mean, np.ndarray):
        return forecast, float(mean)
    costs = mean if forecast.costs is None else forecast.costs * mean
    return forecast.with_costs(costs), 1.0


def sums_by_truth(block: Forecast, table: FloatArray) -> tuple[IntArray, FloatArray]:
    r"""The classes i that occur as truth, and for each :math:`\sum_{n: i_n = i} w_n t_n` of an (n, K) table t."""
    weighted = table if block.weights is None else table * block.weights[:, None]
    order = np.argsort(block.truth, kind="stable")
    classes, starts = np.unique(block.truth[order], return_index=True)
    return classes, np.add.reduceat(weighted[order], starts, axis=0)


def realised_costs(block: Forecast, ties: TieLosses) -> FloatArray:
    r"""What each row's search costs at known costs c, :math:`c_i + \sum_{j \ne i} c_j 1(p_j / c_j > p_i / c_i)`.

    A class j that ties with the truth adds half of what its tie is worth.

    Parameters
    ----------
    block
        As in `log_odds`; its costs are those of the tests.
    ties
        As in `pair_losses`.

    Returns
    -------
    array
        Shape (n,).
    """
    return own_costs(block) + total_losses(block, np.inf, ties) / 2


def simulated_costs(block: Forecast, unit_costs: FloatArray) -> FloatArray:
    r"""The cost of every row's search under every drawn cost vector, found by comparison with the truth.

    With :math:`c_k = C_k u_k` that is
    :math:`\sum_j c_j [1(p_j / c_j > p_i / c_i) + \tfrac12 1(\text{tie})] + \tfrac12 c_i`.
    The truth ties with itself.

    Parameters
    ----------
    block
        As in `log_odds`.
    unit_costs
        Drawn from a prior, shape (draws, K).

    Returns
    -------
    array
        Shape (draws, n).
    """
    costs = np.maximum(costs_of(block) * unit_costs[:, None, :], SMALLEST_COST)  # (draws, rows, K)
    truth = np.broadcast_to(block.truth[None, :, None], (*costs.shape[:2], 1))
    our_cost = np.take_along_axis(costs, truth, axis=2)
    ours = of_class(block.values, block.truth)
    width = tie_widths(ours, block.values, block)
    if block.logits:
        lead = -log_ratio(ours, block.values, our_cost, costs, logits=True)
    else:  # p / c, and below all that impossible classes, the cheapest first
        merit = np.where(block.values > 0, block.values / costs, -costs)
        our_merit = np.take_along_axis(merit, truth, axis=2)
        lead = merit - our_merit
        width = width * np.abs(our_merit)
    before = (lead > width) + 0.5 * (np.abs(lead) <= width)
    return np.asarray((costs * before).sum(axis=2) + our_cost[:, :, 0] / 2)


class Ranking(NamedTuple):
    """The classes of every row by falling :math:`p_k / C_k`; among the impossible ones the cheapest first."""

    order: IntArray  # (n, K) class numbers
    costs: FloatArray  # (n, K) in that order
    step: FloatArray  # (n, K - 1) down to the next class: the logarithm of its quotient over the one before
    tied: NDArray[np.bool_]  # (n, K - 1) whether the next one belongs to the same run of ties


def search_order(block: Forecast) -> IntArray:
    """Classes by falling :math:`p_k / C_k`; among the impossible ones the cheapest first; ties by index: (n, K).

    Parameters
    ----------
    block
        As in `log_odds`.

    Returns
    -------
    array
        Class numbers, best first, shape (n, K).
    """
    order, _, _, tied = rank(block)
    out_of_order = tied & (order[:, 1:] < order[:, :-1])  # equal floats are in order already
    rows = np.flatnonzero(out_of_order.any(axis=1))
    begins_run = np.pad(~tied[rows], ((0, 0), (1, 0)))
    run_numbers = np.cumsum(begins_run, axis=1)
    by_run_then_class = np.lexsort((order[rows], run_numbers), axis=1)
    order[rows] = np.take_along_axis(order[rows], by_run_then_class, axis=1)
    return order


def rank(block: Forecast) -> Ranking:
    """Sort by quotient and find the runs of ties.

    A class belongs to a run if it ties with the run's first class. Where neighbours tie only as equal floats, as
    nearly everywhere, comparing them is enough.
    """
    order = by_quotient(block)
    values = np.take_along_axis(block.values, order, axis=1)
    costs = np.take_along_axis(costs_of(block), order, axis=1)
    step = log_ratio(values[:, 1:], values[:, :-1], costs[:, 1:], costs[:, :-1], logits=block.logits)
    tied = np.abs(step) <= tie_widths(values[:, 1:], values[:, :-1], block)
    nearly_equal = tied & (step != 0)
    rows = np.flatnonzero(nearly_equal.any(axis=1))
    if len(rows):
        tied[rows] = _tied_with_first(values[rows], costs[rows], block)
    return Ranking(order, costs, np.minimum(step, 0.0), tied)


def _tied_with_first(values: FloatArray, costs: FloatArray, block: Forecast) -> NDArray[np.bool_]:
    """Whether each class but the first, of rows in search order, ties with the first class of the run before it.

    Parameters
    ----------
    values, costs
        Of the classes in search order, (rows, K) each.
    block
        Whose rows they are.

    Returns
    -------
    array
        Shape (rows, K - 1).
    """
    first = values[:, 0]  # of the run that is under way
    its_cost = costs[:, 0]
    tied = np.empty((len(values), values.shape[1] - 1), dtype=np.bool_)
    for place in range(1, values.shape[1]):
        following = values[:, place]
        cost = costs[:, place]
        odds = log_ratio(following, first, cost, its_cost, logits=block.logits)
        joins = np.abs(odds) <= tie_widths(following, first, block)
        tied[:, place - 1] = joins
        first = np.where(joins, first, following)
        its_cost = np.where(joins, its_cost, cost)
    return tied


def by_quotient(block: Forecast) -> IntArray:
    """Classes by falling :math:`p_k / C_k`, as floats go; among the impossible ones the cheapest first: (n, K)."""
    costs = costs_of(block)
    if block.logits:
        impossible = block.values == -np.inf
        merit = _log_merit(block.values, costs)
    else:
        impossible = block.values == 0
        merit = block.values / (costs / unit_near(costs.max()))
    falling = -merit
    order = np.argsort(falling, axis=1)  # fast, but leaves equals in any order: their rows are sorted again
    along = np.take_along_axis(falling, order, axis=1)
    has_equals = (along[:, 1:] == along[:, :-1]).any(axis=1)
    rows = np.flatnonzero(has_equals)
    cost_if_impossible = np.where(impossible[rows], costs[rows], 0.0)
    order[rows] = np.lexsort((cost_if_impossible, falling[rows]), axis=1)
    return order


def _log_merit(logits: FloatArray, costs: FloatArray) -> FloatArray:
    r"""The :math:`\ln(p_k / C_k)` but for a constant of each row; the logits where a row's costs are equal.

    So no digit is lost where none must be.
    """
    equal_costs = (costs == costs[:, :1]).all(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        merit = logits - logits.max(axis=1, keepdims=True) - np.log(costs)
    return np.where(equal_costs, logits, merit)


def probabilities(block: Forecast) -> FloatArray:
    r"""The :math:`p_k = e^{z_k} / \sum_j e^{z_j}`, needed only for an expectation over the forecast.

    Elsewhere their ratios are enough.
    """
    if not block.logits:
        return block.values
    unnormalised = np.exp(block.values - block.values.max(axis=1, keepdims=True))
    return np.asarray(unnormalised / unnormalised.sum(axis=1, keepdims=True))


def sums_along_search(
    costs: FloatArray, kept: FloatArray, added: FloatArray, kept_after: FloatArray
) -> FloatArray:
    r"""Two sweeps along classes in search order: what each pays if it is the truth, from what its neighbours pay.

    Down the order, :math:`R_{t+1} = \kappa_t R_t + \rho_t (C_1 + \dots + C_t)`; up the order,
    :math:`A_t = \kappa'_t (A_{t+1} + C_{t+1})`. The t-th class pays :math:`C_1 + \dots + C_{t-1} + R_t + A_t`.

    Parameters
    ----------
    costs
        :math:`C_t`, shape (n, K).
    kept, added, kept_after
        :math:`\kappa_t, \rho_t, \kappa'_t` of each step to the next class, shape (n, K - 1).

    Returns
    -------
    array
        Shape (n, K).
    """
    costs = np.ascontiguousarray(costs.T)  # (K, n): each step of all rows lies in one piece
    kept = np.ascontiguousarray(kept.T)
    added = np.ascontiguousarray(added.T)
    kept_after = np.ascontiguousarray(kept_after.T)
    before = np.zeros(costs.shape)
    risen = np.zeros(costs.shape)
    after = np.zeros(costs.shape)
    for place in range(len(kept)):
        before[place + 1] = before[place] + costs[place]
        risen[place + 1] = kept[place] * risen[place] + added[place] * before[place + 1]
    for place in reversed(range(len(kept))):
        after[place] = kept_after[place] * (after[place + 1] + costs[place + 1])
    return np.asarray((before + risen + after).T)


Sweep: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray, FloatArray], FloatArray]  # `sums_along_search`


def wasted_for_every_truth(block: Forecast, prior: Prior, sweep: Sweep = sums_along_search) -> FloatArray:
    r"""What each row wastes if class i is its truth, :math:`\sum_{j \ne i} C_j L(r_{ij})`, in column i.

    O(K log K) per row in the Beta family.

    Parameters
    ----------
    block, prior
        As in `mean_waste`.
    sweep
        `sums_along_search`, or what does the same faster.

    Returns
    -------
    array
        Shape (n, K).
    """
    if isinstance(prior, Beta):
        n_elements = max(SWEPT_AT_ONCE, FEWEST_SWEPT * block.n_classes)
        losses = np.empty(block.values.shape)
        for rows in row_slices(len(block), block.n_classes, n_elements):
            losses[rows] = losses_for_every_truth(block.rows(rows), prior.alpha, sweep)
        return prior.mean * (prior.loss_to_share * losses)
    if isinstance(prior, Exponential):
        return exponential_waste_for_every_truth(block)
    return _waste_truth_by_truth(block, prior)


def _waste_truth_by_truth(block: Forecast, prior: Prior) -> FloatArray:
    r"""The :math:`\sum_{j \ne i} C_j L(r_{ij})` of each row in column i under any prior, O(K^2) per row."""
    columns = [mean_waste(if_true(block, i), prior).sum(axis=1) for i in range(block.n_classes)]
    return np.stack(columns, axis=1)


def exponential_waste_for_every_truth(block: Forecast) -> FloatArray:
    r"""What each row wastes if class i is its truth, under exponential costs: from quotients, not logarithms.

    Column i is :math:`\sum_{j \neq i} C_j \left(\frac{q_j}{q_i + q_j}\right)^2` with :math:`q_k = p_k / C_k`,
    in which nothing cancels. A class of probability zero counts with a q so small that its share beside a possible
    class is zero and that of the possible class one, exactly; among themselves such classes compare by their
    costs. Rows whose quotients or costs lie too far apart for that are done by logarithms.

    Parameters
    ----------
    block
        As in `log_odds`.

    Returns
    -------
    array
        Shape (n, K).
    """
    costs = costs_of(block)
    proba = probabilities(block)
    is_possible = proba > 0
    if block.logits:  # which may underflow
        is_possible = block.values > -np.inf
    with np.errstate(over="ignore", invalid="ignore"):  # where quotients lie too far apart
        merit = np.where(is_possible, proba, 1.0) / (costs / costs.min(axis=1, keepdims=True))
        best = np.where(is_possible, merit, 0.0).max(axis=1, keepdims=True)
        merit = np.where(is_possible, merit / best, VANISHING * merit)
        is_near = np.where(is_possible, merit, 1.0).min(axis=1) >= LEAST_BESIDE_BEST
        is_near &= costs.max(axis=1) <= MOST_OF_CHEAPEST * costs.min(axis=1)
    merit = np.where(is_near[:, None], merit, 1.0)
    wasted = np.empty(block.values.shape)
    for part in row_slices(len(block), block.n_classes**2, SWEPT_AT_ONCE):
        quotient = merit[part]
        shares = quotient[:, None, :] / (quotient[:, :, None] + quotient[:, None, :])  # (rows, i, j)
        shares *= shares
        np.einsum("nii->ni", shares)[:] = 0.0  # of its diagonal, a view
        wasted[part] = np.einsum("nij,nj->ni", shares, costs[part])
    far = np.flatnonzero(~is_near)
    if len(far):
        wasted[far] = _waste_truth_by_truth(block.rows(far), Exponential())
    return wasted


def if_true(block: Forecast, i: int) -> Forecast:
    """These rows, as if class i were the truth of all."""
    return replace(block, truth=np.full(len(block), i, dtype=np.intp))


def losses_for_every_truth(block: Forecast, alpha: float, sweep: Sweep = sums_along_search) -> FloatArray:
    r"""The loss of each row if class i is its truth, :math:`\sum_{j \ne i} C_j L_\alpha(q_i / q_j)`, in column i.

    It takes K log K steps for each row rather than K^2 pairs.

    In search order the losses of one class follow from those of its neighbour: a step down by x multiplies every
    :math:`r^\alpha` by :math:`e^{\alpha x}`. So one sweep down sums :math:`C_j [1 + (1 + 1/\alpha)(1 - r^\alpha)]`
    over classes j tested before each, and one sweep up sums :math:`C_j r^{-(\alpha + 1)}` over those after it; all
    terms are positive, so nothing cancels. With :math:`R = \sum_j C_j \mathrm{rise}(r_{ij})`, a step down turns R
    into :math:`e^{\alpha x} R + \mathrm{rise}(x) \sum_j C_j`.

    Parameters
    ----------
    block, alpha
        As in `pair_losses`.
    sweep
        As in `wasted_for_every_truth`.

    Returns
    -------
    array
        Shape (n, K), classes in the order of the block's columns.
    """
    order, costs, step, tied = rank(block)
    if alpha == np.inf:
        step = np.where(tied, 0.0, step)
    losses = sweep(costs, power(step, alpha), rise(step, alpha), decay(-step, alpha))
    unsorted = np.empty(block.values.shape)
    np.put_along_axis(unsorted, order, losses, axis=1)
    return unsorted
