"""One prior of every kind, for four classes."""

import numpy as np
import pytest
from scipy import stats

from pandora_regret.core.priors import Beta, Empirical, Exponential, Fixed, FromScipy, Gamma, LogNormal, Uniform

COSTS = np.array([1.0, 3.0, 0.5, 2.0])  # of the tests of four classes
STRICT = {
    "Beta(0.3)": Beta(0.3),
    "Uniform": Uniform(),
    "Beta(4)": Beta(4.0),
    "Exponential": Exponential(),
    "Gamma(0.4)": Gamma(0.4),
    "Gamma(3)": Gamma(3.0),
    "LogNormal": LogNormal(0.7),
    "LogNormal, correlated": LogNormal([0.4, 0.8, 1.2, 0.6], correlation=0.5),
    "FromScipy": FromScipy(stats.weibull_min(1.5)),
}
BOUNDED = {"FromScipy, bounded": FromScipy(stats.uniform(1, 2))}  # no two costs differ by more than a factor of 3
STEPS = {"Fixed": Fixed(), "Empirical": Empirical(np.random.default_rng(5).lognormal(0, 1, (60, 4)))}
SMOOTH = STRICT | BOUNDED
PRIORS = SMOOTH | STEPS


def each_of(priors):
    return pytest.mark.parametrize("prior", priors.values(), ids=priors.keys())


every_prior = each_of(PRIORS)
