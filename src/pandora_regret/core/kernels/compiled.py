"""The hot loops, compiled by numba over plain arrays: what `reference` says, row after row.

A loop scores the rows that are beyond doubt: valid, and with a truth that is not (nearly) impossible. It leaves
NaN for every other row. These go to the reference, which explains what is wrong with them or scores them. So there
are no error messages here, and no special cases.

What must be fast is written so that LLVM turns the innermost loop into vector code: without branches, and with an
exponential and a logarithm that are plain arithmetic (`exp_parts`, `log_normal`; those of the C library would be
called once for each number). Choices that are the same for a whole row are made outside of that loop.

`values` are (n, K), `truth` and `weights` (n,); weights are None where all are 1. `costs` are one row for all,
(1, K), or one row each, (n, K); None where all are 1. All loops release the interpreter's lock:
`engine.in_threads` hands them slices of the rows.
"""

from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from pandora_regret.core.inputs import FloatArray
from pandora_regret.core.kernels.numba_cache import AS_WRITTEN, FAST, INLINE, INLINE_STEP, STEP, njit
from pandora_regret.core.kernels.reference import SMALLEST_COST

LEAST_TRUTH = 1e-150  # below this p / C, ratios to other classes may leave the normal floats
LEAST_RATIO = 1e-300  # a rival this far behind costs nothing
SMALLEST_EXPONENT = -708.0  # exp of less is below the normal floats, and taken as 0
LOG2_E = 1.4426950408889634
LN2_HIGH = 6.93147180369123816490e-01  # ln 2 in two parts: the first, times any exponent, is exact
LN2_LOW = 1.90821492927058770002e-10
SQRT_2 = 1.4142135623730951
ROUNDER = 1.5 * 2.0**52  # adding it leaves no bits for a fraction
ROWS_TOGETHER = 512  # rows whose sums stay in the fastest cache while the columns pass by

N_METRICS = 7
TOTAL, CENTRE, DRIFT, SPREAD = range(4)  # rows of `sums`: of w x, a centre c, and w^2 (x - c), w^2 (x - c)^2
N_SUMS = 4


# ---- exp and log, without reassociation, which would undo the two parts of ln 2 ----


@njit(**INLINE)
def exp_parts(x):
    """For x <= 0, a power of two s and a small m: ``exp(x) = s + s m``, ``expm1(x) = s m + (s - 1)``.

    With ``x = k ln 2 + f`` and ``|f| <= ln(2) / 2``, s is 2^k and m a polynomial in f (Cody and Waite). The
    relative error is below 1e-15.
    """
    x = max(x, SMALLEST_EXPONENT)
    shifted = x * LOG2_E + ROUNDER
    k = shifted - ROUNDER  # x / ln 2, rounded; its low bits are those of `shifted`
    f = (x - k * LN2_HIGH) - k * LN2_LOW
    m = 2.5100472505694996e-08  # Chebyshev's fit of (e^f - 1 - f) / f^2, to 2e-17
    m = m * f + 2.7620201591031547e-07
    m = m * f + 2.7557268276905696e-06
    m = m * f + 2.4801521057868204e-05
    m = m * f + 1.9841269863171557e-04
    m = m * f + 1.3888888917367081e-03
    m = m * f + 8.3333333333300390e-03
    m = m * f + 4.1666666666623824e-02
    m = m * f + 1.6666666666666669e-01
    m = m * f + 5.0000000000000010e-01
    m = m * f * f + f
    bits = (np.float64(shifted).view(np.int64) << 52) + (1023 << 52)  # of the float 2^k
    return np.int64(bits).view(np.float64), m


@njit(**INLINE)
def log_normal(x):
    """``ln x`` of a positive normal float ``m 2^e``, to 1e-15: a series for ``2 artanh((m - 1) / (m + 1))``."""
    bits = np.float64(x).view(np.int64)
    exponent = (bits >> 52) - 1023
    m = np.int64((bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000).view(np.float64)
    is_high = m > SQRT_2
    m = 0.5 * m if is_high else m
    e = types.float64(exponent + 1 if is_high else exponent)
    f = (m - 1) / (m + 1)
    s = f * f
    series = 1 / 21
    series = series * s + 1 / 19
    series = series * s + 1 / 17
    series = series * s + 1 / 15
    series = series * s + 1 / 13
    series = series * s + 1 / 11
    series = series * s + 1 / 9
    series = series * s + 1 / 7
    series = series * s + 1 / 5
    series = series * s + 1 / 3
    return e * LN2_HIGH + (2 * f + (2 * f * s * series + e * LN2_LOW))


# ---- L_alpha of one pair ----


@njit(**INLINE)
def uniform_loss(q_i, q_j):
    """L_1(r), ``r = q_i / q_j``: ``r^-2`` where the truth i leads, else ``3 - 2 r``."""
    leads = q_j < q_i
    ratio = min(q_i, q_j) / max(q_i, q_j)
    return ratio * ratio if leads else 3 - 2 * ratio


@njit(**INLINE)
def rank_loss(lead, width, worth):
    """L_inf: 2 where the rival leads, 0 where the truth does, and what a tie is worth (1 if broken at random).

    `lead` is the rival's, and the two tie if they are at most `width` apart; see `reference.tie_widths`.
    """
    return 2 * types.float64(lead > width) + worth * types.float64(abs(lead) <= width)


@njit(**INLINE)
def power_loss(leads, gap, alpha):
    """L_alpha, from ``gap = -|ln r|`` and whether the truth leads.

    If it does that is ``r^-(alpha + 1)``, else ``1 + (1 + 1/alpha)(1 - r^alpha)``, which becomes ``1 - ln r`` as
    alpha tends to 0.
    """
    exponent = (alpha + 1 if leads else alpha) * gap
    s, m = exp_parts(exponent)
    power = s + s * m if exponent > SMALLEST_EXPONENT else 0.0
    fall = (1 - s) - s * m  # -expm1(exponent)
    rise = -gap if alpha == 0 else (1 + 1 / alpha) * fall
    return power if leads else 1 + rise


@njit(**INLINE)
def quotient_loss(q_i, q_j, alpha):
    """L_alpha(r), ``r = q_i / q_j``, for finite alpha."""
    ratio = min(q_i, q_j) / max(q_i, q_j)
    loss = power_loss(q_j < q_i, log_normal(ratio), alpha)
    return loss if ratio > LEAST_RATIO else 0.0


@njit(**INLINE)
def cost_of(costs, row, j):
    """C_j of a row."""
    if costs is None:
        return 1.0
    return costs[row if len(costs) > 1 else 0, j]


# ---- rows of probabilities ----


@njit(**FAST)
def score_rows(values, truth, weights, costs, alpha, tie, ties, tolerance, losses, pairs):
    """``sum_j C_j L_alpha(q_i / q_j)`` of each row of probabilities into `losses`, (n,); NaN where in doubt.

    `tie` is how far apart, relatively, quotients may be in a tie at alpha = inf, and `ties` what one is worth with
    a class of lower, and of higher number. Each row's weighted terms are added to `pairs`, (K, K), unless that is
    None.
    """
    spent = None if pairs is None else np.empty(values.shape[1])
    for row in range(len(values)):
        i = truth[row]
        p_i = types.float64(values[row, i])
        q_i = p_i / cost_of(costs, row, i)
        if not (p_i > LEAST_TRUTH and q_i > LEAST_TRUTH):
            losses[row] = np.nan
            continue
        if alpha == 1:
            loss, mass, n_wrong = _uniform_row(values, row, i, q_i, costs, spent)
        elif alpha == np.inf:
            loss, mass, n_wrong = _ranked_row(values, row, i, q_i, costs, tie, ties, spent)
        else:
            loss, mass, n_wrong = _power_row(values, row, i, q_i, costs, alpha, spent)
        is_forecast = abs(mass - 1) <= tolerance and n_wrong == 0
        losses[row] = loss if is_forecast else np.nan
        if is_forecast and pairs is not None:
            _add_pairs(pairs, i, spent, weights, row)


# The next three pass over a row once: of few classes, most of the time goes into beginning and ending a loop.


@njit(**INLINE_STEP)
def _uniform_row(values, row, i, q_i, costs, spent):
    """``sum_j C_j L_1(q_i / q_j)``, and its terms; what the row sums to; how many are negative or NaN."""
    loss = 0.0
    mass = 0.0
    n_wrong = 0
    for j in range(values.shape[1]):
        p_j = types.float64(values[row, j])
        mass += p_j
        n_wrong += not p_j >= 0
        cost = cost_of(costs, row, j)
        term = cost * uniform_loss(q_i, p_j / cost) if j != i else 0.0
        loss += term
        if spent is not None:
            spent[j] = term
    return loss, mass, n_wrong


@njit(**INLINE_STEP)
def _ranked_row(values, row, i, q_i, costs, tie, ties, spent):
    """``sum_j C_j L_inf(q_i / q_j)``, and its terms; what the row sums to; how many are negative or NaN."""
    lower, higher = ties
    loss = 0.0
    mass = 0.0
    n_wrong = 0
    for j in range(values.shape[1]):
        p_j = types.float64(values[row, j])
        mass += p_j
        n_wrong += not p_j >= 0
        cost = cost_of(costs, row, j)
        worth = lower if j < i else higher
        term = cost * rank_loss(p_j / cost - q_i, tie * q_i, worth) if j != i else 0.0
        loss += term
        if spent is not None:
            spent[j] = term
    return loss, mass, n_wrong


@njit(**INLINE_STEP)
def _power_row(values, row, i, q_i, costs, alpha, spent):
    """``sum_j C_j L_alpha(q_i / q_j)``, and its terms; what the row sums to; how many are negative or NaN."""
    loss = 0.0
    mass = 0.0
    n_wrong = 0
    for j in range(values.shape[1]):
        p_j = types.float64(values[row, j])
        mass += p_j
        n_wrong += not p_j >= 0
        cost = cost_of(costs, row, j)
        term = cost * quotient_loss(q_i, p_j / cost, alpha) if j != i else 0.0
        loss += term
        if spent is not None:
            spent[j] = term
    return loss, mass, n_wrong


@njit(**INLINE_STEP)
def _add_pairs(pairs, i, spent, weights, row):
    """Add a row's terms to those of its class."""
    weight = 1.0 if weights is None else weights[row]
    for j in range(len(spent)):
        pairs[i, j] += weight * spent[j]


# ---- rows of logits ----


@njit(**FAST)
def score_logits(values, truth, weights, costs, log_costs, alpha, tie, ties, losses, pairs):
    """As `score_rows`, for logits z: ``ln r = (z_i - ln C_i) - (z_j - ln C_j)``.

    At alpha = inf there are no costs: the rounding of their logarithms would decide ties.
    """
    spent = None if pairs is None else np.empty(values.shape[1])
    for row in range(len(values)):
        i = truth[row]
        z_i = types.float64(values[row, i])
        total = 0.0
        for j in range(values.shape[1]):
            total += types.float64(values[row, j])
        if not (total < np.inf and abs(z_i) < np.inf):  # a logit is NaN or inf, or the truth is impossible
            losses[row] = np.nan
            continue
        if alpha == np.inf:
            losses[row] = _ranked_logits(values, row, i, z_i, tie, ties, spent)
        else:
            losses[row] = _power_logits(values, row, i, z_i, costs, log_costs, alpha, spent)
        if pairs is not None:
            _add_pairs(pairs, i, spent, weights, row)


@njit(**INLINE_STEP)
def _ranked_logits(values, row, i, z_i, tie, ties, spent):
    """``sum_j L_inf(r_ij)``, and its terms."""
    lower, higher = ties
    total = 0.0
    for j in range(values.shape[1]):
        z_j = types.float64(values[row, j])
        width = tie * (1 + abs(z_i) + _finite_size(z_j))
        worth = lower if j < i else higher
        term = rank_loss(z_j - z_i, width, worth) if j != i else 0.0
        total += term
        if spent is not None:
            spent[j] = term
    return total


@njit(**INLINE_STEP)
def _power_logits(values, row, i, z_i, costs, log_costs, alpha, spent):
    """``sum_j C_j L_alpha(r_ij)`` for finite alpha, and its terms."""
    log_own = 0.0 if log_costs is None else cost_of(log_costs, row, i)
    total = 0.0
    for j in range(values.shape[1]):
        log_odds = z_i - types.float64(values[row, j])
        if log_costs is not None:
            log_odds += cost_of(log_costs, row, j) - log_own
        loss = power_loss(log_odds > 0, -abs(log_odds), alpha)
        term = cost_of(costs, row, j) * loss if j != i else 0.0
        total += term
        if spent is not None:
            spent[j] = term
    return total


@njit(**INLINE)
def _finite_size(logit):
    """What a logit adds to the width of a tie: an impossible class's, nothing."""
    return abs(logit) if logit > -np.inf else 0.0


# ---- many metrics at once, of columns as they lie in a file ----


class Truths(NamedTuple):
    """What is known of the true class i of some rows, (ROWS_TOGETHER,) each."""

    cost: FloatArray  # C_i
    p: FloatArray  # p_i
    per_p: FloatArray  # 1 / p_i
    per_q: FloatArray  # C_i / p_i


class RowSums(NamedTuple):
    """What is summed over the classes of some rows, (ROWS_TOGETHER,) each."""

    probability: FloatArray
    least: FloatArray  # the least probability, or 0
    squares: FloatArray  # of the probabilities of wrong classes
    largest: FloatArray  # the largest probability so far,
    likeliest: NDArray[np.int64]  # and its class
    plain_loss: FloatArray  # L_1 where every test costs 1
    loss: FloatArray  # C_j L_alpha
    tested: FloatArray  # wrong classes that are tested before the truth,
    spent: FloatArray  # and their costs
    weight: FloatArray  # of the row, 0 if in doubt


@njit(**FAST)
def score_columns(
    columns, truth, weights, costs, alpha, tie, tolerance, prior, predicted, weight_sums, sums, counts, table
):
    """Seven metrics of each row of columns, (K, n), of probabilities, summed.

    The columns pass by some rows at a time: each step is a loop over these rows, which becomes vector code however
    few the classes are.

    Parameters
    ----------
    columns, truth, weights
        (K, n), (n,) and (n,) or None.
    costs
        C, (K,), or None where all are 1.
    alpha, tie, tolerance
        As in `score_rows`.
    prior
        Its mean and its share of a loss: the expected cost is ``mean (C_i + share sum_j C_j L_alpha)``.
    predicted
        (n,) out: the likeliest class, of equals the one of lowest number; -1 where in doubt.
    weight_sums
        (3,) added to: how many rows of positive weight are not in doubt, their weight, and its squares.
    sums
        (N_SUMS, N_METRICS) added to: of the metrics of these rows.
    counts
        (2, K, K) added to: w and w^2 of rows of class i whose likeliest class is j; or None.
    table
        (N_METRICS, n) out: the metrics themselves, 0 where in doubt; or None.
    """
    size = ROWS_TOGETHER
    truths = Truths(np.empty(size), np.empty(size), np.empty(size), np.empty(size))
    rows = RowSums(
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size, np.int64),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
    )
    by_metric = (
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
    )
    for first in range(0, len(truth), size):
        stop = min(first + size, len(truth))
        truth_here = truth[first:stop]
        predicted_here = predicted[first:stop]
        _look_up_truths(columns, first, truth_here, costs, truths)
        _add_up_classes(columns, first, truth_here, costs, alpha, tie, truths, rows)
        _settle(tolerance, truths, rows, predicted_here)
        if weights is not None:
            for r in range(stop - first):
                rows.weight[r] *= weights[first + r]
        _finish(truth_here, predicted_here, prior, truths, rows, by_metric)
        is_first = weight_sums[1] == 0
        _add_weights(rows.weight, stop - first, weight_sums)
        for m in range(N_METRICS):
            _add_moments(by_metric[m], rows.weight, stop - first, is_first, sums[:, m])
        if table is not None:
            for m in range(N_METRICS):
                for r in range(stop - first):
                    table[m, first + r] = by_metric[m][r]
        if counts is not None:
            _count_predictions(truth_here, predicted_here, rows.weight, counts)


@njit(**STEP)
def _look_up_truths(columns, first, truth, costs, truths):
    """The true class's cost, probability and quotient of each row."""
    for r in range(len(truth)):
        i = truth[r]
        truths.cost[r] = 1.0 if costs is None else costs[i]
        truths.p[r] = columns[i, first + r]
        truths.per_p[r] = 1 / truths.p[r]
        truths.per_q[r] = truths.cost[r] / truths.p[r]


@njit(**STEP)
def _add_up_classes(columns, first, truth, costs, alpha, tie, truths, rows):
    """Sum over the classes of each row, one column after the other."""
    rows.probability.fill(0.0)
    rows.least.fill(0.0)
    rows.squares.fill(0.0)
    rows.largest.fill(-1.0)
    rows.likeliest.fill(0)
    rows.plain_loss.fill(0.0)
    rows.loss.fill(0.0)
    rows.tested.fill(0.0)
    rows.spent.fill(0.0)
    is_plain = alpha == 1 and costs is None  # then one loss is the other
    for j in range(len(columns)):
        column = columns[j, first : first + len(truth)]
        cost = 1.0 if costs is None else costs[j]
        _add_probabilities(column, j, truth, rows.probability, rows.least, rows.squares)
        _find_likeliest(column, j, rows.largest, rows.likeliest)
        _add_tests_before(column, j, truth, cost, truths.per_q, tie, rows.tested, rows.spent)
        _add_uniform_losses(column, j, truth, 1.0, truths.per_p, rows.plain_loss)
        if not is_plain:
            _add_losses(column, j, truth, cost, truths.per_q, alpha, tie, rows.loss)
    if is_plain:
        for r in range(len(truth)):
            rows.loss[r] = rows.plain_loss[r]


@njit(**STEP)
def _add_losses(column, j, truth, cost, per_q_i, alpha, tie, loss):
    """``C_j L_alpha(q_i / q_j)`` of each row."""
    if alpha == 1:
        _add_uniform_losses(column, j, truth, cost, per_q_i, loss)
    elif alpha == np.inf:
        _add_ranked_losses(column, j, truth, cost, per_q_i, tie, loss)
    else:
        _add_power_losses(column, j, truth, cost, per_q_i, alpha, loss)


@njit(**STEP)
def _add_probabilities(column, j, truth, total, least, squares):
    """Sum and least of each row's probabilities, and the sum of the squares of those of wrong classes."""
    for r in range(len(truth)):
        p = types.float64(column[r])
        wrong = p if j != truth[r] else 0.0
        total[r] += p
        least[r] = min(least[r], p)
        squares[r] += wrong * wrong


@njit(**STEP)
def _find_likeliest(column, j, largest, likeliest):
    """The largest probability so far, and its class."""
    for r in range(len(column)):
        p = types.float64(column[r])
        likeliest[r] = j if p > largest[r] else likeliest[r]
        largest[r] = max(largest[r], p)


@njit(**STEP)
def _add_uniform_losses(column, j, truth, cost, per_q_i, loss):
    """``C_j L_1(q_i / q_j)``, from ``o = q_j / q_i``: ``o^2`` where the truth leads, else ``3 - 2 / o``."""
    for r in range(len(truth)):
        odds = types.float64(column[r]) / cost * per_q_i[r]
        behind = min(odds, 1.0)
        ahead = max(odds, 1.0)
        term = behind * behind + 2 * (ahead - 1) / ahead
        loss[r] += cost * term if j != truth[r] else 0.0


@njit(**STEP)
def _add_ranked_losses(column, j, truth, cost, per_q_i, tie, loss):
    """``C_j L_inf(q_i / q_j)``, ties broken at random."""
    for r in range(len(truth)):
        odds = types.float64(column[r]) / cost * per_q_i[r]
        loss[r] += cost * rank_loss(odds - 1, tie, 1.0) if j != truth[r] else 0.0


@njit(**STEP)
def _add_power_losses(column, j, truth, cost, per_q_i, alpha, loss):
    """``C_j L_alpha(q_i / q_j)`` for finite alpha."""
    for r in range(len(truth)):
        odds = types.float64(column[r]) / cost * per_q_i[r]
        loss[r] += cost * quotient_loss(1.0, odds, alpha) if j != truth[r] else 0.0


@njit(**STEP)
def _add_tests_before(column, j, truth, cost, per_q_i, tie, tested, spent):
    """The chance that class j is tested before the truth, one half in a tie, and what that costs."""
    for r in range(len(truth)):
        odds = types.float64(column[r]) / cost * per_q_i[r]
        is_before = 1.0 if odds > 1 + tie else 0.0
        is_not_behind = 1.0 if odds > 1 - tie else 0.0
        chance = (is_before + is_not_behind) / 2 if j != truth[r] else 0.0
        tested[r] += chance
        spent[r] += cost * chance


@njit(**STEP)
def _settle(tolerance, truths, rows, predicted):
    """The likeliest class of each row that is beyond doubt, and weight 1; -1 and 0 of others."""
    for r in range(len(predicted)):
        is_forecast = (abs(rows.probability[r] - 1) <= tolerance) & (rows.least[r] >= 0)
        is_sure = is_forecast & (truths.p[r] > LEAST_TRUTH) & (truths.per_q[r] < 1 / LEAST_TRUTH)
        predicted[r] = rows.likeliest[r] if is_sure else -1
        rows.weight[r] = 1.0 if is_sure else 0.0


@njit(**STEP)
def _finish(truth, predicted, prior, truths, rows, metrics):
    """The metrics of each row, 0 where in doubt; a loop for each, so that none looks at too many arrays."""
    mean, share = prior
    loss, expected, realised, tests, log_loss, brier, right = metrics
    for r in range(len(truth)):
        loss[r] = rows.plain_loss[r] if predicted[r] >= 0 else 0.0
    for r in range(len(truth)):
        cost = mean * (truths.cost[r] + share * rows.loss[r])
        expected[r] = cost if predicted[r] >= 0 else 0.0
    for r in range(len(truth)):
        cost = mean * (truths.cost[r] + rows.spent[r])
        realised[r] = cost if predicted[r] >= 0 else 0.0
    for r in range(len(truth)):
        tests[r] = 1 + rows.tested[r] if predicted[r] >= 0 else 0.0
    for r in range(len(truth)):
        surprise = max(-log_normal(truths.p[r]), 0.0)
        log_loss[r] = surprise if predicted[r] >= 0 else 0.0
    for r in range(len(truth)):
        wrong = 1 - truths.p[r]
        brier[r] = rows.squares[r] + wrong * wrong if predicted[r] >= 0 else 0.0
    for r in range(len(truth)):
        right[r] = types.float64(predicted[r] == truth[r])


@njit(**STEP)
def _count_predictions(truth, predicted, weight, counts):
    """Who is taken for whom, by weight and by its square."""
    for r in range(len(truth)):
        i = truth[r]
        j = max(predicted[r], 0)
        counts[0, i, j] += weight[r]
        counts[1, i, j] += weight[r] * weight[r]


@njit(**STEP)
def _add_weights(weight, n_rows, weight_sums):
    """How many rows have weight, that, and its squares."""
    n_counted = 0.0
    total = 0.0
    squares = 0.0
    for r in range(n_rows):
        n_counted += 1.0 if weight[r] > 0 else 0.0
        total += weight[r]
        squares += weight[r] * weight[r]
    weight_sums[0] += n_counted
    weight_sums[1] += total
    weight_sums[2] += squares


@njit(**STEP)
def _add_moments(metric, weight, n_rows, is_first, sums):
    """Add some rows of a metric. Squares are summed about the first rows' mean: about 0 they would cancel."""
    total = 0.0
    total_weight = 0.0
    for r in range(n_rows):
        total += weight[r] * metric[r]
        total_weight += weight[r]
    if is_first:
        sums[CENTRE] = total / total_weight if total_weight > 0 else 0.0
    centre = sums[CENTRE]
    drift = 0.0
    spread = 0.0
    for r in range(n_rows):
        pull = weight[r] * (metric[r] - centre)
        drift += weight[r] * pull
        spread += pull * pull
    sums[TOTAL] += total
    sums[DRIFT] += drift
    sums[SPREAD] += spread


# ---- sums along the search ----


@njit(**AS_WRITTEN)
def sums_along_search(costs, kept, added, kept_after):
    """As `reference.sums_along_search`, to the last bit."""
    losses = np.zeros(costs.shape)
    for row in range(len(costs)):
        before = 0.0
        risen = 0.0
        for place in range(kept.shape[1]):
            before += costs[row, place]
            risen = kept[row, place] * risen + added[row, place] * before
            losses[row, place + 1] = before + risen
        after = 0.0
        for place in range(kept.shape[1] - 1, -1, -1):
            after = kept_after[row, place] * (after + costs[row, place + 1])
            losses[row, place] += after
    return losses


# ---- simulated searches ----


@njit(**FAST)
def simulate(values, logits, truth, weights, costs, tie, unit_costs, totals):
    """Add to `totals` the weighted cost of all rows' searches under each drawn cost vector, (K, D).

    Nothing is sorted: the cost of a search is that of all classes which beat the truth, found by comparison; a tie
    pays half. The innermost loop runs over draws and becomes vector code however few the classes are.
    """
    merit = np.empty(len(totals))
    for row in range(len(values)):
        i = truth[row]
        p_i = types.float64(values[row, i])
        half_weight = 0.5 if weights is None else 0.5 * weights[row]
        own = cost_of(costs, row, i)
        _begin_searches(1.0 if logits else p_i, own, unit_costs[i], half_weight, merit, totals)
        for j in range(values.shape[1]):
            p_j = types.float64(values[row, j])
            width = tie
            if logits:  # p_j / p_i; two impossible classes tie
                width = tie * (1 + _finite_size(p_i) + _finite_size(p_j))
                p_j = 1.0 if p_j == p_i else np.exp(p_j - p_i)
            _add_searches(p_j, cost_of(costs, row, j), unit_costs[j], width, half_weight, merit, totals)


@njit(**STEP)
def _begin_searches(p_i, base_cost, unit_costs, half_weight, merit, totals):
    """The truth's merit, and half of its cost: it ties with itself, which pays the other half."""
    for d in range(len(totals)):
        cost = max(base_cost * unit_costs[d], SMALLEST_COST)
        merit[d] = _merit(p_i, cost)
        totals[d] += half_weight * cost


@njit(**STEP)
def _add_searches(p_j, base_cost, unit_costs, width, half_weight, merit, totals):
    """Add the cost of a class wherever it is tested before the truth."""
    for d in range(len(totals)):
        cost = max(base_cost * unit_costs[d], SMALLEST_COST)
        lead = _merit(p_j, cost) - merit[d]
        totals[d] += half_weight * cost * rank_loss(lead, width * abs(merit[d]), 1.0)


@njit(**INLINE)
def _merit(p, cost):
    """What the search sorts by: ``p / c``; below all that, impossible classes, cheapest first."""
    return p / cost if p > 0 else -cost
