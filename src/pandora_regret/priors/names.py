"""The priors by name, as people write them: ``uniform``, ``gamma:2``, ``empirical:costs.csv``.

The command's parser, its error message and its help all read this table: a new prior is one more line of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pandora_regret.priors.base import Prior
from pandora_regret.priors.beta import Beta, Fixed, Uniform
from pandora_regret.priors.empirical import Empirical
from pandora_regret.priors.positive import Exponential, Gamma, LogNormal

FILE = "FILE"  # the parameter of a prior that is made from a table of observed costs and its classes


class NamedPrior(NamedTuple):
    """How a prior is made from what follows its name."""

    make: Callable[..., Prior]  # of nothing, of one number, or of observed costs (M, K) and the classes (K,)
    parameter: str | None = None  # what the number stands for, in capitals, or FILE


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
