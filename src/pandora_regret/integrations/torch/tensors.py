"""The door for tensors: logits, targets and costs become rows; what would make the device wait is not checked."""

from collections.abc import Iterator, MutableMapping
from typing import Literal, TypeAlias

import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from pandora_regret.core.inputs import (
    InputError,
    InputTypeError,
    check_costs,
    check_shape,
    read_floats,
    read_number,
)

Reduction = Literal["mean", "sum", "none"]
TensorLike: TypeAlias = Tensor | ArrayLike

REDUCTIONS: tuple[Reduction, ...] = ("mean", "sum", "none")

LEAST_COST = 1e-30  # so that costs, and sums of many of them, fit float32
LARGEST_COST = 1e30
CPU_BLOCK = 1 << 18  # numbers at a time: what a cache holds; what keeps a device busy
DEVICE_BLOCK = 1 << 24


def read_tensors(values: Tensor, target: Tensor, name: str = "logits") -> tuple[Tensor, Tensor, torch.Size]:
    """Forecasts (N, K), targets (N,) of int64 or (N, K), and the shape of one value per instance.

    The dimension of classes is the second, or the only one.
    """
    plain = (
        values.ndim == 2 and target.ndim == 1 and target.dtype == torch.int64 and values.device == target.device
    )
    if plain and values.shape[1] > 1 and len(target) == len(values) and values.is_floating_point():
        return values, target, target.shape  # in a step of a small model, a few views would show
    if not values.is_floating_point():
        fix = f"pass floating point, as in {name}.float()"
        raise InputTypeError(f"has dtype {values.dtype}", argument=name, value=values.dtype, fix=fix)
    class_dim = min(1, values.ndim - 1)
    if values.ndim == 0 or values.shape[class_dim] < 2:
        fix = "pass (K,), (N, K) or (N, K, d1, ...) with at least two classes, K"
        shape = tuple(values.shape)
        raise InputError(f"has shape {shape}", argument=name, value=shape, fix=fix)
    shape = values.shape[:class_dim] + values.shape[class_dim + 1 :]
    soft = target.is_floating_point()
    if target.is_complex() or target.dtype == torch.bool:
        fix = "pass class numbers (int64), or probabilities"
        raise InputTypeError(f"has dtype {target.dtype}", argument="target", value=target.dtype, fix=fix)
    wanted = values.shape if soft else shape
    if target.shape != wanted:
        kind = "probabilities" if soft else "class numbers"
        problem = f"has shape {tuple(target.shape)} but {name} has shape {tuple(values.shape)}"
        fix = f"a target of {kind} must have shape {tuple(wanted)}"
        raise InputError(problem, argument="target", value=tuple(target.shape), fix=fix)
    if target.device != values.device:
        problem = f"is on {target.device} but {name} is on {values.device}"
        raise InputError(problem, argument="target", value=target.device, fix="move one to the other")
    target = _flat(target, class_dim) if soft else target.reshape(-1).long()
    return _flat(values, class_dim), target, shape


def _flat(table: Tensor, class_dim: int) -> Tensor:
    """Rows, (N, K), of a table whose dimension of classes is any."""
    return table.movedim(class_dim, -1).reshape(-1, table.shape[class_dim])


def row_blocks(values: Tensor, copies: int = 1) -> Iterator[slice]:
    """Consecutive rows, few enough at a time that temporaries, so many copies of them, stay small."""
    block = CPU_BLOCK if values.device.type == "cpu" else DEVICE_BLOCK
    step = max(1, block // (values.shape[1] * copies))
    return (slice(start, start + step) for start in range(0, len(values), step))


def check_targets(target: Tensor, n_classes: int, ignore_index: int | None = None) -> None:
    """Every target a class, or an error that names the first that is not."""
    bad = (target < 0) | (target >= n_classes)
    bad = bad if ignore_index is None else bad & (target != ignore_index)
    if bad.any():
        row = int(bad.int().argmax())
        unless = "" if ignore_index is None else f", or {ignore_index} (ignore_index) for a row to leave out"
        fix = f"pass a class from 0 to {n_classes - 1}{unless}"
        raise InputError(argument="target", row=row, value=int(target[row]), fix=fix)


def refuse_gradient(tensor: object, name: str) -> None:
    """Raise if a tensor wants a gradient that it would not get."""
    if isinstance(tensor, Tensor) and tensor.requires_grad:
        problem = "requires a gradient, but only logits get one"
        raise InputError(problem, argument=name, fix=f"pass {name}.detach()")


def read_reduction(reduction: str) -> Reduction:
    """One of PyTorch's three reductions, or an error."""
    for known in REDUCTIONS:
        if reduction == known:
            return known
    raise InputError(argument="reduction", value=reduction, fix=f"it must be one of {REDUCTIONS}")


def read_smoothing(label_smoothing: float) -> float:
    """A number from 0 to 1, or an error."""
    return read_number(label_smoothing, "label_smoothing", lambda share: 0 <= share <= 1, "it must lie in [0, 1]")


def read_class_costs(costs: TensorLike | None) -> Tensor | None:
    """Costs of the classes, (K,), checked, on the CPU in double precision; those on an accelerator as they are.

    Compiled code reads their shape only: to look at values would end its graph.
    """
    refuse_gradient(costs, "costs")
    if costs is None:
        return None
    if isinstance(costs, Tensor) and not costs.is_cpu:
        return costs
    if torch.compiler.is_compiling():
        return torch.as_tensor(costs, dtype=torch.float64)
    array = check_costs(read_floats(_plain_numbers(costs), "costs"), "costs")
    check_shape(array, "costs", "pass one cost per class, shape (K,)", (array.size,))
    if array.min() < LEAST_COST or array.max() > LARGEST_COST:
        problem = f"go from {array.min():g} to {array.max():g}"
        fix = f"in float32 they must lie between {LEAST_COST:g} and {LARGEST_COST:g}; count them in another unit"
        raise InputError(problem, argument="costs", fix=fix)
    return torch.from_numpy(array)


def _plain_numbers(costs: TensorLike) -> ArrayLike:
    """What NumPy can read, also while torch.func transforms the caller: it wraps tensors, but no lists."""
    if not isinstance(costs, Tensor):
        return costs
    if not torch._C._are_functorch_transforms_active():
        array: ArrayLike = costs.numpy()
        return array
    if torch._C._functorch.is_batchedtensor(costs):
        fix = "vmap over logits and targets only"
        raise InputError("must be the same for all", argument="costs", fix=fix)
    numbers: list[float] = costs.tolist()
    return numbers


_COPIES: MutableMapping[Tensor, dict[tuple[torch.device, torch.dtype], Tensor]] = WeakTensorKeyDictionary()


def costs_on(costs: Tensor | None, n_classes: int, device: torch.device, dtype: torch.dtype) -> Tensor | None:
    """Costs on that device, in that precision; copies of CPU costs on a device are kept: moving is waiting."""
    if costs is None:
        return None
    check_shape(costs, "costs", f"pass one for each of {n_classes} classes, ({n_classes},)", (n_classes,))
    if not costs.is_cpu or device.type == "cpu":
        return costs.to(device, dtype)
    copies = _COPIES.setdefault(costs, {})
    if (device, dtype) not in copies:
        copies[device, dtype] = costs.to(device, dtype)
    return copies[device, dtype]
