"""Loss and gradient of the Beta family in one pass over the logits, in Triton.

The score needs no normaliser, so a logit is read once and its gradient written once; cross-entropy has to read
twice. A tile of whole rows is one program's work where rows are short; long rows are cut into slices, and a
second, tiny kernel adds up the slices.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl

ZERO, SMALL, POWER, RANKS = (tl.constexpr(kind) for kind in range(4))  # alpha = 0, below 0.1, above, inf
LONGEST_TILE = 4096  # longer rows are cut into slices
SHORT_TILE = 2048  # short rows share a tile of this many elements
ENOUGH_PROGRAMS = 4096
LEAST_LOGIT = tl.constexpr(-3.0e38)  # stands for -inf, so that two impossible classes tie instead of giving NaN
LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def _pair(gap, alpha, kind: tl.constexpr):
    """L_alpha at ``ln r = gap``, and its slope ``-dL / d ln r`` without the factor ``alpha + 1``."""
    ahead = gap > 0
    if kind == RANKS:
        loss = tl.where(ahead, 0.0, tl.where(gap < 0, 2.0, 1.0))
        power = tl.zeros_like(gap)
    else:
        power = tl.exp2(tl.where(ahead, -(alpha + 1) * LOG2_E, alpha * LOG2_E) * gap)
        if kind == ZERO:
            power = tl.where(ahead, power, 1.0)  # also where 0 * inf gave NaN
            behind = 1 - gap
        elif kind == SMALL:
            y = alpha * gap  # 1 - e^y would lose its digits near 0, and 1/alpha would magnify what is left
            series = -y * (1 + y / 2 * (1 + y / 3 * (1 + y / 4 * (1 + y / 5 * (1 + y / 6)))))
            behind = 1 + (1 + 1 / alpha) * tl.where(y > -0.3, series, 1 - power)
        else:
            behind = (2 + 1 / alpha) - (1 + 1 / alpha) * power
        loss = tl.where(ahead, power, behind)
    return loss, power


@triton.jit
def _priced_pair(
    x, ours, rival, columns, inside, costs, our_cost, alpha, kind: tl.constexpr, priced: tl.constexpr
):
    """``C_j L(r_ij)`` and its slope; what is no rival is infinitely far behind, and counts for nothing."""
    gap = ours - tl.where(rival, tl.maximum(x, LEAST_LOGIT), -float("inf"))
    if priced:
        cost = tl.load(costs + columns, mask=inside, other=1.0)
        loss, power = _pair(gap + tl.log(cost / our_cost), alpha, kind)
        loss, power = loss * cost, power * cost
    else:
        loss, power = _pair(gap, alpha, kind)
    return loss, power


@triton.jit
def _truth_of(logits, target, costs, row, stride, n_classes, present, priced: tl.constexpr):
    """The truth's column, its logit and its cost; a row without a truth has one that no rival comes near."""
    truth = tl.load(target + row, mask=present, other=-1)
    valid = (truth >= 0) & (truth < n_classes)
    ours = tl.load(logits + row * stride + truth, mask=valid, other=float("inf")).to(tl.float32)
    our_cost = tl.load(costs + truth, mask=valid, other=1.0) if priced else 1.0
    return truth, tl.maximum(ours, LEAST_LOGIT), our_cost


@triton.jit
def _tile(
    logits,  # (N, K), rows `stride` apart
    target,  # (N,)
    costs,  # (K,), read only if priced
    scale,  # (), what the gradient is multiplied by
    losses,  # (N,) out
    grad,  # (N, K) out, contiguous, written only if wanted
    n_rows,
    class_units,
    stride_units,
    alpha,
    ignore_index,
    kind: tl.constexpr,
    priced: tl.constexpr,
    wanted: tl.constexpr,
    unit: tl.constexpr,  # a power of 2 that divides K and the stride, told so that accesses can be vectors
    rows_per_tile: tl.constexpr,
    block: tl.constexpr,  # >= K
):
    """Whole rows, several at a time."""
    n_classes, stride = class_units * unit, stride_units * unit
    row = tl.program_id(0).to(tl.int64) * rows_per_tile + tl.arange(0, rows_per_tile)
    present = row < n_rows
    truth, ours, our_cost = _truth_of(logits, target, costs, row, stride, n_classes, present, priced)
    columns = tl.arange(0, block)[None, :]
    inside = (columns < n_classes) & present[:, None]
    own = columns == truth[:, None]
    x = tl.load(logits + row[:, None] * stride + columns, mask=inside, other=-float("inf")).to(tl.float32)
    our_costs = our_cost[:, None] if priced else our_cost
    loss, power = _priced_pair(
        x, ours[:, None], inside & (own == 0), columns, inside, costs, our_costs, alpha, kind, priced
    )
    tl.store(losses + row, _or_nan(tl.sum(loss, axis=1), truth, n_classes, ignore_index), mask=present)
    if wanted:
        power = tl.where(own, -tl.sum(power, axis=1)[:, None], power) * (tl.load(scale) * (alpha + 1))
        tl.store(grad + row[:, None] * n_classes + columns, power.to(grad.dtype.element_ty), mask=inside)


@triton.jit
def _or_nan(loss, truth, n_classes, ignore_index):
    """The loss, or NaN where the target is neither a class nor to be ignored."""
    return tl.where(((truth >= 0) & (truth < n_classes)) | (truth == ignore_index), loss, float("nan"))


@triton.jit
def _slice(
    logits,  # (N, K), rows `stride` apart
    target,  # (N,)
    costs,  # (K,), read only if priced
    scale,  # (), what the gradient is multiplied by
    partial,  # (2, N, S) out: losses and slopes, summed over a slice
    grad,  # (N, K) out, contiguous; the truth's column is overwritten by `_finish`
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
    """One slice of one long row."""
    n_classes, stride = class_units * unit, stride_units * unit
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    truth, ours, our_cost = _truth_of(logits, target, costs, row, stride, n_classes, True, priced)
    factor = tl.load(scale) * (alpha + 1)
    losses, powers = tl.zeros([block], tl.float32), tl.zeros([block], tl.float32)
    for b in range(blocks_per_slice):
        columns = (part * blocks_per_slice + b) * block + tl.arange(0, block)
        inside = columns < n_classes
        x = tl.load(logits + row * stride + columns, mask=inside, other=-float("inf")).to(tl.float32)
        rival = inside & (columns != truth)
        loss, power = _priced_pair(x, ours, rival, columns, inside, costs, our_cost, alpha, kind, priced)
        losses += loss
        powers += power
        if wanted:
            tl.store(grad + row * n_classes + columns, (power * factor).to(grad.dtype.element_ty), mask=inside)
    at = row * tl.num_programs(1) + part
    tl.store(partial + at, tl.sum(losses))
    tl.store(partial + n_rows * tl.num_programs(1) + at, tl.sum(powers))


@triton.jit
def _finish(
    partial,  # (2, N, S)
    target,  # (N,)
    scale,  # ()
    losses,  # (N,) out
    grad,  # (N, K) out: the truth's column
    n_rows,
    n_classes,
    n_slices,
    alpha,
    ignore_index,
    wanted: tl.constexpr,
    rows_per_program: tl.constexpr,
    slices: tl.constexpr,  # >= S
):
    """Sum over slices; what all rivals push up, the truth is pulled down."""
    row = tl.program_id(0).to(tl.int64) * rows_per_program + tl.arange(0, rows_per_program)
    present = row < n_rows
    truth = tl.load(target + row, mask=present, other=-1)
    part = tl.arange(0, slices)[None, :]
    inside = (part < n_slices) & present[:, None]
    at = row[:, None] * n_slices + part
    loss = tl.sum(tl.load(partial + at, mask=inside, other=0.0), axis=1)
    tl.store(losses + row, _or_nan(loss, truth, n_classes, ignore_index), mask=present)
    if wanted:
        power = tl.sum(tl.load(partial + n_rows * n_slices + at, mask=inside, other=0.0), axis=1)
        pull = -power * (tl.load(scale) * (alpha + 1))
        at_truth = present & (truth >= 0) & (truth < n_classes)
        tl.store(grad + row * n_classes + truth, pull.to(grad.dtype.element_ty), mask=at_truth)


@triton.jit
def _scale(grad, factor, n_elements, block: tl.constexpr):
    """Multiply in place; leaves at once where the factor is 1, as it is in nearly every training loop."""
    by = tl.load(factor)
    if by != 1.0:
        at = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
        inside = at < n_elements
        value = tl.load(grad + at, mask=inside).to(tl.float32)
        tl.store(grad + at, (value * by).to(grad.dtype.element_ty), mask=inside)


def beta_loss_rows(
    logits: torch.Tensor,
    target: torch.Tensor,
    *,
    alpha: float,
    costs: torch.Tensor | None,
    ignore_index: int,
    scale: torch.Tensor,
    want_grad: bool,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """``sum_j C_j L_alpha(q_i / q_j)`` of every row in float32, and `scale` times its gradient in the logits.

    An ignored row has loss and gradient 0; a target outside 0 to K - 1 has loss NaN.
    """
    logits = logits if logits.stride(-1) == 1 else logits.contiguous()
    losses = torch.empty(len(logits), dtype=torch.float32, device=logits.device)
    grad = torch.empty(logits.shape, dtype=logits.dtype, device=logits.device) if want_grad else None
    if len(logits):
        launch = _launch_tiles if logits.shape[1] <= LONGEST_TILE else _launch_slices
        launch(logits, target.contiguous(), alpha, costs, ignore_index, scale, losses, grad)
    return losses, grad


def _finite(alpha: float) -> float:
    """At alpha = inf the slope is 0 everywhere, and 0 times inf would be NaN."""
    return alpha if alpha < float("inf") else 0.0


def _kind_of(alpha: float) -> tl.constexpr:
    if alpha == float("inf"):
        return RANKS
    return ZERO if alpha == 0 else (SMALL if alpha < 0.1 else POWER)


def _launch_tiles(
    logits: torch.Tensor,
    target: torch.Tensor,
    alpha: float,
    costs: torch.Tensor | None,
    ignore_index: int,
    scale: torch.Tensor,
    losses: torch.Tensor,
    grad: torch.Tensor | None,
) -> None:
    n_rows, n_classes = logits.shape
    unit = math.gcd(n_classes, logits.stride(0), 16)
    block = triton.next_power_of_2(n_classes)
    rows, warps = tile_shape(block)
    _tile[(triton.cdiv(n_rows, rows),)](
        logits, target, logits if costs is None else costs, scale, losses, losses if grad is None else grad,
        n_rows, n_classes // unit, logits.stride(0) // unit, _finite(alpha), ignore_index,
        kind=_kind_of(alpha), priced=costs is not None, wanted=grad is not None, unit=unit,
        rows_per_tile=rows, block=block, num_warps=warps,
    )  # fmt: skip


def _launch_slices(
    logits: torch.Tensor,
    target: torch.Tensor,
    alpha: float,
    costs: torch.Tensor | None,
    ignore_index: int,
    scale: torch.Tensor,
    losses: torch.Tensor,
    grad: torch.Tensor | None,
) -> None:
    n_rows, n_classes = logits.shape
    unit = math.gcd(n_classes, logits.stride(0), 16)
    block, blocks, warps = slice_shape(n_rows, n_classes)
    slices = triton.cdiv(n_classes, block * blocks)
    partial = torch.empty((2, n_rows, slices), dtype=torch.float32, device=logits.device)
    out = losses if grad is None else grad
    _slice[(n_rows, slices)](
        logits, target, logits if costs is None else costs, scale, partial, out,
        n_rows, n_classes // unit, logits.stride(0) // unit, _finite(alpha),
        kind=_kind_of(alpha), priced=costs is not None, wanted=grad is not None, unit=unit,
        blocks_per_slice=blocks, block=block, num_warps=warps,
    )  # fmt: skip
    rows = max(1, 1024 // triton.next_power_of_2(slices))
    _finish[(triton.cdiv(n_rows, rows),)](
        partial, target, scale, losses, out, n_rows, n_classes, slices, _finite(alpha), ignore_index,
        wanted=grad is not None, rows_per_program=rows, slices=triton.next_power_of_2(slices),
    )  # fmt: skip


def tile_shape(block: int) -> tuple[int, int]:
    """Rows a tile and warps a program; 16 elements a thread measured fastest."""
    rows = max(1, SHORT_TILE // block) if block < SHORT_TILE // 2 else 1
    return rows, min(8, max(1, rows * block // 512))


def slice_shape(n_rows: int, n_classes: int) -> tuple[int, int, int]:
    """Columns a block, blocks a slice and warps a program; fewer blocks where rows alone don't fill the device."""
    blocks = 32
    while blocks > 1 and n_rows * triton.cdiv(n_classes, 1024 * blocks) < ENOUGH_PROGRAMS:
        blocks //= 2
    return 1024, blocks, 4


def scale_(grad: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
    """Multiply a gradient buffer of our own by a 0-d tensor, without waiting for the device."""
    block = 4096
    if grad.numel():
        _scale[(triton.cdiv(grad.numel(), block),)](grad, factor, grad.numel(), block=block)
    return grad
