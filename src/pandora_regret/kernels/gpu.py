"""The Triton loops at work: shapes that measured fastest, buffers, launches."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import torch
import triton

from pandora_regret.kernels import gpu_loops
from pandora_regret.kernels.gpu_loops import count_loop, row_loop, scale_loop, tile_loop

Reduction = Literal["mean", "sum", "none"]

ZERO, SMALL, POWER, RANKS = range(4)  # the numbers of gpu_loops: its own are objects, slow to compare
SUM, MEAN, MEAN_OF_COUNTED, WEIGHTED = range(4)
NOTHING, ROWS, TOTALS, TOTAL = range(4)
TAKES_CONSTANTS = tuple(int(part) for part in triton.__version__.split(".")[:2]) >= (3, 2)  # compiled kernels do

LONGEST_TILE = 4096  # longer rows are read block by block
SHORT_TILE = 2048  # short rows share a tile of this many elements
FEW_ROWS = 256  # so few long rows leave multiprocessors idle, and get more warps each
COUNTED_INSIDE = 1024  # targets that every program counts for itself, which spares a launch
COUNT_PROGRAMS = gpu_loops.COUNT_PROGRAMS.value
ADDED_INSIDE = gpu_loops.FINISH_BLOCK.value  # programs whose losses the last of them adds up, which spares another
SCALE_BLOCK, SCALE_PROGRAMS = 4096, 4096
SMALL_GRADIENT = 1 << 24  # bytes that are multiplied sooner than Triton launches


class LogitRows(NamedTuple):
    """What the loops read: logits (N, K), targets (N,), and how they become losses."""

    logits: torch.Tensor
    target: torch.Tensor
    alpha: float
    costs: torch.Tensor | None
    ignore_index: int


def reduced_loss(
    rows: LogitRows, reduction: Reduction, *, want_grad: bool
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The loss of at least one row in float32, and its gradient, (N, K).

    An ignored row has loss and gradient 0; a target outside 0 to K - 1 has loss NaN. Without reduction, the
    gradient is that of the sum.
    """
    if reduction == "none":
        return _launch(rows, None, SUM, ROWS, want_grad)
    counts, weighing = None, MEAN if reduction == "mean" else SUM
    if weighing == MEAN and rows.target.shape[0] > COUNTED_INSIDE:
        counts, weighing = _count(rows.target, rows.ignore_index), MEAN_OF_COUNTED
    return _launch(rows, counts, weighing, TOTAL, want_grad)


def row_gradients(rows: LogitRows, weights: torch.Tensor) -> torch.Tensor:
    """The gradients of at least one row, times its weight, (N,), or that of all, ()."""
    grad = _launch(rows, weights, WEIGHTED, NOTHING, True)[1]
    assert grad is not None
    return grad


def _count(target: torch.Tensor, ignore_index: int) -> torch.Tensor:
    """How many targets are not to be ignored, as a few numbers that have to be added."""
    counts = torch.empty(COUNT_PROGRAMS, dtype=torch.int32, device=target.device)
    target = target.contiguous()
    args = (target, counts, target.shape[0], ignore_index)
    _counter(target.shape[0]).launch(args, (ignore_index, target.device), (target,), current_stream(target.device))
    return counts


@lru_cache(maxsize=1024)
def _counter(_n_rows: int) -> Launcher:
    return Launcher(count_loop, COUNT_PROGRAMS, {})


def scale_(grad: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
    """Multiply a gradient of our own by a 0-d tensor, without waiting for the device."""
    if grad.numel() * grad.element_size() <= SMALL_GRADIENT:
        return grad.mul_(factor)
    key = (grad.dtype, factor.dtype, grad.device)
    _scaler(grad.numel()).launch((grad, factor, grad.numel()), key, (grad, factor), current_stream(grad.device))
    return grad


@lru_cache(maxsize=1024)
def _scaler(n_elements: int) -> Launcher:
    programs = min(triton.cdiv(n_elements, SCALE_BLOCK), SCALE_PROGRAMS)
    return Launcher(scale_loop, programs, {"block": SCALE_BLOCK})


def _launch(
    rows: LogitRows, weights: torch.Tensor | None, weighing: int, stored: int, want_grad: bool
) -> tuple[torch.Tensor, torch.Tensor | None]:
    logits, target, alpha, costs, ignore_index = rows
    logits = logits if logits.stride(-1) == 1 else logits.contiguous()
    n_rows, n_classes = logits.shape
    device, plan = logits.device, plan_of(n_rows, n_classes, logits.stride(0))
    stored = TOTALS if stored == TOTAL and plan.programs > ADDED_INSIDE else stored
    size = {ROWS: (n_rows,), TOTALS: (plan.programs,)}.get(stored, ())
    losses = torch.empty(size, dtype=torch.float32, device=device)
    grad = torch.empty((n_rows, n_classes), dtype=logits.dtype, device=device) if want_grad else None
    stream = current_stream(device)
    partial, turns = _workspace(device, stream) if stored == TOTAL else (losses, losses)
    inputs = (
        logits, target.contiguous(), losses if costs is None else costs, losses if weights is None else weights
    )  # fmt: skip
    outputs = (losses, partial, turns, losses if grad is None else grad)
    finite_alpha = float(alpha) if alpha < math.inf else 0.0  # at inf the slope is 0, and 0 times inf would be NaN
    weight_stride = weights.stride(0) if weights is not None and weights.ndim else 0
    numbers = (n_rows, plan.class_units, plan.stride_units, finite_alpha, weight_stride, ignore_index)
    switches = (_kind_of(alpha), weighing, stored, costs is not None, want_grad)
    key = (*switches, weight_stride, ignore_index, logits.dtype, inputs[3].dtype, device)
    plan.launch((*inputs, *outputs, *numbers, *switches), key, inputs, stream)
    return losses.sum() if stored == TOTALS else losses, grad


def current_stream(device: torch.device) -> int:
    """The stream that work goes to, as Triton asks for it: `torch.cuda.current_stream` takes longer to answer."""
    return triton.runtime.driver.active.get_current_stream(device.index) if device.type == "cuda" else 0


_WORKSPACES: dict[tuple[torch.device, int], tuple[torch.Tensor, torch.Tensor]] = {}


def _workspace(device: torch.device, stream: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Room for one number per program, and a count of programs that every launch leaves at 0.

    Launches of one stream follow each other and share theirs; a graph that is being captured gets its own, as it
    may run on any stream.
    """
    if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
        return _new_workspace(device)
    if (device, stream) not in _WORKSPACES:
        _WORKSPACES[device, stream] = _new_workspace(device)
    return _WORKSPACES[device, stream]


def _new_workspace(device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    partial = torch.empty(ADDED_INSIDE, dtype=torch.float32, device=device)
    return partial, torch.zeros((), dtype=torch.int32, device=device)


class Launcher:
    """A loop, how many programs run it, and the kernels that were compiled for it.

    Triton examines every argument at every launch. What it looks for is settled here by a launcher's shapes and
    a key, but for the alignment of tensors; so kernels compiled for aligned ones are kept.
    """

    def __init__(self, loop: Any, programs: int, constants: dict[str, int]) -> None:
        self.loop, self.programs, self.grid = loop, programs, (programs, 1, 1)
        self.constants = constants
        self.sizes = tuple(size for name, size in constants.items() if name != "num_warps")
        self.compiled: dict[tuple[Any, ...], Callable[..., None]] = {}

    def launch(
        self, args: tuple[Any, ...], key: tuple[Any, ...], inputs: tuple[torch.Tensor, ...], stream: int
    ) -> None:
        """Run the loop: `inputs` are those of the arguments that may lie anywhere."""
        pointers = 0
        for tensor in inputs:
            pointers |= tensor.data_ptr()
        run = None if pointers & 15 else self.compiled.get(key)
        if run is not None:
            run(*args, *self.sizes, stream=stream)
            return
        kernel = self.loop[self.grid](*args, **self.constants)
        if not pointers & 15 and kernel is not None and TAKES_CONSTANTS:
            self.compiled[key] = kernel[self.grid]


class TableLauncher(Launcher):
    """How a table is dealt to programs."""

    def __init__(self, loop: Any, programs: int, n_classes: int, stride: int, constants: dict[str, int]) -> None:
        unit = math.gcd(n_classes, stride, 16)
        super().__init__(loop, programs, {"unit": unit, **constants})
        self.class_units, self.stride_units = n_classes // unit, stride // unit


@lru_cache(maxsize=1024)
def plan_of(n_rows: int, n_classes: int, stride: int) -> TableLauncher:
    """The loop for a table, and its shapes."""
    if n_classes > LONGEST_TILE:
        block, warps = row_shape(n_rows)
        return TableLauncher(row_loop, n_rows, n_classes, stride, {"block": block, "num_warps": warps})
    block = triton.next_power_of_2(n_classes)
    rows, warps = tile_shape(block)
    constants = {"rows_per_tile": rows, "block": block, "num_warps": warps}
    return TableLauncher(tile_loop, triton.cdiv(n_rows, rows), n_classes, stride, constants)


def tile_shape(block: int) -> tuple[int, int]:
    """Rows per tile and warps per program; 16 elements per thread measured fastest."""
    rows = max(1, SHORT_TILE // block) if block < SHORT_TILE // 2 else 1
    return rows, min(8, max(1, rows * block // 512))


def row_shape(n_rows: int) -> tuple[int, int]:
    """Columns per block and warps per program; 8 elements per thread measured fastest."""
    return (2048, 8) if n_rows > FEW_ROWS else (4096, 16)


def _kind_of(alpha: float) -> int:
    if alpha == math.inf:
        return RANKS
    return ZERO if alpha == 0 else (SMALL if alpha < 0.1 else POWER)
