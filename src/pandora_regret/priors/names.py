"""The priors by name, as people write them: ``uniform``, ``gamma:2``, ``empirical:costs.csv``.

The command's parser, its error message and its help all read this table: a new prior is one more line of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pandora_regret.priors.base import Prior
from pandora_regret.priors.beta import Beta, Fixed, Uniform
from pandora_regret.priors.empirical import Empirical
from pandora_regret.priors.positive import Exponential, Gamma, LogNormal
from pandora_regret.text import typed

FILE = "FILE"  # the parameter of a prior that is made from a table of observed costs and its classes


class NamedPrior(NamedTuple):
    """How a prior is made from what follows its name."""

    make: Callable[..., Prior]  # of nothing, of one number, or of observed costs (M, K) and the classes (K,)
    parameter: str | None = None  # the prior's attribute that the number is, in capitals, or FILE


PRIORS: dict[str, NamedPrior] = {
    "uniform": NamedPrior(Uniform),
    "exponential": NamedPrior(Exponential),
    "fixed": NamedPrior(Fixed),
    "beta": NamedPrior(Beta, "ALPHA"),
    "gamma": NamedPrior(Gamma, "SHAPE"),
    "lognormal": NamedPrior(LogNormal, "SIGMA"),
    "empirical": NamedPrior(Empirical, FILE),
}


def spelled_priors() -> str:
    """All priors as they are written, for a sentence.

    Examples
    --------
    >>> spelled_priors()
    'uniform, exponential, fixed, beta:ALPHA, gamma:SHAPE, lognormal:SIGMA or empirical:FILE'
    """
    *most, last = (name if made.parameter is None else f"{name}:{made.parameter}" for name, made in PRIORS.items())
    return f"{', '.join(most)} or {last}"


def spelled_prior(prior: Prior) -> str:
    """A prior as people write it; one that this table cannot make as Python shows it.

    Examples
    --------
    >>> spelled_prior(Uniform()), spelled_prior(Gamma(2.0)), spelled_prior(LogNormal(0.5, correlation=0.2))
    ('uniform', 'gamma:2', 'LogNormal(sigma=0.5, correlation=0.2)')
    """
    if isinstance(prior, Empirical):
        return "empirical"
    for name, (make, parameter) in PRIORS.items():
        if parameter is None and repr(make()) == repr(prior):
            return name
        number = getattr(prior, (parameter or "").lower(), None)
        if number is not None and np.ndim(number) == 0 and repr(make(number)) == repr(prior):
            return f"{name}:{typed(float(number))}"
    return repr(prior)
