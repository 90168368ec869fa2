"""The Triton loops at work: shapes that measured fastest, buffers, launches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl

from pandora_regret.kernels.gpu_loops import (
    POWER,
    RANKS,
    SMALL,
    ZERO,
    count_loop,
    finish_loop,
    scale_loop,
    slice_loop,
    tile_loop,
)

LONGEST_TILE = 4096  # longer rows are cut into slices
SHORT_TILE = 2048  # short rows share a tile of this many elements
SLICE_BLOCK, BLOCKS_PER_SLICE = 1024, 42  # as measured fastest on an H200
ENOUGH_PROGRAMS = 4096
COUNT_BLOCK = SCALE_BLOCK = 4096


@dataclass(frozen=True)
class _Work:
    logits: torch.Tensor
    target: torch.Tensor
    alpha: float
    costs: torch.Tensor | None
    ignore_index: int
    scale: torch.Tensor
    summed: bool
    grad: torch.Tensor | None

    @property
    def unit(self) -> int:
        return math.gcd(self.logits.shape[1], self.logits.stride(0), 16)

    @property
    def finite_alpha(self) -> float:
        """At alpha = inf the slope is 0 everywhere, and 0 times inf would be NaN."""
        return self.alpha if self.alpha < float("inf") else 0.0

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, and classes and stride in units."""
        return len(self.logits), self.logits.shape[1] // self.unit, self.logits.stride(0) // self.unit

    @property
    def switches(self) -> dict[str, Any]:
        """What kernels are compiled for."""
        return {
            "kind": _kind_of(self.alpha),
            "priced": self.costs is not None,
            "wanted": self.grad is not None,
            "unit": self.unit,
        }

    def new_losses(self, programs: int) -> torch.Tensor:
        size = programs if self.summed else len(self.logits)
        return torch.empty(size, dtype=torch.float32, device=self.logits.device)


def beta_loss_rows(
    logits: torch.Tensor,
    target: torch.Tensor,
    *,
    alpha: float,
    costs: torch.Tensor | None,
    ignore_index: int,
    scale: torch.Tensor,
    want_grad: bool,
    summed: bool = False,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """``sum_j C_j L_alpha(q_i / q_j)`` of every row in float32, and `scale` times its gradient in the logits.

    An ignored row has loss and gradient 0; a target outside 0 to K - 1 has loss NaN. If only the sum of the losses
    is of interest, `summed` has partial sums returned, fewer than there are rows.
    """
    logits = logits if logits.stride(-1) == 1 else logits.contiguous()
    grad = torch.empty(logits.shape, dtype=logits.dtype, device=logits.device) if want_grad else None
    if len(logits) == 0:
        return torch.zeros(0, dtype=torch.float32, device=logits.device), grad
    launch = _launch_tiles if logits.shape[1] <= LONGEST_TILE else _launch_slices
    work = _Work(logits, target.contiguous(), alpha, costs, ignore_index, scale, summed, grad)
    return launch(work), grad


def count_valid(target: torch.Tensor, ignore_index: int) -> torch.Tensor:
    """How many targets are not to be ignored, on their device, without a temporary of their size."""
    count = torch.zeros((), dtype=torch.int32, device=target.device)
    if target.numel():
        count_loop[(triton.cdiv(target.numel(), COUNT_BLOCK),)](
            target.contiguous(), count, target.numel(), ignore_index, block=COUNT_BLOCK
        )
    return count


def _kind_of(alpha: float) -> tl.constexpr:
    if alpha == float("inf"):
        return RANKS
    return ZERO if alpha == 0 else (SMALL if alpha < 0.1 else POWER)


def _launch_tiles(work: _Work) -> torch.Tensor:
    block = triton.next_power_of_2(work.logits.shape[1])
    rows, warps = tile_shape(block)
    programs = triton.cdiv(len(work.logits), rows)
    losses = work.new_losses(programs)
    tile_loop[(programs,)](
        work.logits, work.target, losses if work.costs is None else work.costs, work.scale,
        losses, losses if work.grad is None else work.grad, *work.shape, work.finite_alpha, work.ignore_index,
        **work.switches, summed=work.summed, rows_per_tile=rows, block=block, num_warps=warps,
    )  # fmt: skip
    return losses


def _launch_slices(work: _Work) -> torch.Tensor:
    n_rows, n_classes = work.logits.shape
    block, blocks, warps = slice_shape(n_rows, n_classes)
    slices = triton.cdiv(n_classes, block * blocks)
    partial = torch.empty((2, n_rows, slices), dtype=torch.float32, device=work.logits.device)
    rows = max(1, 1024 // triton.next_power_of_2(slices))
    programs = triton.cdiv(n_rows, rows)
    losses = work.new_losses(programs)
    grad = losses if work.grad is None else work.grad
    slice_loop[(n_rows, slices)](
        work.logits, work.target, losses if work.costs is None else work.costs, work.scale,
        partial, grad, *work.shape, work.finite_alpha,
        **work.switches, blocks_per_slice=blocks, block=block, num_warps=warps,
    )  # fmt: skip
    finish_loop[(programs,)](
        partial, work.target, losses, grad,
        n_rows, n_classes, slices, work.ignore_index, wanted=work.grad is not None,
        summed=work.summed, rows_per_program=rows, slices=triton.next_power_of_2(slices),
    )  # fmt: skip
    return losses


def tile_shape(block: int) -> tuple[int, int]:
    """Rows per tile and warps per program; 16 elements per thread measured fastest."""
    rows = max(1, SHORT_TILE // block) if block < SHORT_TILE // 2 else 1
    return rows, min(8, max(1, rows * block // 512))


def slice_shape(n_rows: int, n_classes: int) -> tuple[int, int, int]:
    """Columns per block, blocks per slice, warps per program: even slices, more if rows don't fill the device."""
    blocks = triton.cdiv(n_classes, SLICE_BLOCK)
    slices = max(1, round(blocks / BLOCKS_PER_SLICE), min(blocks, ENOUGH_PROGRAMS // n_rows))
    return SLICE_BLOCK, triton.cdiv(blocks, slices), 4


def scale_(grad: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
    """Multiply a gradient buffer of our own by a 0-d tensor, without waiting for the device."""
    blocks = triton.cdiv(grad.numel(), SCALE_BLOCK)
    if blocks:
        scale_loop[(min(blocks, ENOUGH_PROGRAMS),)](grad, factor, grad.numel(), block=SCALE_BLOCK)
    return grad
