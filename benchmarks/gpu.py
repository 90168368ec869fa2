"""What a training step's loss costs on the GPU, against yardsticks of the same run.

Run with ``python benchmarks/gpu.py`` on a CUDA device. The floor is a device copy of the logits: the same bytes
read and written. Three tables:

- on the device: medians of CUDA graph replays, so that launching does not count. "Loss and gradient" is the fused
  pass alone; a step is forward and backward through autograd, with the mean and the scaling by the factor it gets;
- a linear layer and its loss in one: the yardstick is the three matrix products of every step; torch's own
  layer and cross-entropy, and Liger's fused one where it is installed, stand beside it;
- eager: the same step as most people run it, by the wall clock. In a training loop the host runs ahead of the
  device, so the promise is about steps one after the other; a step alone, from the call on an idle device until
  the device is idle again, stands beside it;
- compiled: the same step of both losses under ``torch.compile``, by the clock; with few logits the host is all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from statistics import median
from time import perf_counter
from typing import Any

import torch
import triton
from torch.nn.functional import cross_entropy, linear
from triton.testing import do_bench_cudagraph

from pandora_regret.core.kernels import gpu
from pandora_regret.integrations.torch import PandoraLoss, linear_pandora_loss, pandora_loss

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Claim:
    rows: int
    classes: int
    dtype: torch.dtype

    def __str__(self) -> str:
        return f"{self.rows:,} x {self.classes:,} {str(self.dtype)[6:]}"

    def batch(self) -> tuple[torch.Tensor, torch.Tensor]:
        torch.manual_seed(0)
        x = torch.empty(self.rows, self.classes, dtype=self.dtype, device="cuda").normal_().requires_grad_()
        return x, torch.randint(0, self.classes, (self.rows,), device="cuda")


@dataclass(frozen=True)
class DeviceClaim(Claim):
    of_copy: float  # loss and gradient take at most so many times the copy
    of_compiled: float  # and compiled cross-entropy at least so many times as long


@dataclass(frozen=True)
class EagerClaim(Claim):
    of_eager: float  # a step takes at most so many times eager cross-entropy's
    of_copy: float | None = None  # and so many times the copy


ON_THE_DEVICE = [
    DeviceClaim(8192, 128_256, torch.bfloat16, of_copy=1.15, of_compiled=2.0),
    DeviceClaim(4096, 32_000, torch.bfloat16, of_copy=1.3, of_compiled=1.0),
    DeviceClaim(65_536, 1000, torch.bfloat16, of_copy=1.75, of_compiled=1.0),
    DeviceClaim(65_536, 1000, torch.float32, of_copy=1.6, of_compiled=1.0),
    DeviceClaim(1_048_576, 16, torch.float32, of_copy=3.0, of_compiled=0.0),
]
IN_A_ROW = 20  # steps before anybody waits for the device
EAGER = [
    EagerClaim(512, 1000, torch.float32, of_eager=1.4),
    EagerClaim(4096, 32_000, torch.bfloat16, of_eager=1.0),
    EagerClaim(65_536, 1000, torch.float32, of_eager=1.0),
    EagerClaim(1_048_576, 16, torch.float32, of_eager=1.0),
    EagerClaim(8192, 128_256, torch.bfloat16, of_eager=1.0, of_copy=1.3),
    EagerClaim(16_384, 151_936, torch.bfloat16, of_eager=1.0, of_copy=1.2),
]


def on_the_device(work: Callable[[], Any], leaf: torch.Tensor) -> float:
    """Milliseconds on the device: work is captured in a CUDA graph, so that launching it does not count."""
    return float(do_bench_cudagraph(work, rep=200, grad_to_none=[leaf], return_mode="median"))


def by_the_clock(
    works: list[Callable[[], Any]], leaves: Sequence[torch.Tensor], at_once: int, rounds: int = 60
) -> list[float]:
    """Milliseconds of works that take turns, each so many times in a row before the device is waited for."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds + 5):
        for work, taken in zip(works, times, strict=True):
            torch.cuda.synchronize()
            start = perf_counter()
            for _ in range(at_once):
                for leaf in leaves:
                    leaf.grad = None
                work()
            torch.cuda.synchronize()
            taken.append((perf_counter() - start) / at_once)
    return [1e3 * median(taken[5:]) for taken in times]


def step(loss: Loss, x: torch.Tensor, y: torch.Tensor) -> Callable[[], None]:
    return lambda: loss(x, y).backward()  # type: ignore[no-untyped-call]


def extra_memory(x: torch.Tensor, y: torch.Tensor) -> float:
    """Peak bytes of a step beyond the gradient, as a share of the gradient."""
    x.grad = None
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    PandoraLoss()(x, y).backward()
    torch.cuda.synchronize()
    size = x.numel() * x.element_size()
    return (torch.cuda.max_memory_allocated() - before - size) / size


def measure_on_the_device(claim: DeviceClaim) -> bool:
    x, y = claim.batch()
    source, into = x.detach(), torch.empty_like(x, requires_grad=False)
    copy = on_the_device(lambda: into.copy_(source), x)
    rows = gpu.LogitRows(source, y, 1.0, None, -100)
    kernel = on_the_device(lambda: gpu.reduced_loss(rows, "sum", want_grad=True), x)
    losses: list[Loss] = [PandoraLoss(), cross_entropy, torch.compile(cross_entropy)]
    ours, eager, compiled = (on_the_device(step(loss, x, y), x) for loss in losses)
    memory = extra_memory(x, y)
    holds = kernel <= claim.of_copy * copy and compiled >= claim.of_compiled * ours and memory <= 0.01
    report(
        str(claim),
        f"{copy:.4f}",
        f"{kernel:.4f} = {kernel / copy:.3f} x copy (at most {claim.of_copy})",
        f"{ours:.4f} = {ours / copy:.3f} x copy",
        f"{eager:.4f}",
        f"{compiled:.4f} = {compiled / ours:.2f} x ours (at least {claim.of_compiled})",
        f"+{100 * memory:.2f} %",
        "ok" if holds else "MISSED",
    )
    return holds


def measure_eager(claim: EagerClaim) -> bool:
    x, y = claim.batch()
    source, into = x.detach(), torch.empty_like(x, requires_grad=False)
    works = [lambda: into.copy_(source), step(cross_entropy, x, y), step(PandoraLoss(), x, y)]
    copy, eager, ours = by_the_clock(works, [x], IN_A_ROW)
    _, eager_alone, ours_alone = by_the_clock(works, [x], 1, rounds=150)
    holds = ours <= claim.of_eager * eager and (claim.of_copy is None or ours <= claim.of_copy * copy)
    report(
        str(claim),
        f"{copy:.4f}",
        f"{eager:.4f} = {eager / copy:.2f} x copy",
        f"{ours:.4f} = {ours / copy:.2f} x copy (at most {claim.of_copy})",
        f"{ours / eager:.3f} x cross_entropy (at most {claim.of_eager})",
        f"alone {eager_alone:.4f}, {ours_alone:.4f}",
        "ok" if holds else "MISSED",
    )
    return holds


def measure_compiled(claim: Claim) -> bool:
    """A step takes at most a fifth longer than cross-entropy's: alpha is one more argument of every graph.

    Each shape is compiled for itself, as in a program that has one: for a second one Dynamo would make a graph of
    any shape, in which both losses take longer.
    """
    torch._dynamo.reset()
    x, y = claim.batch()
    losses = [torch.compile(loss, fullgraph=True) for loss in (torch.nn.CrossEntropyLoss(), PandoraLoss())]
    theirs, ours = by_the_clock([step(loss, x, y) for loss in losses], [x], IN_A_ROW)
    holds = ours <= 1.2 * theirs
    shown = f"{ours:.4f} = {ours / theirs:.2f} x cross_entropy (at most 1.2)"
    report(str(claim), f"{theirs:.4f}", shown, "ok" if holds else "MISSED")
    return holds


def three_products(h: torch.Tensor, w: torch.Tensor) -> float:
    """Milliseconds of the matrix products that no training step of a linear layer can do without."""
    z = torch.empty(len(h), len(w), dtype=h.dtype, device=h.device).normal_()
    into, into_h, into_w = torch.empty_like(z), torch.empty_like(h), torch.empty_like(w)

    @torch.no_grad()
    def products() -> None:
        torch.mm(h, w.T, out=into)
        torch.mm(z, w, out=into_h)
        torch.mm(z.T, h, out=into_w)

    return by_the_clock([products], [h, w], 3, rounds=10)[0]


def errors_of_linear(h: torch.Tensor, w: torch.Tensor, y: torch.Tensor) -> list[float]:
    """The gradients' distance from those of double precision, relative to their size."""
    doubles = [h.detach().double().requires_grad_(), w.detach().double().requires_grad_()]
    exact = torch.autograd.grad(pandora_loss(linear(*doubles), y), doubles)
    got = torch.autograd.grad(linear_pandora_loss(h, w, y), (h, w))
    return [float((one - two).norm() / two.norm()) for one, two in zip(got, exact, strict=True)]


def measure_linear(rows: int = 8192, width: int = 4096, classes: int = 128_256) -> bool:
    """Milliseconds and extra GiB of a step of the last layer of a language model, bfloat16."""
    torch.manual_seed(0)
    h = torch.randn(rows, width, dtype=torch.bfloat16, device="cuda").requires_grad_()
    w = (torch.randn(classes, width, device="cuda") / width**0.5).bfloat16().requires_grad_()
    y = torch.randint(0, classes, (rows,), device="cuda")
    losses: dict[str, Callable[[], torch.Tensor]] = {
        "linear_pandora_loss": lambda: linear_pandora_loss(h, w, y),
        "linear, PandoraLoss": lambda: PandoraLoss()(linear(h, w), y),
        "linear, cross_entropy": lambda: cross_entropy(linear(h, w), y),
    }
    if find_spec("liger_kernel") is not None:
        from liger_kernel.transformers.functional import liger_fused_linear_cross_entropy

        losses["Liger's linear cross-entropy"] = lambda: liger_fused_linear_cross_entropy(h, w, y)
    floor, of_shape = three_products(h, w), f"{rows:,} x {width:,} x {classes:,}"
    held = True
    for name, loss in losses.items():
        extra, [taken] = extra_gib(loss, h, w), by_the_clock([lambda: loss().backward()], [h, w], 3, rounds=10)  # noqa: B023
        ours = name == "linear_pandora_loss"
        held = held and not (ours and (taken > 1.08 * floor or extra > 0.6))
        report(of_shape, name, f"{taken:.2f} = {taken / floor:.3f} x three products", f"+{extra:.2f} GiB")
    errors = errors_of_linear(h.detach()[:512].requires_grad_(), w, y[:512])
    held = held and max(errors) <= 0.02
    report(
        of_shape,
        f"three products {floor:.2f}",
        "at most 1.08 x, +0.6 GiB, errors 0.02",
        "ok" if held else "MISSED",
    )
    report("errors of the gradients", *(f"{error:.4f}" for error in errors))
    return held


def extra_gib(loss: Callable[[], torch.Tensor], *leaves: torch.Tensor) -> float:
    """Peak memory of a step beyond its gradients."""
    for leaf in leaves:
        leaf.grad = None
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    loss().backward()  # type: ignore[no-untyped-call]
    torch.cuda.synchronize()
    kept = sum(leaf.numel() * leaf.element_size() for leaf in leaves)
    return float(torch.cuda.max_memory_allocated() - before - kept) / 2**30


def report(*cells: str) -> None:
    print(" | ".join(cells), flush=True)


if __name__ == "__main__":
    name = torch.cuda.get_device_name()
    print(f"{name}, torch {torch.__version__}, triton {triton.__version__}; milliseconds, medians")
    print("eager | copy | cross_entropy step | PandoraLoss step | | alone: cross_entropy, PandoraLoss |")
    held = [measure_eager(claim) for claim in EAGER]  # first: compilers keep the host busy
    print("device | copy | loss and gradient | PandoraLoss step | cross_entropy step | compiled | extra memory |")
    held += [measure_on_the_device(claim) for claim in ON_THE_DEVICE]
    print("last layer of a language model | step | extra memory |")
    held.append(measure_linear())
    print("compiled, by the clock | cross_entropy step | PandoraLoss step |")
    held += [measure_compiled(claim) for claim in EAGER]
    sys.exit(not all(held))
