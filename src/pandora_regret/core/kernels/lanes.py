"""The one compiled loop that scores: arrays of any number of classes, and columns as they lie in a file.

A row is scored here only if it is beyond doubt: valid, and with a truth that is not (nearly) impossible. Every
other row is marked and goes to the reference, which explains what is wrong with it or scores it.

A row of many classes that lies in one piece is a loop long enough to become vector code. A loop over three or
seven classes is not. So other rows come in lanes: what is known of some rows lies in one buffer that stays in the
fastest cache, a class or a sum after the other, and a class passes by all rows of a lane at once. There is one
buffer since of several, LLVM would have to ask of too many pairs whether they overlap, and would not make vector
code. Steps have no branches: what depends on a condition is computed for all rows and selected. Four classes pass
at a time, so that sums are read and written once for four of them.

Arrays come as addresses: so the loop can be called without numba, which takes long to load.
"""

import numpy as np
from numba import types
from numba.extending import intrinsic

from pandora_regret.core.kernels.jit import EXACT, FAST, INLINE, SMALLEST, exp_parts, log_normal, njit
from pandora_regret.core.kernels.native import (
    AT_ONCE,
    LANES,
    N_METRICS,
    N_SLOTS,
    OF_ROWS,
    POWER,
    RANKS,
    SPACING,
    UNIFORM,
)

LEAST_TRUTH = 1e-150  # below this p / C, ratios to other classes may leave the normal floats
LEAST_RATIO = 1e-300  # a rival this far behind costs nothing
MOST_ODDS = 1e70  # the product of four must not overflow; an L_1 beyond this is that of infinity
FEW, FEW_WITH_POWERS = 12, 24  # classes: of more, rows that lie in one piece are faster one by one than in lanes
FEWEST_LANES, NEAR = 16, 8192  # rows at a time are fewer where classes are many: so many numbers stay near
SLOTS = range(0, N_SLOTS * SPACING, SPACING)  # where the numbers of the rows begin
LABEL, OURS, OWN, MERIT, PER_OURS, PER_MERIT, COST, THEIRS, PAIR, SURE = SLOTS[:10]
SUM, LEAST, SQUARES, PLAIN, BEST, LIKELIEST, BEFORE, PRICED, TESTED, SPENT, TOTAL, TILE = SLOTS[
    10:22
]  # sums, up to the tile
LOSS, EXPECTED, REALISED, TESTS, LOG_LOSS, BRIER, RIGHT = SLOTS[-N_METRICS:]

step, exact, inline = (njit(**options | {"cache": False}) for options in (FAST, EXACT, INLINE))  # kept as a whole


@inline
def loss_of_log_odds(gap, alpha):
    """L_alpha at ``ln r = gap``, for finite alpha, from one exponential."""
    ahead = gap > 0
    exponent = (-(alpha + 1) if ahead else alpha) * gap
    s, m = exp_parts(exponent)
    small = s * m
    decay = s + small if exponent > SMALLEST else 0.0
    rise = -gap if alpha == 0 else (1 + 1 / alpha) * ((1 - s) - small)
    return decay if ahead else 1 + rise


@inline
def loss_of_ranks(lead, width, worth):
    """L_inf: 2 where the rival leads, 0 where the truth does, and what a tie is worth (1 if broken at random).

    The truth and its rival tie if they are at most `width` apart; see `reference.tie_widths`.
    """
    return 2 * types.float64(lead > width) + worth * types.float64(abs(lead) <= width)


@inline
def size_of_logit(logit):
    """What a logit adds to the width of a tie: an impossible class's, nothing."""
    return abs(logit) if logit > -np.inf else 0.0


@inline
def _pair_of_logits(ours, theirs, gap, alpha, kind, tie, worth):
    """L_alpha of a pair of logits, `gap` apart with their costs."""
    if kind == RANKS:
        return loss_of_ranks(-gap, tie * (1 + size_of_logit(ours) + size_of_logit(theirs)), worth)
    return loss_of_log_odds(gap, alpha)


@inline
def _pair_of_probabilities(ours, theirs, alpha, kind, tie, worth):
    """L_alpha of a pair of quotients ``p / C``; a tie at alpha = inf reaches as far as `tie`, relatively."""
    behind = theirs < ours
    smaller, larger = (theirs, ours) if behind else (ours, theirs)
    ratio = smaller / larger  # one division: two would be a branch
    if kind == UNIFORM:
        return ratio * ratio if behind else 3 - 2 * ratio
    if kind == RANKS:
        return loss_of_ranks(theirs - ours, tie * ours, worth)
    gap = log_normal(ratio)
    loss = loss_of_log_odds(-gap if behind else gap, alpha)
    return loss if ratio > LEAST_RATIO else 0.0


def _pointer_to(number):
    """What makes an address a pointer to numbers of a type."""
    kind = types.CPointer(number)

    def typed(_typing, _address):
        return kind(types.int64), lambda context, builder, _, given: builder.inttoptr(
            given[0], context.get_value_type(kind)
        )

    return intrinsic(typed)


singles, doubles, integers = map(_pointer_to, (types.float32, types.float64, types.int64))


def score(job):
    """Score rows as a `native.Job` says: losses alone, or all metrics; how many are in doubt.

    For logits at alpha = inf there are no costs: their logarithm is not the reference's to the last digit, which
    decides ties.
    """
    few = FEW_WITH_POWERS if job.kind == POWER and not job.logits else FEW
    if job.k > few and job.stride >= job.k and job.sums == 0 and job.pairs == 0:
        address = integers(job.addresses)[0]
        return _score_rows(job, singles(address)) if job.single else _score_rows(job, doubles(address))
    w, shared = doubles(job.buffer), not (job.logits or job.of_each)
    simple, listed = shared and job.kind == UNIFORM, shared and job.costs != 0
    lanes, doubtful = min(LANES, max(FEWEST_LANES, NEAR // job.k)), 0
    for low in range(job.start, job.stop, lanes):
        n = min(lanes, job.stop - low)
        _bring_near(job, low, n, w)
        _begin(job, low, n, w)
        for first in range(0, job.k, AT_ONCE):
            _copy_classes(job, low, first, n, w)
            _add_classes(job, listed, first, n, w)
            if not simple:
                _add_pairs(job, low, first, False, n, w)
        doubtful += _settle(job, simple, listed, low, n, w)
        if job.sums != 0:
            _finish(job, listed, n, w)
            _add_up(low == job.start, n, w, doubles(job.sums))
            _count(job, n, w)
            _write(job, low, n, w)
        for first in range(0, job.k if job.pairs != 0 else 0, AT_ONCE):
            _copy_classes(job, low, first, n, w)
            _add_pairs(job, low, first, True, n, w)
    return doubtful


@step
def _bring_near(job, low, n, w):
    """Touch rows that lie in one piece each, one after the other, as memory gives them fastest."""
    address, first, total = integers(job.addresses)[0], low * job.stride, 0.0
    stop = (low + n - 1) * job.stride + job.k if job.stride >= job.k else first
    for place in range(first, stop, 16 if job.single else 8):
        total += singles(address)[place] if job.single else doubles(address)[place]
    w[PAIR] = total


@exact
def _begin(job, low, n, w):
    """The truth's own numbers; sums are 0."""
    for r in range(n):
        row, label = low + r, integers(job.truth)[low + r]
        column, place = integers(job.addresses)[label], row * job.stride
        w[LABEL + r], w[OURS + r] = label, singles(column)[place] if job.single else doubles(column)[place]
        w[OWN + r] = 1.0 if job.costs == 0 else doubles(job.costs)[(row if job.of_each else 0) * job.k + label]
    for r in range(n):
        w[MERIT + r] = w[OURS + r] / (1.0 if job.logits else w[OWN + r])
        w[PER_OURS + r] = 1 / w[OURS + r]
    for r in range(n if job.costs != 0 else 0):
        w[PER_MERIT + r] = 1 / w[MERIT + r]
    for place in range(SUM, TILE):
        w[place] = 0.0


@step
def _copy_classes(job, low, first, n, w):
    """The next classes' numbers. What is no class has zeros, which change no sum."""
    for q in range(AT_ONCE):
        to, address = TILE + q * SPACING, integers(job.addresses)[min(first + q, job.k - 1)]
        if job.single:
            _copy(singles(address), job.stride, low, n, w, to)
        else:
            _copy(doubles(address), job.stride, low, n, w, to)
        if first + q >= job.k:
            for r in range(n):
                w[to + r] = 0.0


@step
def _copy(column, stride, low, n, w, to):
    if stride == 1:
        for r in range(n):
            w[to + r] = column[low + r]
    else:
        for r in range(n):
            w[to + r] = column[(low + r) * stride]


def _adding(per_truth, losses, priced, wide):
    """A step that adds four classes to what is summed, with one over the truth's p or p / C, to losses L_1.

    With m and u a rival's odds against the truth, but at most and at least 1, L_1 is ``m^2 + 2 (u - 1) / u``; the
    second parts of all four are added as one fraction, so that there is one division. Costs are the same for all
    rows. A wide step says what is tested before the truth, too, and the likeliest class; ties go to the lower
    number.
    """

    @step
    def add(job, first, n, w):
        for r in range(n):
            label, inverse, total, least, squares = w[LABEL + r], w[per_truth + r], 0.0, 0.0, 0.0
            behind, above, below, tested, spent = 0.0, 0.0, 1.0, 0.0, 0.0
            best, likeliest = w[BEST + r], w[LIKELIEST + r]
            for q in range(AT_ONCE):
                j, p, cost = types.float64(first + q), w[TILE + q * SPACING + r], 1.0
                if priced:
                    cost = doubles(job.costs)[min(first + q, job.k - 1)]
                rival = p if j != label else 0.0
                odds = rival * inverse / cost
                total, least, squares = total + p, min(least, p), squares + rival * rival
                m, u = min(odds, 1.0), min(max(odds, 1.0), MOST_ODDS)
                behind += cost * m * m
                above, below = above * u + below * (cost * (u - 1)), below * u
                if wide:
                    ahead = odds > (1 - job.tie if j < label else 1 + job.tie)
                    tested, spent = tested + (1.0 if ahead else 0.0), spent + (cost if ahead else 0.0)
                    likeliest, best = j if p > best else likeliest, max(p, best)
            w[losses + r] += behind + 2 * above / below
            if wide and priced:
                w[TESTED + r] += tested
                w[SPENT + r] += spent
            else:
                w[SUM + r] += total
                w[LEAST + r] = min(w[LEAST + r], least)
            if wide and not priced:
                w[SQUARES + r] += squares
                w[BEFORE + r] += tested
                w[BEST + r], w[LIKELIEST + r] = best, likeliest

    return add


_add_losses, _add_all = (_adding(PER_OURS, PLAIN, False, wide) for wide in (False, True))
_add_priced, _add_all_priced = (_adding(PER_MERIT, PRICED, True, wide) for wide in (False, True))


@step
def _add_classes(job, priced, first, n, w):
    """All metrics with costs, or without; or what is lost at costs, or without."""
    if job.sums != 0:
        _add_all(job, first, n, w)
        if priced:
            _add_all_priced(job, first, n, w)
    elif priced:
        _add_priced(job, first, n, w)
    else:
        _add_losses(job, first, n, w)


@step
def _add_pairs(job, low, first, to_pairs, n, w):
    """``C_j L_alpha(q_i / q_j)`` for any alpha, costs and logits: to the rows' sums, or to those of pairs."""
    for j in range(first, min(first + AT_ONCE, job.k)):
        for r in range(n):
            w[THEIRS + r] = w[TILE + (j - first) * SPACING + r]
        for r in range(n):
            of_row = (low + r if job.of_each else 0) * job.k
            w[COST + r] = 1.0 if job.costs == 0 else doubles(job.costs)[of_row + j]
        if job.logits:
            _logit_pairs(job, j, n, w)
        else:
            _other_pairs(job, j, n, w)
        for r in range(n):
            if to_pairs and w[SURE + r] > 0:
                doubles(job.pairs)[int(w[LABEL + r]) * job.k + j] += w[SURE + r] * w[PAIR + r]


def _pair_loop(logits):
    """A step that computes the pairs of a lane's rows with class j."""

    @exact
    def pair(job, j, n, w):
        for r in range(n):
            ours, theirs, cost, label = w[OURS + r], w[THEIRS + r], w[COST + r], w[LABEL + r]
            worth = job.lower if j < label else job.higher
            if logits:
                gap = ours - theirs
                gap = gap + log_normal(cost / w[OWN + r]) if job.costs != 0 else gap
                loss = _pair_of_logits(ours, theirs, gap, job.alpha, job.kind, job.tie, worth)
            else:
                loss = _pair_of_probabilities(w[MERIT + r], theirs / cost, job.alpha, job.kind, job.tie, worth)
            w[PAIR + r] = cost * loss if j != label else 0.0
            w[TOTAL + r] += w[PAIR + r]

    return pair


_logit_pairs, _other_pairs = _pair_loop(True), _pair_loop(False)


def _row_loop(logits, kind):
    """A step that adds up a row: its numbers, those that are no probabilities, its losses."""

    @step
    def add_row(job, values, first, of_row, label, ours, own):
        total, bad, loss, merit = 0.0, 0, 0.0, ours / own
        for j in range(job.k):
            theirs = types.float64(values[first + j])
            cost = 1.0 if job.costs == 0 else doubles(job.costs)[of_row + j]
            worth = job.lower if j < label else job.higher
            total += theirs
            bad += not theirs >= 0
            if logits:
                gap = ours - theirs
                gap = gap + log_normal(cost / own) if job.costs != 0 else gap
                pair = _pair_of_logits(ours, theirs, gap, job.alpha, kind, job.tie, worth)
            else:
                pair = _pair_of_probabilities(merit, theirs / cost, job.alpha, kind, job.tie, worth)
            loss += cost * pair if j != label else 0.0
        return total, bad, loss

    return add_row


_uniform_row, _power_row, _ranked_row = (_row_loop(False, kind) for kind in (UNIFORM, POWER, RANKS))
_logit_row, _ranked_logits = (_row_loop(True, kind) for kind in (POWER, RANKS))


@step
def _score_rows(job, values):
    """Losses of rows that lie in one piece each; how many are in doubt."""
    doubtful, losses = 0, doubles(job.losses)
    for row in range(job.start, job.stop):
        first, of_row, label = row * job.stride, row * job.k if job.of_each else 0, integers(job.truth)[row]
        ours = types.float64(values[first + label])
        own = 1.0 if job.costs == 0 else doubles(job.costs)[of_row + label]
        about = (job, values, first, of_row, label, ours, own)
        if job.logits:
            total, bad, loss = _ranked_logits(*about) if job.kind == RANKS else _logit_row(*about)
        elif job.kind == UNIFORM:
            total, bad, loss = _uniform_row(*about)
        else:
            total, bad, loss = _ranked_row(*about) if job.kind == RANKS else _power_row(*about)
        sure = _is_sure(job, total, bad == 0, ours, ours / own)
        losses[row] = loss if sure else np.nan
        doubtful += not sure
    return doubtful


@inline
def _is_sure(job, total, no_negative, ours, merit):
    """Whether a row is valid, and its truth not (nearly) impossible; nothing that is NaN is sure."""
    sound = (abs(total - 1) <= job.tolerance) & no_negative & (ours > LEAST_TRUTH) & (merit > LEAST_TRUTH)
    return ((total < np.inf) & (abs(ours) < np.inf)) if job.logits else sound


@step
def _settle(job, simple, listed, low, n, w):
    """What is lost at the costs that were asked for; rows' weights, 0 for those in doubt; how many these are."""
    doubtful = n
    for r in range(n):
        plain, priced, other = w[PLAIN + r], w[PRICED + r], w[TOTAL + r]
        sure = _is_sure(job, w[SUM + r], w[LEAST + r] >= 0, w[OURS + r], w[MERIT + r])
        w[TOTAL + r] = (priced if listed else plain) if simple else other
        w[SURE + r] = 1.0 if sure else 0.0
        w[LIKELIEST + r] = w[LIKELIEST + r] if sure else -1.0
        doubtful -= sure
    if job.losses != 0:
        for r in range(n):
            doubles(job.losses)[low + r] = w[TOTAL + r] if w[SURE + r] > 0 else np.nan
    if job.weights != 0:
        for r in range(n):
            w[SURE + r] *= doubles(job.weights)[low + r]
    return doubtful


@step
def _finish(job, listed, n, w):
    """The metrics; rows without weight get zeros, so that nothing infinite is multiplied by it."""
    for r in range(n):
        ours, own, total, squares, plain = w[OURS + r], w[OWN + r], w[TOTAL + r], w[SQUARES + r], w[PLAIN + r]
        before, tested, spent, counts = w[BEFORE + r], w[TESTED + r], w[SPENT + r], w[SURE + r] > 0
        surprise = max(-log_normal(ours), 0.0)
        w[LOSS + r] = plain if counts else 0.0
        w[EXPECTED + r] = job.mean * (own + job.share * total) if counts else 0.0
        w[REALISED + r] = job.mean * (own + (spent if listed else before))
        w[TESTS + r] = 1 + (tested if listed else before)
        w[LOG_LOSS + r] = surprise if counts else 0.0
        w[BRIER + r] = squares + (1 - ours) * (1 - ours) if counts else 0.0
        w[RIGHT + r] = 1.0 if w[LIKELIEST + r] == w[LABEL + r] else 0.0


@step
def _add_up(is_first, n, w, sums):
    """Add a lane. Squares are summed about the mean of the first lane: about 0 they would cancel."""
    count, weight, squares = 0.0, 0.0, 0.0
    for r in range(n):
        count += 1.0 if w[SURE + r] > 0 else 0.0
        weight += w[SURE + r]
        squares += w[SURE + r] * w[SURE + r]
    sums[OF_ROWS] += count
    sums[OF_ROWS + 1] += weight
    sums[OF_ROWS + 2] += squares
    for m in range(N_METRICS):
        metric, total, drift, spread = LOSS + m * SPACING, 0.0, 0.0, 0.0
        if is_first:
            for r in range(n):
                total += w[SURE + r] * w[metric + r]
            sums[N_METRICS + m], total = total / weight if weight > 0 else 0.0, 0.0
        centre = sums[N_METRICS + m]
        for r in range(n):
            pull = w[SURE + r] * (w[metric + r] - centre)
            total += w[SURE + r] * w[metric + r]
            drift += w[SURE + r] * pull
            spread += pull * pull
        sums[m] += total
        sums[2 * N_METRICS + m] += drift
        sums[3 * N_METRICS + m] += spread


@step
def _count(job, n, w):
    """Who is taken for whom, by weight and its square."""
    for r in range(n if job.counts != 0 else 0):
        cell, weight = int(w[LABEL + r]) * job.k + max(int(w[LIKELIEST + r]), 0), w[SURE + r]
        doubles(job.counts)[cell] += weight
        doubles(job.counts)[job.k * job.k + cell] += weight * weight


@step
def _write(job, low, n, w):
    """Each row's likeliest class, and metrics."""
    for r in range(n):
        integers(job.likeliest)[low + r] = int(w[LIKELIEST + r])
    for m in range(N_METRICS if job.table != 0 else 0):
        for r in range(n):
            doubles(job.table)[m * job.n_rows + low + r] = w[LOSS + m * SPACING + r]
