"""Rows with one truth each, in plain PyTorch: what the Triton kernel computes, for every other device."""

from __future__ import annotations

import torch

SMALL_ALPHA = 0.1  # below this, 1 - r^alpha loses digits that 1/alpha magnifies


def loss_of_one_truth(
    logits: torch.Tensor, truth: torch.Tensor, alpha: float, costs: torch.Tensor | None, *, want_grad: bool
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """``sum_j C_j L_alpha(q_i / q_j)`` of every row, (n,), and its gradient in the logits, (n, K).

    An impossible class, of logit -inf, has gradient 0.
    """
    truth = truth[:, None]
    ours = logits.gather(1, truth)
    odds = ours - logits
    impossible = (logits == -torch.inf) if (ours == -torch.inf).any() else None  # elsewhere formulas see to it
    if impossible is not None:
        odds.masked_fill_(impossible & impossible.gather(1, truth), 0.0)
    if costs is not None:
        odds += costs.log() - costs.log()[truth]
    losses, slopes = (_of_rivals(terms, truth, costs) for terms in pair_loss(odds, alpha))
    if not want_grad:
        return losses.sum(dim=1), None
    slopes.scatter_(1, truth, -slopes.sum(dim=1, keepdim=True))
    return losses.sum(dim=1), slopes if impossible is None else slopes.masked_fill_(impossible, 0.0)


def _of_rivals(terms: torch.Tensor, truth: torch.Tensor, costs: torch.Tensor | None) -> torch.Tensor:
    """What each wrong class adds, in place."""
    if costs is not None:
        terms *= costs
    return terms.scatter_(1, truth, 0.0)


def pair_loss(odds: torch.Tensor, alpha: float) -> tuple[torch.Tensor, torch.Tensor]:
    """L_alpha and ``-dL_alpha / d ln r`` at ``ln r``, which is overwritten; see `pandora_regret.priors.beta`."""
    if alpha == torch.inf:
        return 1 - odds.sign(), torch.zeros_like(odds)
    behind = odds.clamp(max=0.0)
    left = odds.clamp_(min=0.0).mul_(-(alpha + 1)).exp_()
    if alpha == 0:
        return left - behind, left
    kept = behind.mul_(alpha).exp()
    risen = 1 - kept if alpha > SMALL_ALPHA else behind.expm1_().neg_()
    return risen.mul_(1 + 1 / alpha).add_(left), kept.mul_(left).mul_(alpha + 1)
