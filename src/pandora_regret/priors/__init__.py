"""What a test costs, as a distribution over unit costs u: the test of class k costs C_k u_k."""

from pandora_regret.priors.base import Prior
from pandora_regret.priors.beta import Beta, Fixed, Uniform
from pandora_regret.priors.empirical import Empirical
from pandora_regret.priors.positive import Exponential, Gamma, LogNormal
from pandora_regret.priors.tabulated import FromScipy

__all__ = ["Beta", "Empirical", "Exponential", "Fixed", "FromScipy", "Gamma", "LogNormal", "Prior", "Uniform"]
