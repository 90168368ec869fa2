"""What a training step's loss costs on the GPU: `PandoraLoss` forward and backward, against yardsticks of the run.

Run with ``python benchmarks/gpu.py`` on a CUDA device. The floor is a device copy of the logits: the same bytes
read and written. Times are medians; `kernel` is the fused kernel alone, without autograd around it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import triton
from torch.nn.functional import cross_entropy
from triton.testing import do_bench

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
    """Milliseconds."""
    return float(do_bench(work, warmup=50, rep=200, grad_to_none=[leaf], return_mode="median"))


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
    into, one = torch.empty_like(x, requires_grad=False), torch.ones((), device="cuda")
    source = x.detach()
    copy = median(lambda: into.copy_(source), x)
    fused = {"alpha": 1.0, "costs": None, "ignore_index": -100, "scale": one, "want_grad": True}
    kernel = median(lambda: gpu.beta_loss_rows(source, y, **fused), x)
    ours, eager, compiled = (step(f, x, y) for f in (PandoraLoss(), cross_entropy, torch.compile(cross_entropy)))
    memory = extra_memory(x, y)
    holds = kernel <= claim.of_copy * copy and compiled >= claim.of_compiled * ours and memory <= 0.01
    print(
        f"{claim.rows:>9,} x {claim.classes:<7,} {str(claim.dtype)[6:]:9} copy {copy:7.4f} | kernel {kernel:7.4f} = "
        f"{kernel / copy:5.3f} x (at most {claim.of_copy}) | PandoraLoss fwd+bwd {ours:7.4f} = {ours / copy:5.3f} x | "
        f"cross_entropy {eager:7.4f}, compiled {compiled:7.4f} = {compiled / ours:5.2f} x ours | "
        f"memory +{100 * memory:.2f} %  {'ok' if holds else 'MISSED'}",
        flush=True,
    )
    return holds


if __name__ == "__main__":
    name = torch.cuda.get_device_name()
    print(f"{name}, torch {torch.__version__}, triton {triton.__version__}; milliseconds, medians")
    sys.exit(not all([measure(claim) for claim in CLAIMS]))
