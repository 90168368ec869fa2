"""Unbounded unit costs with closed-form pair losses: exponential, gamma, log-normal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.core.inputs import FloatArray, InputError, check_costs, read_floats, read_number, read_positive
from pandora_regret.core.priors.base import Class, Prior

if TYPE_CHECKING:
    from numpy.random import Generator  # loaded where something is drawn

FAR_LOG = 700.0  # of ln r: e^-700 is still a normal number


@dataclass(frozen=True)
class Exponential(Prior):
    """Exponential unit costs: the share is ``(p_j / (p_i + p_j))^2``, the pairwise Brier score.

    Examples
    --------
    >>> Exponential().pair_loss([0.0, 1.0, 3.0])
    array([1.    , 0.25  , 0.0625])
    """

    mean = 1.0
    strictly_proper = True  # the ratio of two exponential costs has full support
    unbounded = True

    def share(self, log_odds: FloatArray, i: Class = 0, j: Class = 1) -> FloatArray:
        """``1 / (1 + r)^2``."""
        with np.errstate(over="ignore"):  # of r so large that nothing is spent on j
            return np.asarray((1 / (1 + np.exp(log_odds))) ** 2)

    def draw(self, n_draws: int, n_classes: int, rng: Generator) -> FloatArray:
        """Unit costs of mean 1, (n_draws, n_classes)."""
        return rng.standard_exponential((n_draws, n_classes))


class Gamma(Prior):
    """Gamma unit costs with the given shape and scale 1; shape 1 is the exponential.

    Examples
    --------
    >>> bool(abs(Gamma(1.0).pair_loss(3.0) - Exponential().pair_loss(3.0)) < 1e-15)
    True
    """

    mean = 0.0  # the shape
    strictly_proper = True  # the ratio of two gamma costs has full support
    unbounded = True

    def __init__(self, shape: float) -> None:
        self.shape = read_positive(shape, "shape")
        self.mean = self.shape

    def __repr__(self) -> str:
        return f"Gamma(shape={self.shape!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Gamma) and self.shape == other.shape

    def __hash__(self) -> int:
        return hash(("Gamma", self.shape))

    def share(self, log_odds: FloatArray, i: Class = 0, j: Class = 1) -> FloatArray:
        """``I_x(k + 1, k)`` at ``x = 1 / (1 + r)``, I the regularised incomplete beta function.

        For r < 1, where x would round to 1, its complement ``I_{1-x}(k, k + 1)``; beyond `FAR_LOG` as the power
        that it is there.
        """
        from scipy.special import betainc, expit

        k = self.shape
        behind = log_odds < 0
        size = np.abs(log_odds)
        part = betainc(np.where(behind, k, k + 1), np.where(behind, k + 1, k), expit(-np.minimum(size, FAR_LOG)))
        part = part * np.exp(k * np.minimum(FAR_LOG - size, 0))
        return np.where(behind, 1 - part, part)

    def draw(self, n_draws: int, n_classes: int, rng: Generator) -> FloatArray:
        """Gamma draws with scale 1."""
        return rng.standard_gamma(self.shape, (n_draws, n_classes))


class LogNormal(Prior):
    """Log-normal unit costs ``u_k = exp(sigma_k z_k)``, the z_k standard normal and equally correlated.

    Parameters
    ----------
    sigma
        Spread of ln u: one number, or one per class.
    correlation
        Of every pair (z_i, z_j), from 0 up to, but not including, 1: costs that rise and fall together.

    Examples
    --------
    >>> LogNormal(0.5).pair_loss([0.5, 1.0, 2.0]).round(4)
    array([0.8324, 0.41  , 0.1033])
    """

    mean: float | FloatArray = 0.0  # exp(sigma^2 / 2)
    strictly_proper = True  # the ratio of two log-normal costs has full support
    unbounded = True

    def __init__(self, sigma: ArrayLike, correlation: float = 0.0) -> None:
        spread = check_costs(read_floats(sigma, "sigma"), "sigma")
        if spread.ndim > 1 or hasattr(sigma, "keys"):
            fix = "pass one number, or a list of one per class in column order"
            raise InputError(f"has names or shape {spread.shape}", argument="sigma", value=sigma, fix=fix)
        self.sigma = spread
        self.correlation = read_number(correlation, "correlation", lambda r: 0 <= r < 1, "it must lie in [0, 1)")
        self.n_classes = len(spread) if spread.ndim else None
        with np.errstate(over="ignore"):
            self.mean = np.exp(spread**2 / 2)

    def __repr__(self) -> str:
        return f"LogNormal(sigma={self.sigma.tolist()}, correlation={self.correlation:g})"

    def share(self, log_odds: FloatArray, i: Class = 0, j: Class = 1) -> FloatArray:
        """``Phi((-ln r - shift) / sd)``: weighting by u_j shifts ln u_j - ln u_i up."""
        from scipy.special import ndtr

        sigma_i = self.sigma[i] if self.n_classes else self.sigma
        sigma_j = self.sigma[j] if self.n_classes else self.sigma
        covariance = self.correlation * sigma_i * sigma_j
        sd = np.sqrt(sigma_i**2 + sigma_j**2 - 2 * covariance)
        with np.errstate(over="ignore"):
            return np.asarray(ndtr((-log_odds - (sigma_j**2 - covariance)) / sd))

    def draw(self, n_draws: int, n_classes: int, rng: Generator) -> FloatArray:
        """One factor shared by all classes, and one of each class's own."""
        common = rng.standard_normal((n_draws, 1))
        own = rng.standard_normal((n_draws, n_classes))
        z = np.sqrt(self.correlation) * common + np.sqrt(1 - self.correlation) * own
        return np.asarray(np.exp(self.sigma * z))
