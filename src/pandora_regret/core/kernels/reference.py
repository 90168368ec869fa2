"""The paper's formulas in plain NumPy, one block of rows at a time: the specification of every faster kernel.

Two classes tie if their quotients ``p / c`` agree to a few units in the last place; `tie_widths` says how many.
To ask for equal floats would be too strict: 0.3 / 3 is not 0.1 / 1. The rule matters only where a loss jumps, that
is for known costs and for samples of costs; a continuous loss is computed from the odds as they are.

Such ties are not transitive: a may tie with b, and b with c, but not a with c. What is summed over pairs (scores,
realised and simulated costs) therefore decides each pair alone. An order (`search_order`, entropies) goes by
falling quotient, and a run of ties reaches as far as classes tie with its first one. The two agree unless
quotients differ by one to two widths, which rounding alone cannot make them do.
"""

from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

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

Ties: TypeAlias = tuple[float, float]  # L_inf of a tie with a class of lower, and of higher number
BROKEN_AT_RANDOM: Ties = (1.0, 1.0)
BROKEN_BY_INDEX: Ties = (2.0, 0.0)  # the lower class number is tested first


def costs_of(block: Forecast) -> FloatArray:
    """The base costs C_k of every row, (n, K)."""
    costs = np.ones(block.n_classes) if block.costs is None else block.costs
    return np.broadcast_to(costs, block.values.shape)


def of_class(table: NDArray[Any], column: IntArray) -> NDArray[Any]:
    """The entry of each row in the given column, as an (n, 1) table."""
    return np.take_along_axis(table, column[:, None], axis=1)


def log_odds(block: Forecast) -> FloatArray:
    """``ln r_ij`` of the truth i of each row against every class j, ``r_ij = (p_i / C_i) / (p_j / C_j)``.

    Parameters
    ----------
    block
        Rows that were read and checked.

    Returns
    -------
    array
        Shape (n, K).
    """
    costs = costs_of(block)
    ours, our_cost = of_class(block.values, block.truth), of_class(costs, block.truth)
    return log_ratio(ours, block.values, our_cost, costs, logits=block.logits)


def tie_widths(ours: FloatArray, theirs: FloatArray, block: Forecast) -> FloatArray | float:
    """How far from 0 ``ln r`` may be in a tie of numbers of a block: one number, or one per pair of logits.

    A few units in the last place of the quotients; more of logits, whose rounding grows with their size.
    """
    tie = relative_tie(block)
    if not block.logits:
        return tie
    sizes = (np.where(np.isfinite(logits), np.abs(logits), 0.0) for logits in (ours, theirs))
    return tie * (1 + sum(sizes))


def relative_tie(block: Forecast) -> float:
    """How far apart quotients may be in a tie, relatively, in the precision in which their forecasts came.

    Half precision is compared as single: its own units are so coarse that forecasts which differ would tie.
    """
    return TIE_IN_SINGLE if (block.read_as or block.values.dtype).itemsize <= 4 else TIE


def rank_odds(block: Forecast) -> FloatArray:
    """``ln r_ij`` as `log_odds`, but exactly 0 where the truth i ties with j."""
    return settle_ties(log_odds(block), tie_widths(of_class(block.values, block.truth), block.values, block))


def log_ratio(
    ours: FloatArray, theirs: FloatArray, our_cost: FloatArray, their_cost: FloatArray, *, logits: bool
) -> FloatArray:
    """``ln((p_a / C_a) / (p_b / C_b))`` from probabilities or from logits.

    Two classes of probability zero count as equally likely, so their costs alone decide. Its sign is that of the
    difference of two floats: whether they tie is for `tie_widths` to say.
    """
    if logits:
        with np.errstate(invalid="ignore", over="ignore"):
            return np.where(ours == theirs, 0.0, ours - theirs) + log_quotient(their_cost, our_cost)
    both_zero = (ours == 0) & (theirs == 0)
    unit = unit_near(max(our_cost.max(), their_cost.max()))
    a = np.where(both_zero, 1.0, ours) / (our_cost / unit)
    b = np.where(both_zero, 1.0, theirs) / (their_cost / unit)
    return log_quotient(a, b)


def unit_near(largest_cost: float) -> float:
    """A power of two in which to count costs: exact, and ``p / C`` does not underflow where costs are large."""
    return float(np.exp2(np.frexp(largest_cost)[1] - 1.0))


def _wasted(block: Forecast, losses: FloatArray) -> FloatArray:
    """``C_j L(r_ij)``: what each row spends on testing the wrong class j before its truth i; zero at j = i."""
    spent = costs_of(block) * losses
    np.put_along_axis(spent, block.truth[:, None], 0.0, axis=1)
    return spent


def mean_waste(block: Forecast, prior: Prior, numbers: IntArray | None = None) -> FloatArray:
    """``C_j E[u_j 1(j before i)]``: the mean spend on each wrong test under a prior.

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
    j = np.arange(block.n_classes) if numbers is None else numbers
    i = j[block.truth][:, None]
    width = tie_widths(of_class(block.values, block.truth), block.values, block)
    shares = prior.share_with_ties(log_odds(block), i, j, width)
    return np.asarray(_wasted(block, shares) * prior.mean_of(j))


def pair_losses(block: Forecast, alpha: float, ties: Ties = BROKEN_AT_RANDOM) -> FloatArray:
    """``C_j L_alpha(q_i / q_j)``, zero at j = i.

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
        Shape (n, K).

    References
    ----------
    Flores et al. (2026), Proposition A.5 [flores26]_.
    """
    if alpha < np.inf:
        return _wasted(block, beta_loss(log_odds(block), alpha))
    odds, worth = rank_odds(block), np.where(np.arange(block.n_classes) < block.truth[:, None], *ties)
    return _wasted(block, np.where(odds == 0, worth, 2.0 * (odds < 0)))


def total_losses(block: Forecast, alpha: float, ties: Ties = BROKEN_AT_RANDOM) -> FloatArray:
    """``sum_j C_j L_alpha(q_i / q_j)``.

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
    """``C_i`` of each row's truth."""
    return at_truth(block, costs_of(block))


def unavoidable_costs(block: Forecast, prior: Prior, numbers: IntArray | None = None) -> FloatArray:
    """``C_i E[u_i]``: what testing the truth itself costs.

    Parameters
    ----------
    block, prior, numbers
        As in `mean_waste`.

    Returns
    -------
    array
        Shape (n,).
    """
    return np.asarray(own_costs(block) * prior.mean_of(block.truth if numbers is None else numbers[block.truth]))


def at_mean_costs(forecast: Forecast, prior: Prior) -> tuple[Forecast, float]:
    """The forecast at mean costs, and their unit: one mean for all classes changes no order, several do."""
    mean = prior.mean
    if not isinstance(mean, np.ndarray):
        return forecast, float(mean)
    return forecast.with_costs(mean if forecast.costs is None else forecast.costs * mean), 1.0


def sums_by_truth(block: Forecast, table: FloatArray) -> tuple[IntArray, FloatArray]:
    """The classes that occur as truth, and for each the weighted sum of its rows of an (n, K) table."""
    weighted = table if block.weights is None else table * block.weights[:, None]
    order = np.argsort(block.truth, kind="stable")
    classes, starts = np.unique(block.truth[order], return_index=True)
    return classes, np.add.reduceat(weighted[order], starts, axis=0)


def realised_costs(block: Forecast, ties: Ties) -> FloatArray:
    """``c_i`` plus ``c_j`` of every class j with ``p_j / c_j > p_i / c_i``; of a tied j, half its tie's worth.

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
    """The cost of every row's search under every drawn cost vector, found by comparison with the truth.

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
    our_cost, ours = np.take_along_axis(costs, truth, axis=2), of_class(block.values, block.truth)
    width = tie_widths(ours, block.values, block)
    if block.logits:
        lead = -log_ratio(ours, block.values, our_cost, costs, logits=True)
    else:  # p / c, and below all that impossible classes, the cheapest first
        merit = np.where(block.values > 0, block.values / costs, -costs)
        ours = np.take_along_axis(merit, truth, axis=2)
        lead, width = merit - ours, width * np.abs(ours)
    before = (lead > width) + 0.5 * (np.abs(lead) <= width)  # the truth ties with itself: half of its cost
    return np.asarray((costs * before).sum(axis=2) + our_cost[:, :, 0] / 2)


class Ranking(NamedTuple):
    """The classes of every row by falling ``p_k / C_k``; among the impossible ones the cheapest first."""

    order: IntArray  # (n, K) class numbers
    costs: FloatArray  # (n, K) in that order
    step: FloatArray  # (n, K - 1) down to the next class: ``ln`` of its quotient over that of the class before it
    tied: NDArray[np.bool_]  # (n, K - 1) whether the next one belongs to the same run of ties


def search_order(block: Forecast) -> IntArray:
    """Classes by falling ``p_k / C_k``; among the impossible ones the cheapest first; ties by index: (n, K).

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
    rows = np.flatnonzero((tied & (order[:, 1:] < order[:, :-1])).any(axis=1))  # equal floats are in order already
    runs = np.cumsum(np.pad(~tied[rows], ((0, 0), (1, 0))), axis=1)
    order[rows] = np.take_along_axis(order[rows], np.lexsort((order[rows], runs), axis=1), axis=1)
    return order


def rank(block: Forecast) -> Ranking:
    """Sort by quotient and find the runs of ties.

    A class belongs to a run if it ties with the run's first class. Where neighbours tie only as equal floats, as
    nearly everywhere, comparing them is enough.
    """
    order = by_quotient(block)
    values, costs = (np.take_along_axis(table, order, axis=1) for table in (block.values, costs_of(block)))
    step = log_ratio(values[:, 1:], values[:, :-1], costs[:, 1:], costs[:, :-1], logits=block.logits)
    tied = np.abs(step) <= tie_widths(values[:, 1:], values[:, :-1], block)
    rows = np.flatnonzero((tied & (step != 0)).any(axis=1))
    first, its_cost = values[rows, 0], costs[rows, 0]  # of the run that is under way
    for b in range(len(rows) and tied.shape[1]):
        this, cost = values[rows, b + 1], costs[rows, b + 1]
        odds = log_ratio(this, first, cost, its_cost, logits=block.logits)
        joins = tied[rows, b] = np.abs(odds) <= tie_widths(this, first, block)
        first, its_cost = np.where(joins, first, this), np.where(joins, its_cost, cost)
    return Ranking(order, costs, np.minimum(step, 0.0), tied)


def by_quotient(block: Forecast) -> IntArray:
    """Classes by falling ``p_k / C_k``, as floats go; among the impossible ones the cheapest first: (n, K)."""
    costs = costs_of(block)
    impossible = block.values == (-np.inf if block.logits else 0.0)
    if block.logits:  # under equal costs the logits themselves, so that no digit is lost
        equal_costs = (costs == costs[:, :1]).all(axis=1, keepdims=True)
        with np.errstate(over="ignore"):
            merit = block.values - block.values.max(axis=1, keepdims=True) - np.log(costs)
        merit = np.where(equal_costs, block.values, merit)
    else:
        merit = block.values / (costs / unit_near(costs.max()))
    falling = -merit
    order = np.argsort(falling, axis=1)  # fast, but leaves equals in any order: their rows are sorted again
    along = np.take_along_axis(falling, order, axis=1)
    rows = np.flatnonzero((along[:, 1:] == along[:, :-1]).any(axis=1))
    order[rows] = np.lexsort((np.where(impossible[rows], costs[rows], 0.0), falling[rows]), axis=1)
    return order


def probabilities(block: Forecast) -> FloatArray:
    """The p_k themselves, needed only for an expectation over the forecast; elsewhere ratios are enough."""
    if not block.logits:
        return block.values
    unnormalised = np.exp(block.values - block.values.max(axis=1, keepdims=True))
    return np.asarray(unnormalised / unnormalised.sum(axis=1, keepdims=True))


def wasted_for_every_truth(block: Forecast, prior: Prior) -> FloatArray:
    """``sum_j C_j L(r_ij)`` in column i, as if i were the truth: O(K log K) per row in the Beta family.

    Parameters
    ----------
    block, prior
        As in `mean_waste`.

    Returns
    -------
    array
        Shape (n, K).
    """
    if isinstance(prior, Beta):
        elements = max(SWEPT_AT_ONCE, FEWEST_SWEPT * block.n_classes)
        parts = map(block.rows, row_slices(len(block), block.n_classes, elements))
        losses = np.concatenate([losses_for_every_truth(part, prior.alpha) for part in parts])
        return prior.mean * (prior.loss_to_share * losses)
    if isinstance(prior, Exponential):
        return exponential_waste_for_every_truth(block)
    return _waste_truth_by_truth(block, prior)


def _waste_truth_by_truth(block: Forecast, prior: Prior) -> FloatArray:
    """`wasted_for_every_truth` under any prior, O(K^2) per row."""
    each = (mean_waste(if_true(block, i), prior).sum(axis=1) for i in range(block.n_classes))
    return np.stack(list(each), axis=1)


def exponential_waste_for_every_truth(block: Forecast) -> FloatArray:
    r"""``wasted_for_every_truth`` under exponential costs, from quotients rather than their logarithms.

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
    """The same rows, as if class i were the truth of all."""
    return replace(block, truth=np.full(len(block), i, dtype=np.intp))


def losses_for_every_truth(block: Forecast, alpha: float) -> FloatArray:
    """``sum_j C_j L_alpha(q_i / q_j)`` in column i, (n, K), without K^2 pairs.

    In search order the losses of one class follow from those of its neighbour: a step down by x multiplies every
    ``r^alpha`` by ``e^(alpha x)``. So one sweep down sums ``C_j [1 + (1 + 1/alpha)(1 - r^alpha)]`` over classes j
    tested before each, and one sweep up sums ``C_j r^-(alpha + 1)`` over those after it; all terms are positive,
    so nothing cancels. With ``R = sum_j C_j rise(r_ij)``, a step down turns it into
    ``e^(alpha x) R + rise(x) sum_j C_j``.
    """
    order, costs, step, tied = rank(block)
    step, costs = (np.where(tied, 0.0, step) if alpha == np.inf else step).T, costs.T
    kept, added, kept_after = power(step, alpha), rise(step, alpha), decay(-step, alpha)
    before, risen, after = np.zeros((3, *costs.shape))
    for b in range(len(step)):
        before[b + 1] = before[b] + costs[b]
        risen[b + 1] = kept[b] * risen[b] + added[b] * before[b + 1]
    for b in reversed(range(len(step))):
        after[b] = kept_after[b] * (after[b + 1] + costs[b + 1])
    unsorted = np.empty(block.values.shape)
    np.put_along_axis(unsorted, order, (before + risen + after).T, axis=1)
    return unsorted
