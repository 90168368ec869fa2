"""Loss and gradient of the Beta family in one pass over the logits, in Triton.

The score needs no normaliser, so a logit is read once and its gradient written once; cross-entropy has to read
twice. A tile of whole rows is one program's work where rows are short; long rows are cut into slices, and a
second, tiny kernel adds up the slices.
"""

from __future__ import annotations

import triton
import triton.language as tl

from pandora_regret.priors.base import TIE_IN_SINGLE

ZERO, SMALL, POWER, RANKS = (tl.constexpr(kind) for kind in range(4))  # alpha = 0, below 0.1, above, inf
LEAST_LOGIT = tl.constexpr(-3.0e38)  # stands for -inf, so that two impossible classes tie instead of giving NaN
LOG2_E = tl.constexpr(1.4426950408889634)
TIE = tl.constexpr(TIE_IN_SINGLE)


@triton.jit
def _pair(gap, width, alpha, kind: tl.constexpr):
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
def _size(possible):
    """What a logit adds to the width of a tie: an impossible class's, nothing."""
    return tl.where(possible > LEAST_LOGIT, tl.abs(possible), 0.0)


@triton.jit
def _priced_pair(x, ours, rival, columns, costs, our_cost, alpha, kind: tl.constexpr, priced: tl.constexpr):
    """``C_j L(r_ij)`` and its slope; what is no rival is infinitely far behind, and counts for nothing."""
    gap = ours - tl.where(rival, _possible(x), -float("inf"))
    width = TIE * (1 + _size(ours) + _size(_possible(x))) if kind == RANKS else 0.0
    if priced:
        cost = tl.load(costs + columns, mask=rival, other=1.0)
        loss, power = _pair(gap + tl.log(cost / our_cost), width, alpha, kind)
        loss, power = loss * cost, power * cost
    else:
        loss, power = _pair(gap, width, alpha, kind)
    if kind == ZERO:
        power = tl.where(x == -float("inf"), 0.0, power)  # an impossible class has no gradient
    return loss, power


@triton.jit
def _truth_of(logits, target, costs, row, stride, n_classes, present, priced: tl.constexpr):
    """The truth's column, how much of the row is to be read (nothing without a truth), its logit and its cost."""
    truth = tl.load(target + row, mask=present, other=-1)
    valid = (truth >= 0) & (truth < n_classes)
    ours = tl.load(logits + row * stride + truth, mask=valid, other=0.0).to(tl.float32)
    our_cost = tl.load(costs + truth, mask=valid, other=1.0) if priced else 1.0
    return truth, tl.where(valid, n_classes, 0), _possible(ours), our_cost


@triton.jit
def _factors(scale, ours, alpha, kind: tl.constexpr):
    """What the slopes of rivals and of the truth are multiplied by.

    An impossible truth has no gradient; but for alpha = 0 its rivals, infinitely far ahead, have none either.
    """
    of_rivals = tl.load(scale) * (alpha + 1) + tl.zeros_like(ours)
    of_truth = tl.where(ours > LEAST_LOGIT, of_rivals, 0.0)
    return of_rivals if kind == ZERO else of_truth, of_truth


@triton.jit
def tile_loop(
    logits,  # (N, K), rows `stride` apart
    target,  # (N,)
    costs,  # (K,), read only if priced
    scale,  # (), what the gradient is multiplied by
    losses,  # (N,) out, or one sum per program if summed
    grad,  # (N, K) out, contiguous, written only if wanted
    n_rows,
    class_units,
    stride_units,
    alpha,
    ignore_index,
    kind: tl.constexpr,
    priced: tl.constexpr,
    wanted: tl.constexpr,
    summed: tl.constexpr,
    unit: tl.constexpr,  # a power of 2 that divides K and the stride, told so that accesses can be vectors
    rows_per_tile: tl.constexpr,
    block: tl.constexpr,  # >= K
):
    """Losses and gradients of whole rows, several per program: for rows short enough to stay in registers."""
    n_classes, stride = class_units * unit, stride_units * unit
    row = tl.program_id(0).to(tl.int64) * rows_per_tile + tl.arange(0, rows_per_tile)
    present = row < n_rows
    truth, n_read, ours, our_cost = _truth_of(logits, target, costs, row, stride, n_classes, present, priced)
    columns = tl.arange(0, block)[None, :]
    read, own = columns < n_read[:, None], columns == truth[:, None]
    x = tl.load(logits + row[:, None] * stride + columns, mask=read, other=-float("inf")).to(tl.float32)
    our_costs = our_cost[:, None] if priced else our_cost
    loss, power = _priced_pair(x, ours[:, None], read & (own == 0), columns, costs, our_costs, alpha, kind, priced)
    _store_losses(losses, tl.sum(loss, axis=1), truth, row, present, n_classes, ignore_index, summed)
    if wanted:
        of_rivals, of_truth = _factors(scale, ours, alpha, kind)
        pull = -tl.sum(power, axis=1) * of_truth
        power = tl.where(own, pull[:, None], power * of_rivals[:, None])
        inside = (columns < n_classes) & present[:, None]
        tl.store(grad + row[:, None] * n_classes + columns, power.to(grad.dtype.element_ty), mask=inside)


@triton.jit
def _store_losses(losses, loss, truth, row, present, n_classes, ignore_index, summed: tl.constexpr):
    """One loss per row, or their sum; NaN where a target is neither a class nor to be ignored."""
    known = ((truth >= 0) & (truth < n_classes)) | (truth == ignore_index) | (present == 0)
    loss = tl.where(known, loss, float("nan"))
    if summed:
        tl.store(losses + tl.program_id(0), tl.sum(tl.where(present, loss, 0.0)))
    else:
        tl.store(losses + row, loss, mask=present)


@triton.jit
def slice_loop(
    logits,  # (N, K), rows `stride` apart
    target,  # (N,)
    costs,  # (K,), read only if priced
    scale,  # (), what the gradient is multiplied by
    partial,  # (2, N, S) out: losses and gradients, summed over a slice
    grad,  # (N, K) out, contiguous; the truth's column is overwritten by `finish_loop`
    n_rows,
    class_units,
    stride_units,
    alpha,
    kind: tl.constexpr,
    priced: tl.constexpr,
    wanted: tl.constexpr,
    unit: tl.constexpr,  # a power of 2 that divides K and the stride, told so that accesses can be vectors
    blocks_per_slice: tl.constexpr,
    block: tl.constexpr,
):
    """One slice of one long row, so that few long rows keep the whole device busy.

    The gradient of the truth needs the sum over all slices; `finish_loop` adds it.
    """
    n_classes, stride = class_units * unit, stride_units * unit
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    truth, n_read, ours, our_cost = _truth_of(logits, target, costs, row, stride, n_classes, True, priced)
    of_rivals, of_truth = _factors(scale, ours, alpha, kind)
    losses, powers = tl.zeros([block], tl.float32), tl.zeros([block], tl.float32)
    for b in range(blocks_per_slice):
        columns = (part * blocks_per_slice + b) * block + tl.arange(0, block)
        inside = columns < n_classes  # known before the truth is, so that reading need not wait for it
        x = tl.load(logits + row * stride + columns, mask=inside, other=-float("inf")).to(tl.float32)
        rival = (columns < n_read) & (columns != truth)
        loss, power = _priced_pair(x, ours, rival, columns, costs, our_cost, alpha, kind, priced)
        losses += loss
        powers += power
        if wanted:
            value = (power * of_rivals).to(grad.dtype.element_ty)
            tl.store(grad + row * n_classes + columns, value, mask=inside)
    index = row * tl.num_programs(1) + part
    tl.store(partial + index, tl.sum(losses))
    tl.store(partial + n_rows * tl.num_programs(1) + index, tl.sum(powers) * of_truth)


@triton.jit
def finish_loop(
    partial,  # (2, N, S)
    target,  # (N,)
    losses,  # (N,) out, or one sum per program if summed
    grad,  # (N, K) out: the truth's column
    n_rows,
    n_classes,
    n_slices,
    ignore_index,
    wanted: tl.constexpr,
    summed: tl.constexpr,
    rows_per_program: tl.constexpr,
    slices: tl.constexpr,  # >= S
):
    """Sum over slices; what all rivals push up, the truth is pulled down."""
    row = tl.program_id(0).to(tl.int64) * rows_per_program + tl.arange(0, rows_per_program)
    present = row < n_rows
    truth = tl.load(target + row, mask=present, other=-1)
    part = tl.arange(0, slices)[None, :]
    inside = (part < n_slices) & present[:, None]
    index = row[:, None] * n_slices + part
    loss = tl.sum(tl.load(partial + index, mask=inside, other=0.0), axis=1)
    _store_losses(losses, loss, truth, row, present, n_classes, ignore_index, summed)
    if wanted:
        push = tl.sum(tl.load(partial + n_rows * n_slices + index, mask=inside, other=0.0), axis=1)
        at_truth = present & (truth >= 0) & (truth < n_classes)
        tl.store(grad + row * n_classes + truth, (-push).to(grad.dtype.element_ty), mask=at_truth)


@triton.jit
def count_loop(target, count, n_rows, ignore_index, block: tl.constexpr):
    """Count the targets that are not to be ignored."""
    row = tl.program_id(0) * block + tl.arange(0, block)
    value = tl.load(target + row, mask=row < n_rows, other=ignore_index)
    tl.atomic_add(count, tl.sum((value != ignore_index).to(tl.int32)))


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
