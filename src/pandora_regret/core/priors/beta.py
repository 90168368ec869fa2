"""The Beta family: unit costs u ~ Beta(alpha, 1), and its limits at 0 and infinity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pandora_regret.core.inputs import FloatArray, read_alpha
from pandora_regret.core.priors.base import TIE, Class, Prior, settle_ties

if TYPE_CHECKING:
    from numpy.random import Generator  # loaded where something is drawn


def rise(behind: FloatArray, alpha: float) -> FloatArray:
    """``(1 + 1/alpha)(1 - r^alpha)`` at ``ln r <= 0``: what falling behind adds to the loss of a tie.

    expm1 keeps every digit as alpha tends to 0, where this becomes ``-ln r``.
    """
    if alpha == 0:
        return -behind
    if alpha == np.inf:
        return np.asarray(behind < 0, dtype=np.float64)
    with np.errstate(over="ignore"):
        return (1 + 1 / alpha) * -np.expm1(alpha * behind)


def decay(ahead: FloatArray, alpha: float) -> FloatArray:
    """``r^-(alpha + 1)`` at ``ln r >= 0``: what is left of the loss of a tie for a truth that is ahead."""
    return power(-ahead, alpha + 1)


def power(behind: FloatArray, exponent: float) -> FloatArray:
    """``r^exponent`` at ``ln r <= 0``, with ``1^inf = 0^0 = 1``."""
    with np.errstate(over="ignore", invalid="ignore"):
        raised = np.exp(exponent * behind)
    if 0 < exponent < np.inf:
        return raised
    return np.where((behind == 0) | (exponent == 0), 1.0, raised)


def beta_loss(log_odds: FloatArray, alpha: float) -> FloatArray:
    """L_alpha: ``1 + (1 + 1/alpha)(1 - r^alpha)`` for r <= 1, ``r^-(alpha + 1)`` for r > 1.

    One part is constant where the other acts, so they add up without a case distinction.

    Parameters
    ----------
    log_odds
        ``ln r``, of any shape.
    alpha
        From 0 to inf.

    Returns
    -------
    array
        One value per entry, in the same shape.

    References
    ----------
    Flores et al. (2026), Proposition A.5 [flores26]_.
    """
    return decay(np.maximum(log_odds, 0), alpha) + rise(np.minimum(log_odds, 0), alpha)


def beta_loss_slope(log_odds: FloatArray, alpha: float) -> FloatArray:
    """The gradient profile: ``-(alpha + 1)`` times ``r^alpha`` for r <= 1, ``r^-(alpha + 1)`` for r > 1.

    Parameters
    ----------
    log_odds, alpha
        As in `beta_loss`.

    Returns
    -------
    array
        The derivative in ``ln r``, of the same shape.

    References
    ----------
    Flores et al. (2026), Remark A.6 [flores26]_.
    """
    if alpha == np.inf:
        return np.zeros_like(log_odds)
    return -(alpha + 1) * decay(np.maximum(log_odds, 0), alpha) * power(np.minimum(log_odds, 0), alpha)


class Beta(Prior):
    """Unit costs u ~ Beta(alpha, 1), independent, for alpha in [0, inf].

    Small alpha: costs differ by orders of magnitude, and the size of probabilities matters. Large alpha: costs
    are nearly known, and only the order of ``p_k / C_k`` matters.

    See Also
    --------
    pandora_regret : The score for alpha 1, normalised.

    References
    ----------
    Flores et al. (2026), Proposition A.5 and Corollary A.7 [flores26]_.

    Examples
    --------
    >>> Beta(1.0).pair_loss([0.5, 1.0, 2.0]) * 6
    array([2.  , 1.  , 0.25])
    """

    mean = 0.0  # alpha / (alpha + 1)
    loss_to_share = 0.0  # b_alpha / E[u], which turns L_alpha into the share: alpha / (2 alpha + 1)
    strictly_proper = True  # for every finite alpha; at 0 the normalised score still is

    def __init__(self, alpha: float) -> None:
        self.alpha = read_alpha(alpha)
        if self.alpha > 0:
            self.mean = 1 / (1 + 1 / self.alpha)
            self.loss_to_share = 1 / (2 + 1 / self.alpha)
        self.strictly_proper = self.alpha < np.inf

    def __repr__(self) -> str:
        return f"Beta(alpha={self.alpha!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Beta) and self.alpha == other.alpha

    def __hash__(self) -> int:
        return hash(("Beta", self.alpha))

    def share(
        self, log_odds: FloatArray, i: Class = 0, j: Class = 1, width: FloatArray | float = TIE
    ) -> FloatArray:
        """``b_alpha L_alpha(r) / E[u]``; at alpha = inf, where it jumps, odds within `width` of 1 are a tie."""
        odds = settle_ties(log_odds, width) if self.alpha == np.inf else log_odds
        return self.loss_to_share * beta_loss(odds, self.alpha)

    share_with_ties = share

    def draw(self, n_draws: int, n_classes: int, rng: Generator) -> FloatArray:
        """Unit costs, (n_draws, n_classes), by inversion: ``U^(1/alpha)`` of a uniform U."""
        uniform = 1 - rng.random((n_draws, n_classes))  # (0, 1]: a test is never free
        return uniform ** (1 / self.alpha) if self.alpha else np.zeros_like(uniform)


def Uniform() -> Beta:
    """Unit costs uniform on [0, 1]: the prior behind Pandora's Regret.

    Returns
    -------
    Beta
        The Beta prior with alpha 1.

    References
    ----------
    Flores et al. (2026), Definition 3.2 [flores26]_.
    """
    return Beta(1.0)


def Fixed() -> Beta:
    """Costs known exactly: the limit alpha -> inf, where ties are broken at random (worth one half).

    Returns
    -------
    Beta
        The Beta prior with alpha inf.

    References
    ----------
    Flores et al. (2026), Corollary A.11 [flores26]_.
    """
    return Beta(np.inf)
