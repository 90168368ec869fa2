"""Unit costs that all forecasts share: quasi-random, the same every time, so that averages stay proper."""

from functools import lru_cache

import numpy as np

from pandora_regret.core.inputs import FloatArray
from pandora_regret.core.priors.base import Prior
from pandora_regret.core.priors.beta import Beta
from pandora_regret.core.priors.empirical import Empirical
from pandora_regret.core.priors.positive import Exponential, Gamma, LogNormal
from pandora_regret.core.priors.tabulated import FromScipy

SEED = 1  # of the scrambling; a constant, since draws must not depend on the forecasts
LEAST_DRAW = 1e-12  # of a uniform number, and of a unit cost


def shared_draws(prior: Prior, draws: int, n_classes: int) -> FloatArray:
    """Unit costs, (draws, K): by the quantile function at uniform points, the first of them for a common factor.

    A prior without one here is drawn from as it is, always with the same seed.
    """
    from scipy.special import gammaincinv, ndtri

    uniform = uniform_points(draws, n_classes + 1)
    unit_costs: FloatArray
    own = uniform[:, 1:]
    match prior:
        case Empirical():
            unit_costs = prior.samples  # all there is: nothing to draw
        case Beta():
            unit_costs = own ** (1 / prior.alpha)
        case Exponential():
            unit_costs = -np.log1p(-own)
        case Gamma():
            unit_costs = np.asarray(gammaincinv(prior.shape, own), np.float64)
        case LogNormal(correlation=common):
            normal = np.sqrt(common) * ndtri(uniform[:, :1]) + np.sqrt(1 - common) * ndtri(own)
            unit_costs = np.exp(prior.sigma * normal)
        case FromScipy():
            unit_costs = prior.dist.ppf(own)
        case _:
            unit_costs = prior.sample(draws, n_classes, np.random.default_rng(SEED))
    return np.maximum(unit_costs, LEAST_DRAW)


@lru_cache(8)
def uniform_points(draws: int, dimensions: int) -> FloatArray:
    """Scrambled Sobol' points in the open unit cube."""
    from scipy.stats import qmc

    sequence = qmc.Sobol(dimensions, scramble=True, rng=np.random.default_rng(SEED))
    points = sequence.random_base2((draws - 1).bit_length())[:draws]
    return np.clip(points, LEAST_DRAW, 1 - LEAST_DRAW)
