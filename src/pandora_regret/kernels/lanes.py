"""The loops of `cpu` over rows that lie side by side: arrays of few classes, and columns as they lie in a file.

A loop over three or seven classes is too short to become vector code. So rows come in lanes, classes by rows:
turned into a buffer that stays in the fastest cache, or as a file has them; every class passes by all rows of a
lane at once. What is scored, what is left to the reference, and all formulas of pairs are those of `cpu`.

Each step is a function of its own that reads and writes few arrays: with more, LLVM would have to ask of too many
pairs of arrays whether they overlap, and would not make vector code.
"""

import numpy as np
from numba import carray, types
from numba.extending import intrinsic

from pandora_regret.kernels.cpu import (
    LEAST_TRUTH,
    UNIFORM,
    kind_of,
    loss_of_uniform_odds,
    priced_pair,
)
from pandora_regret.kernels.jit import EXACT, FAST, log_normal, njit
from pandora_regret.priors.base import TIE, TIE_IN_SINGLE

MOST_CLASSES = 10  # with more, a loop over classes is as fast
MOST_LANES, BUFFERED = 256, 768  # rows of a lane, and numbers, about, that stay in the fastest cache
SPACING = 16  # between columns, which would share few places in the cache if they were a power of two apart
AT_ONCE = 8  # rows that are turned together: as many reads are under way before the first is written
LANES = 256  # rows of a file at a time
AT_RANDOM = (1.0, 1.0)  # what a tie is worth with a class of lower, and of higher number
N_METRICS = 7
LOSS, COST, REALISED, TESTS, LOG_LOSS, BRIER, RIGHT = range(N_METRICS)
COUNT, WEIGHT, SQUARED_WEIGHT = range(3)  # sums over rows: of 1, w and w^2
TOTAL, CENTRE, DRIFT, SPREAD = range(4)  # sums of each metric: of w x, w^2 (x - centre), w^2 (x - centre)^2


@njit(**FAST)
def total_losses(values, logits, truth, costs, alpha, tie, worth, tolerance, out):
    """``sum_j C_j L_alpha(q_i / q_j)`` of every row beyond doubt, else NaN; how many are not.

    Arguments as in `cpu.total_losses`, but costs are None or (1, K), the same for all rows.
    """
    n_rows, k = values.shape
    lanes = min(MOST_LANES, BUFFERED // k // AT_ONCE * AT_ONCE)
    turned, flat, kind = np.empty((k, lanes + SPACING), values.dtype), values.reshape(-1), kind_of(alpha)
    merit, total, loss, doubtful = np.empty(lanes), np.empty(lanes), np.empty(lanes), 0
    own, sure = np.empty(lanes), np.empty(lanes)
    for low in range(0, n_rows, lanes):
        n = min(lanes, n_rows - low)
        rows, label = flat[low * k : (low + n) * k], truth[low : low + n]
        turn(rows, turned)
        for r in range(n):
            merit[r] = rows[r * k + label[r]]
        if costs is not None:
            for r in range(n):
                own[r] = costs[0, label[r]]
            for r in range(n):
                merit[r] /= 1.0 if logits else own[r]
        total[:], loss[:], bad = 0.0, 0.0, 0
        for j in range(k):
            column, cost = turned[j, :n], None if costs is None else costs[0, j]
            bad += _add_to_sums(column, logits, total)
            _add_pairs(column, j, own, cost, logits, alpha, kind, label, merit, tie, worth, loss)
        limits = (-np.inf, np.inf) if logits else (LEAST_TRUTH, tolerance)
        _weigh(total, merit, merit, limits[0], limits[1] if bad == 0 else -1.0, sure[:n])
        for r in range(n):
            out[low + r] = loss[r] if sure[r] > 0 else np.nan
            doubtful += sure[r] == 0
    return doubtful


@njit(**FAST)
def turn(rows, turned):
    """Rows that lie one after another, (n K,), into columns, (K, n or more)."""
    k = len(turned)
    n = len(rows) // k
    whole = n - n % AT_ONCE
    for first in range(0, whole, AT_ONCE):
        block = rows[first * k : (first + AT_ONCE) * k]
        for j in range(k):
            column = turned[j, first : first + AT_ONCE]
            for r in range(AT_ONCE):
                column[r] = block[j + r * k]
    for r in range(whole, n):
        for j in range(k):
            turned[j, r] = rows[j + r * k]


@njit(**EXACT)
def _add_pairs(column, number, own, cost, logits, alpha, kind, label, merit, tie, worth, loss):
    """Add a class, of a certain cost or of cost 1 (None), to each row's losses."""
    for r in range(len(label)):
        theirs, of_tie = types.float64(column[r]), worth[0] if number < label[r] else worth[1]
        pair = priced_pair(merit[r], theirs, own[r], cost, logits, alpha, kind, tie, of_tie)
        loss[r] += pair if label[r] != number else 0.0


@njit(**FAST)
def _add_to_sums(column, logits, total):
    """Add a class to each row's sum; how many of its numbers are no probabilities, or no logits."""
    bad = 0
    for r in range(len(column)):
        total[r] += types.float64(column[r])
        bad += not (column[r] < np.inf if logits else column[r] >= 0)
    return bad


@intrinsic
def _pointer(_context, address, like):
    """An address as a pointer to numbers of the type of an array."""

    def cast(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(like.dtype)(types.int64, like), cast


@njit(**FAST)
def score(
    addresses,  # (K,) where each class's numbers lie, contiguous
    like,  # an array of their type
    truth,
    weights,  # (n,), or empty: all 1; so that one compilation serves all
    costs,  # (K,), or empty: all 1
    alpha,
    mean,
    share,
    tolerance,
    start,
    stop,
    of_rows,  # (3,) sums over rows
    of_metrics,  # (4, 7) sums of each metric
    predicted,
    doubtful,
    table,  # (7, n) each row's metrics, or empty where sums are enough
):
    """Score the rows from `start` to `stop` and add them up, but for those that are marked as doubtful.

    The loss is that of uniform costs, which knows no base costs; the cost is
    ``mean (C_i + share sum_j C_j L_alpha)``, and what is realised at the mean costs likewise.

    Why one loop for everything: a file's columns arrive faster than seven passes over them could be made, and all
    metrics need the same two numbers of each pair, p of the truth and p of its rival. So each column is read once,
    a lane of rows at a time, and every sum over classes is kept per row until the last class has passed; only then
    are the sums turned into metrics. Columns come as addresses, since numba would compile a tuple of K arrays anew
    for every K. Steps that numba can turn into vector code are functions of their own without branches: what
    depends on a condition is computed for all rows and selected. A row of doubt (no distribution, or a truth that
    is nearly impossible) gets weight 0, so that sums need no second look at it. Squares are summed about the mean
    of the first lane: about 0 they would cancel, and the mean itself is not known before the end.
    """
    own, merit, p, weight = np.empty(LANES), np.empty(LANES), np.empty(LANES), np.empty(LANES)
    total, squares, loss = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    priced, spent, lane = np.empty(LANES), np.empty(LANES), np.empty((N_METRICS, LANES))
    ours, best = np.empty(LANES, like.dtype), np.empty(LANES, like.dtype)
    label, likeliest, before = np.empty(LANES, np.int32), np.empty(LANES, np.int32), np.empty(LANES, np.int32)
    free, kind = len(costs) == 0, kind_of(alpha)
    simple, tie = free and kind == UNIFORM, TIE_IN_SINGLE if like.itemsize <= 4 else TIE
    for low in range(start, stop, LANES):
        n, bad = min(LANES, stop - low), 0
        _look_up(addresses, like, truth[low : low + n], costs, low, label, ours, p, own, merit)
        for sums in (total, squares, loss, priced, spent):
            sums[:n] = 0.0
        best[:n], likeliest[:n], before[:n] = -1, 0, 0
        for j in range(len(addresses)):
            column, number = carray(_pointer(addresses[j], like), stop)[low : low + n], np.int32(j)
            _add_losses(column, number, label, p, total, squares, loss)
            bad += _add_likeliest(column, number, best, likeliest)
            if free:
                _add_before(column, number, label, ours, ours.dtype.type(tie), before)
            else:
                _add_spent(column, number, costs[j], label, merit, tie, before, spent)
            if not simple:
                cost = 1.0 if free else costs[j]
                _add_pairs(column, number, own, cost, False, alpha, kind, label[:n], merit, tie, AT_RANDOM, priced)
        _weigh(total, p, merit, LEAST_TRUTH, tolerance if bad == 0 else -1.0, weight[:n])
        _mark(weight, doubtful[low : low + n])
        if len(weights):
            weight[:n] *= weights[low : low + n]
        _finish(weight, p, squares, loss, likeliest, label, lane, n)
        _finish_costs(weight, own, loss if simple else priced, spent, before, mean, share, free, lane, n)
        _add_up(weight, doubtful[low : low + n], lane, low == start, of_rows, of_metrics)
        predicted[low : low + n] = likeliest[:n]
        if table.size:
            table[:, low : low + n] = lane[:, :n]


@njit(**EXACT)
def _look_up(addresses, like, truth, costs, low, label, ours, p, own, merit):
    """The truth's own numbers."""
    for r in range(len(truth)):
        i = truth[r]
        label[r] = i
        ours[r] = _pointer(addresses[i], like)[low + r]
    for r in range(len(truth)):
        p[r] = merit[r] = ours[r]
        own[r] = 1.0
    if len(costs):
        for r in range(len(truth)):
            own[r] = costs[label[r]]
            merit[r] = p[r] / own[r]


@njit(**FAST)
def _add_losses(column, number, label, p, total, squares, loss):
    for r in range(len(column)):
        theirs, other = types.float64(column[r]), label[r] != number
        total[r] += theirs
        squares[r] += theirs * theirs if other else 0.0
        loss[r] += loss_of_uniform_odds(theirs, p[r]) if other else 0.0


@njit(**FAST)
def _add_likeliest(column, number, best, likeliest):
    """The likeliest class so far; how many probabilities are no such thing."""
    negative = 0
    for r in range(len(column)):
        negative += not column[r] >= 0
        better = column[r] > best[r]
        best[r] = column[r] if better else best[r]
        likeliest[r] = number if better else likeliest[r]
    return negative


@njit(**FAST)
def _add_before(column, number, label, ours, tie, before):
    """Classes tested before the truth; ties go to the lower number."""
    for r in range(len(column)):
        lead, width = column[r] - ours[r], tie * ours[r]
        ahead = lead > width or (lead >= -width and number < label[r])
        before[r] += np.int32(1) if ahead else np.int32(0)


@njit(**EXACT)
def _add_spent(column, number, cost, label, merit, tie, before, spent):
    """What is spent before the truth is found, and on how many tests."""
    for r in range(len(column)):
        lead, width = types.float64(column[r]) / cost - merit[r], tie * merit[r]
        ahead = lead > width or (lead >= -width and number < label[r])
        before[r] += np.int32(1) if ahead else np.int32(0)
        spent[r] += cost if ahead else 0.0


@njit(**FAST)
def _weigh(total, p, merit, least, tolerance, weight):
    """1 for sound rows, 0 for those in doubt, as one whose sum is NaN always is."""
    for r in range(len(weight)):
        sure = (abs(total[r] - 1) <= tolerance) & (p[r] > least) & (merit[r] > least)
        weight[r] = 1.0 if sure else 0.0


@njit(**FAST)
def _mark(weight, doubtful):
    for r in range(len(doubtful)):
        doubtful[r] = weight[r] == 0


@njit(**FAST)
def _finish(weight, p, squares, loss, likeliest, label, lane, n):
    """Rows without weight get zeros, so that nothing infinite is multiplied by it."""
    for r in range(n):
        lane[LOSS, r] = loss[r] if weight[r] > 0 else 0.0
    for r in range(n):
        lane[BRIER, r] = squares[r] + (1 - p[r]) * (1 - p[r]) if weight[r] > 0 else 0.0
    for r in range(n):
        surprise = -log_normal(p[r])
        lane[LOG_LOSS, r] = surprise if surprise > 0 and weight[r] > 0 else 0.0
    for r in range(n):
        lane[RIGHT, r] = likeliest[r] == label[r]


@njit(**FAST)
def _finish_costs(weight, own, losses, spent, before, mean, share, free, lane, n):
    for r in range(n):
        lane[COST, r] = mean * (own[r] + share * losses[r]) if weight[r] > 0 else 0.0
    for r in range(n):
        lane[TESTS, r] = 1.0 + before[r]
    for r in range(n):
        lane[REALISED, r] = mean * (1.0 + before[r] if free else own[r] + spent[r])


@njit(**FAST)
def _add_up(weight, doubtful, lane, is_first, of_rows, of_metrics):
    """Add a lane; the mean of the first one is the centre of all."""
    n, sum_of_weights, squares, count = len(doubtful), 0.0, 0.0, 0
    for r in range(n):
        sum_of_weights += weight[r]
        squares += weight[r] * weight[r]
        count += weight[r] > 0
    of_rows[COUNT] += count
    of_rows[WEIGHT] += sum_of_weights
    of_rows[SQUARED_WEIGHT] += squares
    for m in range(len(lane)):
        values, total, drift, spread = lane[m], 0.0, 0.0, 0.0
        for r in range(n):
            total += weight[r] * values[r]
        if is_first:
            of_metrics[CENTRE, m] = total / sum_of_weights if sum_of_weights > 0 else 0.0
        centre = of_metrics[CENTRE, m]
        for r in range(n):
            pull = weight[r] * (values[r] - centre)
            drift += weight[r] * pull
            spread += pull * pull
        of_metrics[TOTAL, m] += total
        of_metrics[DRIFT, m] += drift
        of_metrics[SPREAD, m] += spread


@njit(**FAST)
def add_counts(truth, predicted, weights, counts):
    """Add ``w`` to ``counts[truth, predicted]``."""
    for r in range(len(truth)):
        counts[truth[r], predicted[r]] += weights[r] if len(weights) else 1.0
