"""Loss and gradient of the Beta family in one pass over the logits, in Triton.

The score needs no normaliser, so a logit is read once and its gradient written once; cross-entropy has to read
twice. A program's work is a tile of short rows, or one long row. Where there are few programs, the last one to
finish adds up what all have found, so that one launch does everything. It adds in the order of programs, not of
finishing: the same input gives the same bits.
"""

import triton
import triton.language as tl

from pandora_regret.core.priors.base import TIE_IN_SINGLE

ZERO, SMALL, POWER, RANKS = (tl.constexpr(kind) for kind in range(4))  # alpha = 0, below 0.1, above, inf
SUM, MEAN, MEAN_OF_COUNTED, WEIGHTED = (tl.constexpr(kind) for kind in range(4))  # what rows are multiplied by
NOTHING, ROWS, TOTALS, TOTAL = (tl.constexpr(kind) for kind in range(4))  # what of the losses is stored
COUNT_BLOCK = tl.constexpr(1024)
COUNT_PROGRAMS = tl.constexpr(256)
FINISH_BLOCK = tl.constexpr(1024)  # the most programs of a sum over programs
LEAST_LOGIT = tl.constexpr(-3.0e38)  # stands for -inf, so that two impossible classes tie instead of giving NaN
LOG2_E = tl.constexpr(1.4426950408889634)
TIE = tl.constexpr(TIE_IN_SINGLE)


@triton.jit
def _loss_and_slope(gap, width, alpha, kind: tl.constexpr):
    """L_alpha at ``ln r = gap``, and its slope ``-dL / d ln r`` without the factor ``alpha + 1``."""
    ahead = gap > 0
    if kind == RANKS:
        loss = tl.where(gap > width, 0.0, tl.where(gap < -width, 2.0, 1.0))
        power = tl.zeros_like(gap)
    else:
        power = tl.exp2(tl.where(ahead, -(alpha + 1) * LOG2_E, alpha * LOG2_E) * gap)
        if kind == ZERO:
            power = tl.where(ahead, power, 1.0)  # also where 0 * inf gave NaN
            behind = tl.where(gap < LEAST_LOGIT / 2, float("inf"), 1 - gap)  # the truth is impossible
        elif kind == SMALL:
            y = alpha * gap  # 1 - e^y would lose its digits near 0, and 1/alpha would magnify what is left
            series = -y * (1 + y / 2 * (1 + y / 3 * (1 + y / 4 * (1 + y / 5 * (1 + y / 6)))))
            behind = 1 + (1 + 1 / alpha) * tl.where(y > -0.3, series, 1 - power)
        else:
            behind = (2 + 1 / alpha) - (1 + 1 / alpha) * power
        loss = tl.where(ahead, power, behind)
    return loss, power


@triton.jit
def _possible(x):
    """A logit, or the least one for -inf; NaN stays NaN."""
    return tl.maximum(x, LEAST_LOGIT, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def _size_of_logit(possible):
    """What a logit adds to the width of a tie: an impossible class's, nothing."""
    return tl.where(possible > LEAST_LOGIT, tl.abs(possible), 0.0)


@triton.jit
def _priced_pair(x, ours, rival, columns, costs, our_cost, alpha, kind: tl.constexpr, priced: tl.constexpr):
    """``C_j L(r_ij)`` and its slope; what is no rival is infinitely far behind, and counts for nothing."""
    gap = ours - tl.where(rival, _possible(x), -float("inf"))
    width = TIE * (1 + _size_of_logit(ours) + _size_of_logit(_possible(x))) if kind == RANKS else 0.0
    if priced:
        cost = tl.load(costs + columns, mask=rival, other=1.0)
        loss, power = _loss_and_slope(gap + tl.log(cost / our_cost), width, alpha, kind)
        loss = loss * cost
        power = power * cost
    else:
        loss, power = _loss_and_slope(gap, width, alpha, kind)
    if kind == ZERO:
        power = tl.where(x == -float("inf"), 0.0, power)  # an impossible class has no gradient
    return loss, power


@triton.jit
def _truth_of(logits, target, costs, row, stride, n_classes, ignore_index, present, priced: tl.constexpr):
    """The truth's column, whether it is one, how many classes count (none without a truth), its logit and cost."""
    truth = tl.load(target + row, mask=present, other=ignore_index)
    valid = (truth >= 0) & (truth < n_classes) & (truth != ignore_index)
    ours = tl.load(logits + row * stride + truth, mask=valid, other=0.0).to(tl.float32)
    our_cost = tl.load(costs + truth, mask=valid, other=1.0) if priced else 1.0
    return truth, valid, tl.where(valid, n_classes, 0), _possible(ours), our_cost


@triton.jit
def _gradient_scale(weights, target, n_rows, n_classes, ignore_index, weighing: tl.constexpr):
    """What the losses of all rows are multiplied by; infinity for a mean of nothing, which is NaN."""
    share = 1.0 / (3.0 * (n_classes - 1))
    if weighing == MEAN:  # every program counts for itself, rather than wait for another
        count = tl.zeros([COUNT_BLOCK], tl.int32)
        for start in range(0, n_rows, COUNT_BLOCK):
            count += _counted(target, start, n_rows, ignore_index)
        share /= tl.sum(count).to(tl.float32)
    elif weighing == MEAN_OF_COUNTED:
        share /= tl.sum(tl.load(weights + tl.arange(0, COUNT_PROGRAMS))).to(tl.float32)
    return share


@triton.jit
def _counted(target, start, n_rows, ignore_index):
    """1 for each target of a block that is not to be ignored."""
    index = start + tl.arange(0, COUNT_BLOCK)
    return (tl.load(target + index, mask=index < n_rows, other=ignore_index) != ignore_index).to(tl.int32)


@triton.jit
def count_loop(target, counts, n_rows, ignore_index):
    """Count the targets that are not to be ignored, one sum per program."""
    count = tl.zeros([COUNT_BLOCK], tl.int32)
    for start in range(tl.program_id(0) * COUNT_BLOCK, n_rows, COUNT_PROGRAMS * COUNT_BLOCK):
        count += _counted(target, start, n_rows, ignore_index)
    tl.store(counts + tl.program_id(0), tl.sum(count))


@triton.jit
def _factors(share, weights, weight_stride, row, ours, valid, alpha, kind: tl.constexpr, weighing: tl.constexpr):
    """What the slopes of rivals and of the truth are multiplied by: zero in a row that is ignored.

    An impossible truth has no gradient; but for alpha = 0 its rivals, infinitely far ahead, have none either.
    """
    if weighing == WEIGHTED:
        share = share * tl.load(weights + row * weight_stride, mask=valid, other=0.0).to(tl.float32)
    of_rivals = tl.where(valid, share * (alpha + 1), 0.0)
    of_truth = tl.where(ours > LEAST_LOGIT, of_rivals, 0.0)
    return of_rivals if kind == ZERO else of_truth, of_truth


@triton.jit
def _or_nan(loss, valid, truth, ignore_index):
    """The loss, or NaN where a target is neither a class nor to be ignored."""
    return tl.where(valid | (truth == ignore_index), loss, float("nan"))


@triton.jit
def _store_sum(losses, partial, turns, loss, stored: tl.constexpr):
    """Store the sum of a program's losses, or of all programs': then the last one adds them up, in their order.

    `turns` counts programs that are done, and is left at 0 for the next launch.
    """
    if stored == TOTALS:
        tl.store(losses + tl.program_id(0), loss)
    elif stored == TOTAL:
        n_programs = tl.num_programs(0)
        tl.store(partial + tl.program_id(0), loss)
        tl.debug_barrier()
        if tl.atomic_add(turns, 1, sem="acq_rel") == n_programs - 1:
            tl.debug_barrier()
            index = tl.arange(0, FINISH_BLOCK)
            sums = tl.load(partial + index, mask=index < n_programs, other=0.0, cache_modifier=".cg")
            tl.store(losses, tl.sum(sums))
            tl.store(turns, 0)


@triton.jit
def row_loop(
    logits,  # (N, K), rows `stride` apart
    target,  # (N,)
    costs,  # (K,), read only if priced
    weights,  # counts of rows, or (N,), `weight_stride` apart; read only by that `weighing`
    losses,  # out: (N,), or one sum per program, or (), the sum
    partial,  # one number per program, and
    turns,  # (), 0: for the sum
    grad,  # (N, K) out, contiguous, written only if wanted
    n_rows,
    class_units,
    stride_units,
    alpha,
    weight_stride,
    ignore_index,
    kind: tl.constexpr,
    weighing: tl.constexpr,
    stored: tl.constexpr,
    priced: tl.constexpr,
    wanted: tl.constexpr,
    unit: tl.constexpr,  # a power of 2 that divides K and the stride, told so that accesses can be vectors
    rows_per_tile: tl.constexpr,
    block: tl.constexpr,  # >= K, unless
    long: tl.constexpr,  # rows are read block by block, one per program
):
    """Losses and gradients: of several rows per program, short enough to stay in registers, or of one long row.

    The truth's gradient needs all blocks of a long row, and comes last.
    """
    n_classes = class_units * unit
    stride = stride_units * unit
    row = tl.program_id(0).to(tl.int64) * rows_per_tile + tl.arange(0, rows_per_tile)
    present = row < n_rows
    first = tl.arange(0, block)[None, :]
    truth, valid, n_read, ours, our_cost = _truth_of(
        logits, target, costs, row, stride, n_classes, ignore_index, present, priced
    )
    our_costs = our_cost[:, None] if priced else our_cost
    share = _gradient_scale(weights, target, n_rows, n_classes, ignore_index, weighing)
    of_rivals, of_truth = _factors(share, weights, weight_stride, row, ours, valid, alpha, kind, weighing)
    pairs = tl.zeros([rows_per_tile, block], tl.float32)
    powers = tl.zeros([rows_per_tile, block], tl.float32)
    for start in range(0, n_classes if long else 1, block):
        columns = start + first
        inside = (columns < n_classes) & present[:, None]  # known before the truth is: reading need not wait
        x = tl.load(logits + row[:, None] * stride + columns, mask=inside, other=-float("inf")).to(tl.float32)
        rival = (columns < n_read[:, None]) & (columns != truth[:, None])
        pair, power = _priced_pair(x, ours[:, None], rival, columns, costs, our_costs, alpha, kind, priced)
        pairs += pair
        powers += power
        if wanted and long:
            value = (power * of_rivals[:, None]).to(grad.dtype.element_ty)
            tl.store(grad + row[:, None] * n_classes + columns, value, mask=inside)
    if wanted:
        pull = -tl.sum(powers, axis=1) * of_truth
        if long:
            tl.debug_barrier()  # the truth's column, too, has been written above, by another thread
            tl.store(grad + row * n_classes + truth, pull.to(grad.dtype.element_ty), mask=valid)
        else:
            value = tl.where(first == truth[:, None], pull[:, None], powers * of_rivals[:, None])
            inside = (first < n_classes) & present[:, None]
            tl.store(grad + row[:, None] * n_classes + first, value.to(grad.dtype.element_ty), mask=inside)
    loss = _or_nan(tl.sum(pairs, axis=1) * share, valid, truth, ignore_index)
    if stored == ROWS:
        tl.store(losses + row, loss, mask=present)
    else:
        _store_sum(losses, partial, turns, tl.sum(loss), stored)


@triton.jit
def add_tile_loop(
    logits,  # (N, W), a tile of the classes; out: its gradient
    ours,  # (N,) the truth's logit
    own,  # (N,) the truth's column, which may lie outside
    costs,  # (W,), read only if priced
    our_costs,  # (N,), likewise
    slopes,  # (N,) what the gradient of a row is multiplied by
    losses,  # (N,) added to
    pulls,  # (N,) added to: the slopes of all pairs
    width,
    alpha,
    kind: tl.constexpr,
    priced: tl.constexpr,
    block: tl.constexpr,
):
    """One row of a tile: its pairs' losses and slopes; the truth's own gradient needs all tiles."""
    row = tl.program_id(0).to(tl.int64)
    our = tl.load(ours + row)
    truth = tl.load(own + row)
    slope = tl.load(slopes + row) * (alpha + 1)
    our_cost = tl.load(our_costs + row) if priced else 1.0
    pairs = tl.zeros([block], tl.float32)
    powers = tl.zeros([block], tl.float32)
    for start in range(0, width, block):
        columns = start + tl.arange(0, block)
        inside = columns < width
        x = tl.load(logits + row * width + columns, mask=inside, other=-float("inf")).to(tl.float32)
        pair, power = _priced_pair(
            x, our, inside & (columns != truth), columns, costs, our_cost, alpha, kind, priced
        )
        pairs += pair
        powers += power
        tl.store(logits + row * width + columns, (power * slope).to(logits.dtype.element_ty), mask=inside)
    tl.store(losses + row, tl.load(losses + row) + tl.sum(pairs))
    tl.store(pulls + row, tl.load(pulls + row) + tl.sum(powers) * (alpha + 1))


@triton.jit
def scale_loop(grad, factor, n_elements, block: tl.constexpr):
    """Multiply in place; leaves at once where the factor is 1, as it is in nearly every training loop."""
    by = tl.load(factor)
    if by != 1.0:
        step = tl.num_programs(0).to(tl.int64) * block
        for start in range(tl.program_id(0).to(tl.int64) * block, n_elements, step):
            index = start + tl.arange(0, block)
            value = tl.load(grad + index, mask=index < n_elements).to(tl.float32)
            tl.store(grad + index, (value * by).to(grad.dtype.element_ty), mask=index < n_elements)
