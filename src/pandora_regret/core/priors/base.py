"""What every cost prior knows: its pair loss, its mean, how to sample, whether it is strict."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.core.inputs import FloatArray, IntArray

if TYPE_CHECKING:
    from numpy.random import Generator  # loaded where something is drawn

Class: TypeAlias = int | np.integer | IntArray  # a class number, or an array of them that broadcasts with the odds

LOG_ODDS_STEP = 1e-5  # of ln r, for derivatives
LARGEST_EXCESS = 1e300  # beyond it a quotient may have overflowed
UNITS_OF_A_TIE = 4.5  # rounding of probabilities, costs and quotients explains 3; no whole number is on the edge
TIE, TIE_IN_SINGLE = (UNITS_OF_A_TIE * float(np.finfo(dtype).eps) for dtype in (np.float64, np.float32))


class Prior(ABC):
    """A distribution F of unit costs (u_1, ..., u_K).

    The theory needs one function of it, the directed pair loss
    ``L(r) = E[u_j h(u_i / u_j, r)]`` with ``h(a, b) = 1(a > b) + 1(a = b) / 2``:
    what is spent on testing distractor j before the truth i at odds ``r = p_i / p_j``.
    Divided by ``E[u_j]`` it is a share between 0 and 1: the chance, weighted by cost, that j is tested first.
    Priors state that share as a function of ``ln r``, where no odds can overflow.

    See Also
    --------
    expected_search_cost : The score under a prior.

    References
    ----------
    Flores et al. (2026), Theorems A.1 and A.2 [flores26]_.
    """

    n_classes: int | None = None
    """How many classes the prior speaks of; None where unit costs of all classes are alike."""

    labels: Sequence[object] | None = None
    """What classes the prior speaks of, where it has been told; it is then matched to forecasts by name."""

    unbounded: bool = False
    """Whether unit costs may be arbitrarily large; a prior that does not say so counts as bounded."""

    def for_classes(self, labels: Sequence[object]) -> Prior:
        """The prior with its classes in the order of a forecast's columns."""
        return self

    @property
    @abstractmethod
    def mean(self) -> float | FloatArray:
        """E[u], one number, or one per class."""

    @property
    @abstractmethod
    def strictly_proper(self) -> bool:
        """Whether u_i / u_j has full support on (0, inf), so that only the true probabilities are optimal."""

    @abstractmethod
    def share(self, log_odds: FloatArray, i: Class = 0, j: Class = 1) -> FloatArray:
        """The share of j's mean cost that is spent before i is found, L(r) / E[u_j], at ``ln r``."""

    def share_with_ties(self, log_odds: FloatArray, i: Class, j: Class, width: FloatArray | float) -> FloatArray:
        """The share, where odds within `width` of a jump, in ``ln r``, count as being at it.

        A continuous share needs no such care; a prior whose share jumps says here what a tie is worth.
        """
        return self.share(log_odds, i, j)

    @abstractmethod
    def draw(self, n_draws: int, n_classes: int, rng: Generator) -> FloatArray:
        """Unit costs, shape (n_draws, n_classes)."""

    def pair_loss(self, odds: ArrayLike, i: Class = 0, j: Class = 1) -> FloatArray:
        """L(r), what is spent on j before i is found, at odds ``r = p_i / p_j``."""
        return np.asarray(self.mean_of(j) * self.share(_log_of(odds), i, j))

    def pair_slope(self, odds: ArrayLike, i: Class = 0, j: Class = 1) -> FloatArray:
        """The derivative of L in ``ln r``, at odds r, by central differences."""
        log_odds = _log_of(odds)
        above = self.share(log_odds + LOG_ODDS_STEP, i, j)
        below = self.share(log_odds - LOG_ODDS_STEP, i, j)
        return np.asarray(self.mean_of(j) * (above - below) / (2 * LOG_ODDS_STEP))

    def sample(self, n_draws: int, n_classes: int, rng: Generator) -> FloatArray:
        """Unit costs, shape (n_draws, n_classes), kept above zero where a draw underflows."""
        return np.maximum(self.draw(n_draws, n_classes, rng), np.finfo(np.float64).tiny)

    def mean_of(self, j: Class) -> float | FloatArray:
        """The mean unit cost of class j, E[u_j]."""
        return self.mean[j] if isinstance(self.mean, np.ndarray) else self.mean


def log_quotient(a: FloatArray, b: FloatArray) -> FloatArray:
    """``ln(a / b)`` with full relative precision, also next to a = b, where a huge alpha magnifies it.

    Its sign is exact: it is zero if, and only if, a and b are the same float.
    """
    with np.errstate(all="ignore"):
        gap = a - b
        excess = np.abs(gap / np.minimum(a, b))  # of the quotient, since the smaller may be -0.0
        logs = np.asarray(np.copysign(np.log1p(excess), gap))
        far = ~(excess < LARGEST_EXCESS)
        if far.any():
            far_a = np.broadcast_to(a, logs.shape)[far]
            far_b = np.broadcast_to(b, logs.shape)[far]
            logs[far] = np.log(far_a) - np.log(far_b)
        return logs


def settle_ties(log_odds: FloatArray, width: FloatArray | float = TIE) -> FloatArray:
    """``ln r``, exactly 0 where it is within `width` of 0."""
    return np.where(np.abs(log_odds) <= width, 0.0, log_odds)


def _log_of(odds: ArrayLike) -> FloatArray:
    return log_quotient(np.asarray(odds, dtype=np.float64), np.asarray(1.0))
