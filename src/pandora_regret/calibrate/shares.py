"""The share of a prior as calibration needs it: with a second derivative, and a value at alpha = 0 too."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from pandora_regret.inputs import FloatArray
from pandora_regret.priors import Beta, Exponential, Gamma, LogNormal, Prior
from pandora_regret.priors.beta import beta_loss, beta_loss_slope, decay, power

STEP = 1e-4  # of the difference quotient for priors whose second derivative nobody wrote down


def share(prior: Prior, log_odds: FloatArray, i: Any, j: Any) -> FloatArray:
    """L(r) / E[u_j]; in the Beta family L_alpha / 3."""
    return beta_loss(log_odds, prior.alpha) / 3 if isinstance(prior, Beta) else prior.share(log_odds, i, j)


def share_slope(prior: Prior, log_odds: FloatArray, i: Any, j: Any) -> FloatArray:
    """The derivative of the share in ``ln r``."""
    if isinstance(prior, Beta):
        return beta_loss_slope(log_odds, prior.alpha) / 3
    return prior.share_slope(log_odds, i, j)


@singledispatch
def share_curvature(prior: Prior, log_odds: FloatArray, i: Any, j: Any) -> FloatArray:
    """The second derivative of the share in ``ln r``: for an unknown prior, by a difference of its slopes."""
    rise = prior.share_slope(log_odds + STEP, i, j) - prior.share_slope(log_odds - STEP, i, j)
    return np.asarray(rise / (2 * STEP))


@share_curvature.register
def _(prior: Beta, log_odds: FloatArray, i: Any, j: Any) -> FloatArray:
    """``-(alpha + 1) alpha r^alpha`` behind and ``(alpha + 1)^2 r^-(alpha + 1)`` ahead."""
    alpha = prior.alpha
    if alpha == np.inf:
        return np.zeros_like(log_odds)
    behind = -alpha * power(np.minimum(log_odds, 0), alpha)
    ahead = (alpha + 1) * decay(np.maximum(log_odds, 0), alpha)
    return np.asarray((alpha + 1) * np.where(log_odds < 0, behind, ahead) / 3)


@share_curvature.register
def _(prior: Exponential, log_odds: FloatArray, i: Any, j: Any) -> FloatArray:
    return share_curvature(Gamma(1.0), log_odds, i, j)


@share_curvature.register
def _(prior: Gamma, log_odds: FloatArray, i: Any, j: Any) -> FloatArray:
    """With ``x = 1 / (1 + r)`` the slope is ``-x^(k+1) (1 - x)^k / B``, and ``dx / d ln r = -x (1 - x)``."""
    x = np.exp(-np.logaddexp(0, log_odds))
    return prior.share_slope(log_odds, i, j) * (prior.shape * x - (prior.shape + 1) * (1 - x))


@share_curvature.register
def _(prior: LogNormal, log_odds: FloatArray, i: Any, j: Any) -> FloatArray:
    z, sd = prior._standardised(log_odds, i, j)
    return np.asarray(prior.share_slope(log_odds, i, j) * z / sd)
