"""A small run of every GPU loop, for compute-sanitizer: ``compute-sanitizer python benchmarks/sanitize.py``."""

from __future__ import annotations

import torch

from pandora_regret.integrations.torch import PandoraLoss

SHAPES = [(130, 7), (33, 16), (9, 1000), (3, 5003), (2, 40_000)]


def main() -> None:
    for rows, classes in SHAPES:
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            for alpha in (0.0, 0.01, 1.0, float("inf")):
                for costs in (None, torch.rand(classes) + 0.1):
                    logits = torch.randn(rows, classes, device="cuda").to(dtype).requires_grad_()
                    target = torch.randint(0, classes, (rows,), device="cuda")
                    target[0] = -100
                    (PandoraLoss(alpha=alpha, costs=costs)(logits, target) * 2).backward()
    torch.cuda.synchronize()
    print("every loop has run")


if __name__ == "__main__":
    main()
