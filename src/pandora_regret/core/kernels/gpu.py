"""The Triton loops at work: shapes that measured fastest, buffers, launches."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import torch
import triton
from torch import Tensor

from pandora_regret.core.kernels import gpu_loops
from pandora_regret.core.kernels.gpu_loops import count_loop, row_loop, scale_loop

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
SCALE_BLOCK = 4096
SCALE_PROGRAMS = 4096
SMALL_GRADIENT = 1 << 24  # bytes that are multiplied sooner than Triton launches


class LogitRows(NamedTuple):
    """What the loops read: logits (N, K), targets (N,), and how they become losses."""

    logits: Tensor
    target: Tensor
    alpha: float
    costs: Tensor | None
    ignore_index: int


def reduced_loss(rows: LogitRows, reduction: Reduction, *, want_grad: bool) -> tuple[Tensor, Tensor | None]:
    """The loss of at least one row in float32, and its gradient, (N, K).

    An ignored row has loss and gradient 0; a target outside 0 to K - 1 has loss NaN. Without reduction, the
    gradient is that of the sum.
    """
    if reduction == "none":
        return _launch(rows, None, SUM, ROWS, want_grad)
    counts = None
    weighing = MEAN if reduction == "mean" else SUM
    if weighing == MEAN and rows.target.shape[0] > COUNTED_INSIDE:
        target = rows.target.contiguous()
        n_rows = len(target)
        device = target.device
        weighing = MEAN_OF_COUNTED
        counts = torch.empty(COUNT_PROGRAMS, dtype=torch.int32, device=device)  # which have to be added
        key = (rows.ignore_index, device, *_kind_of_number(n_rows))
        COUNTER.launch((target, counts, n_rows, rows.ignore_index), key, (target,), current_stream(device))
    return _launch(rows, counts, weighing, TOTAL, want_grad)


def row_gradients(rows: LogitRows, weights: Tensor) -> Tensor:
    """The gradients of at least one row, times its weight, (N,), or that of all, ()."""
    grad = _launch(rows, weights, WEIGHTED, NOTHING, True)[1]
    assert grad is not None
    return grad


def scale_(grad: Tensor, factor: Tensor) -> Tensor:
    """Multiply a gradient of our own by a 0-d tensor, without waiting for the device."""
    size = grad.numel()
    if size * grad.element_size() <= SMALL_GRADIENT:
        return grad.mul_(factor)
    key = (grad.dtype, factor.dtype, grad.device, *_kind_of_number(size))
    SCALER.launch((grad, factor, size), key, (grad, factor), current_stream(grad.device))
    return grad


def add_tile(
    logits: Tensor,
    ours: Tensor,
    own: Tensor,
    prices: tuple[Tensor, Tensor] | None,
    alpha: float,
    *sums: Tensor,
) -> None:
    """Add the losses and slopes of a tile of classes, (N, W), to those of its rows; logits become gradients."""
    costs, our_costs = (ours, ours) if prices is None else prices
    switches = {"kind": kind_of(alpha), "priced": prices is not None, "block": 2048, "num_warps": 8}
    pointers = (logits, ours, own, costs.contiguous(), our_costs, *sums)
    gpu_loops.add_tile_loop[(len(logits),)](*pointers, logits.shape[1], float(alpha), **switches)


def kind_of(alpha: float) -> int:
    """Which formula of a pair's loss holds."""
    if alpha == math.inf:
        return RANKS
    if alpha == 0:
        return ZERO
    return SMALL if alpha < 0.1 else POWER


def _kind_of_number(value: int) -> tuple[bool, bool]:
    """What Triton compiles differently for: multiples of 16, and numbers that take 64 bits."""
    return value % 16 == 0, value >= 2**31


def _launch(
    rows: LogitRows, weights: Tensor | None, weighing: int, stored: int, want_grad: bool
) -> tuple[Tensor, Tensor | None]:
    """Run the loop over all rows: what it stores of their losses, (N,) or (), and the gradient, (N, K), if wanted.

    Parameters
    ----------
    rows
        N rows of at least one.
    weights
        What rows are multiplied by, (N,) or (); for MEAN_OF_COUNTED how many rows each program has counted.
    weighing
        SUM, MEAN, MEAN_OF_COUNTED or WEIGHTED.
    stored
        NOTHING, ROWS or TOTAL of the losses. A total of many programs is added up after the loop, from TOTALS.
    want_grad
        Whether there is to be a gradient.
    """
    logits, target, alpha, costs, ignore_index = rows
    logits = logits if logits.stride(-1) == 1 else logits.contiguous()
    n_rows, n_classes = logits.shape
    device = logits.device
    plan, class_units, stride_units = plan_of(n_rows, n_classes, logits.stride(0))
    stored = TOTALS if stored == TOTAL and plan.programs > ADDED_INSIDE else stored
    size = {ROWS: (n_rows,), TOTALS: (plan.programs,)}.get(stored, ())
    losses = torch.empty(size, dtype=torch.float32, device=device)
    grad = torch.empty((n_rows, n_classes), dtype=logits.dtype, device=device) if want_grad else None
    stream = current_stream(device)
    unused = losses  # a loop takes a pointer also for what it does not look at
    partial, turns = _workspace(device, stream) if stored == TOTAL else (unused, unused)
    inputs = (
        logits, target.contiguous(), unused if costs is None else costs, unused if weights is None else weights
    )  # fmt: skip
    outputs = (losses, partial, turns, unused if grad is None else grad)
    finite_alpha = float(alpha) if alpha < math.inf else 0.0  # at inf the slope is 0, and 0 times inf would be NaN
    weight_stride = weights.stride(0) if weights is not None and weights.ndim else 0
    numbers = (n_rows, class_units, stride_units, finite_alpha, weight_stride, ignore_index)
    switches = (kind_of(alpha), weighing, stored, costs is not None, want_grad)
    key = (*switches, weight_stride, ignore_index, logits.dtype, inputs[3].dtype, device)
    plan.launch((*inputs, *outputs, *numbers, *switches), key, inputs, stream)
    return losses.sum() if stored == TOTALS else losses, grad


def current_stream(device: torch.device) -> int:
    """The stream that work goes to, as Triton asks for it: `torch.cuda.current_stream` takes longer to answer."""
    return triton.runtime.driver.active.get_current_stream(device.index) if device.type == "cuda" else 0


_WORKSPACES: dict[tuple[torch.device, int], tuple[Tensor, Tensor]] = {}


def _workspace(device: torch.device, stream: int) -> tuple[Tensor, Tensor]:
    """Room for one number per program, and a count of programs that every launch leaves at 0.

    Launches of one stream follow each other and share theirs; a graph that is being captured gets its own, as it
    may run on any stream.
    """
    capturing = device.type == "cuda" and torch.cuda.is_current_stream_capturing()
    if capturing or (device, stream) not in _WORKSPACES:
        partial = torch.empty(ADDED_INSIDE, dtype=torch.float32, device=device)
        workspace = partial, torch.zeros((), dtype=torch.int32, device=device)
        if capturing:
            return workspace
        _WORKSPACES[device, stream] = workspace
    return _WORKSPACES[device, stream]


class Launcher:
    """A loop, how many programs run it, and the kernels that were compiled for it.

    Triton examines every argument at every launch. What it looks for is settled here by a launcher's shapes and
    a key, but for the alignment of tensors; so kernels compiled for aligned ones are kept.
    """

    def __init__(self, loop: Any, programs: int, constants: dict[str, int]) -> None:
        self.loop = loop
        self.programs = programs
        self.grid = (programs, 1, 1)
        self.constants = constants
        self.sizes = tuple(size for name, size in constants.items() if name != "num_warps")
        self.compiled: dict[tuple[Any, ...], Callable[..., None]] = {}

    def launch(self, args: tuple[Any, ...], key: tuple[Any, ...], inputs: tuple[Tensor, ...], stream: int) -> None:
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


COUNTER = Launcher(count_loop, COUNT_PROGRAMS, {})
SCALER = Launcher(scale_loop, SCALE_PROGRAMS, {"block": SCALE_BLOCK})


@lru_cache(maxsize=1024)
def plan_of(n_rows: int, n_classes: int, stride: int) -> tuple[Launcher, int, int]:
    """The loop for a table, how it is dealt to programs, and its width and stride in units.

    In a tile, 16 elements per thread measured fastest; in a long row 8.
    """
    unit = math.gcd(n_classes, stride, 16)
    rows = 1
    long = n_classes > LONGEST_TILE
    if long:
        block, warps = (2048, 8) if n_rows > FEW_ROWS else (4096, 16)
    else:
        block = triton.next_power_of_2(n_classes)
        rows = max(1, SHORT_TILE // block) if block < SHORT_TILE // 2 else 1
        warps = min(8, max(1, rows * block // 512))
    shape = {"unit": unit, "rows_per_tile": rows, "block": block, "long": long, "num_warps": warps}
    return Launcher(row_loop, triton.cdiv(n_rows, rows), shape), n_classes // unit, stride // unit
