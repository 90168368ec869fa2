"""Depthwise convolutions without cuDNN, which plans and compiles a kernel for every new shape of one.

That takes longer, about 0.15 s a shape on an H200, than thousands of images need for the whole network, and every
encoder of a zoo has its own shapes. PyTorch's own kernel is there at once.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING, Any

from pandora_regret.optional import import_optional

if TYPE_CHECKING:
    import torch

    Pair = int | tuple[int, int]


def native_depthwise() -> AbstractContextManager[Any]:
    """Within this context and this thread, depthwise convolutions on a GPU are PyTorch's own."""
    mode: AbstractContextManager[Any] = _mode()()
    return mode


@cache
def _mode() -> Any:
    torch = import_optional("torch", extra="images")

    class NativeDepthwise(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            options = kwargs or {}
            return (_convolve if function is torch.conv2d else function)(*args, **options)

    return NativeDepthwise


def _is_depthwise(input: torch.Tensor, padding: Pair | str, groups: int) -> bool:
    return 1 < groups == input.shape[1] and input.is_cuda and input.ndim == 4 and not isinstance(padding, str)


def _convolve(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: Pair = 1,
    padding: Pair | str = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Any:
    """What torch.conv2d does, autocast included, without cuDNN; the layout in memory stays the input's."""
    torch: Any = import_optional("torch", extra="images")
    if not _is_depthwise(input, padding, groups):
        return torch.conv2d(input, weight, bias, stride, padding, dilation, groups)
    dtype = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else input.dtype
    last = input.is_contiguous(memory_format=torch.channels_last)
    result = torch.ops.aten._conv_depthwise2d(
        input.to(dtype, memory_format=torch.contiguous_format),
        weight.to(dtype, memory_format=torch.contiguous_format),
        tuple(weight.shape[2:]),
        None if bias is None else bias.to(dtype),
        _pair(stride),
        _pair(padding),
        _pair(dilation),
    )
    return result.contiguous(memory_format=torch.channels_last if last else torch.contiguous_format)


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[-1])
