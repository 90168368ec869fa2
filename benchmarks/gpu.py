"""What a training step's loss costs on the GPU, against yardsticks of the same run.

Run with ``python benchmarks/gpu.py`` on a CUDA device. The floor is a device copy of the logits: the same bytes
read and written. "Loss and gradient" is the fused pass alone; a step is forward and backward through autograd,
with the mean and the scaling by what comes from above. Times are medians of CUDA graph replays.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import triton
from torch.nn.functional import cross_entropy
from triton.testing import do_bench_cudagraph

from pandora_regret.integrations.torch import PandoraLoss
from pandora_regret.kernels import gpu


@dataclass(frozen=True)
class Claim:
    rows: int
    classes: int
    dtype: torch.dtype
    of_copy: float  # loss and gradient take at most so many times the copy
    of_compiled: float  # and compiled cross-entropy at least so many times as long


CLAIMS = [
    Claim(8192, 128_256, torch.bfloat16, of_copy=1.15, of_compiled=2.0),
    Claim(65_536, 1000, torch.bfloat16, of_copy=1.6, of_compiled=1.0),
    Claim(65_536, 1000, torch.float32, of_copy=1.6, of_compiled=1.0),
    Claim(1_048_576, 16, torch.float32, of_copy=3.0, of_compiled=0.0),
]


def median(work: Callable[[], Any], leaf: torch.Tensor) -> float:
    """Milliseconds on the device: work is captured in a CUDA graph, so that launching it does not count."""
    return float(do_bench_cudagraph(work, rep=200, grad_to_none=[leaf], return_mode="median"))


def step(loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> float:
    return median(lambda: loss(x, y).backward(), x)


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


def measure(claim: Claim) -> bool:
    torch.manual_seed(0)
    x = torch.empty(claim.rows, claim.classes, dtype=claim.dtype, device="cuda").normal_().requires_grad_()
    y = torch.randint(0, claim.classes, (claim.rows,), device="cuda")
    source, into = x.detach(), torch.empty_like(x, requires_grad=False)
    copy = median(lambda: into.copy_(source), x)
    one = torch.ones((), device="cuda")
    fused = {"alpha": 1.0, "costs": None, "ignore_index": -100, "scale": one, "want_grad": True, "summed": True}
    kernel = median(lambda: gpu.beta_loss_rows(source, y, **fused), x)
    ours, eager, compiled = (step(f, x, y) for f in (PandoraLoss(), cross_entropy, torch.compile(cross_entropy)))
    memory = extra_memory(x, y)
    holds = kernel <= claim.of_copy * copy and compiled >= claim.of_compiled * ours and memory <= 0.01
    cells = [
        f"{claim.rows:,} x {claim.classes:,} {str(claim.dtype)[6:]}",
        f"{copy:.4f}",
        f"{kernel:.4f} = {kernel / copy:.3f} x copy (at most {claim.of_copy})",
        f"{ours:.4f} = {ours / copy:.3f} x copy",
        f"{eager:.4f}",
        f"{compiled:.4f} = {compiled / ours:.2f} x ours (at least {claim.of_compiled})",
        f"+{100 * memory:.2f} %",
        "ok" if holds else "MISSED",
    ]
    print(" | ".join(cells), flush=True)
    return holds


if __name__ == "__main__":
    name = torch.cuda.get_device_name()
    print(f"{name}, torch {torch.__version__}, triton {triton.__version__}; milliseconds, medians")
    print("shape | copy | loss and gradient | PandoraLoss step | cross_entropy step | compiled | extra memory |")
    held = [measure(claim) for claim in CLAIMS]
    sys.exit(not all(held))
