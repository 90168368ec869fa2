"""Rows with one truth each, in plain PyTorch: what the Triton kernel computes, for every other device."""

from __future__ import annotations

import torch

from pandora_regret.kernels.array_api import beta_loss, beta_slope


def loss_of_one_truth(
    logits: torch.Tensor, truth: torch.Tensor, alpha: float, costs: torch.Tensor | None, *, want_grad: bool
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """``sum_j C_j L_alpha(q_i / q_j)`` of every row, (N,), and its gradient in the logits, (N, K).

    An impossible class, of logit -inf, has gradient 0.
    """
    truth = truth[:, None]
    odds = log_gap(logits.gather(1, truth), logits)
    if costs is not None:
        odds += costs.log() - costs.log()[truth]
    losses = _of_rivals(beta_loss(odds, alpha, torch), truth, costs).sum(dim=1)
    if not want_grad:
        return losses, None
    pushes = _of_rivals(beta_slope(odds, alpha, torch), truth, costs)
    pushes.scatter_(1, truth, -pushes.sum(dim=1, keepdim=True))
    return losses, pushes.masked_fill_(logits == -torch.inf, 0.0)


def log_gap(ours: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
    """The difference of logits; two impossible classes are equally likely."""
    return torch.where(ours == theirs, 0.0, ours - theirs)


def _of_rivals(terms: torch.Tensor, truth: torch.Tensor, costs: torch.Tensor | None) -> torch.Tensor:
    """What each wrong class adds, in place."""
    if costs is not None:
        terms *= costs
    return terms.scatter_(1, truth, 0.0)
