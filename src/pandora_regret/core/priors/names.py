"""The priors by name, as people write them: ``uniform``, ``gamma:2``, ``empirical:costs.csv``.

The command's parser, its error message and its help all read this table: a new prior is one more line of it.
Below it, the prior and the base costs that a score in money is asked for under.
"""

from collections.abc import Callable, Sequence

import numpy as np

from pandora_regret.core.inputs import ByClass, FloatArray, InputError, InputTypeError, read_costs
from pandora_regret.core.priors.base import Prior
from pandora_regret.core.priors.beta import Beta, Fixed, Uniform
from pandora_regret.core.priors.empirical import Empirical
from pandora_regret.core.priors.positive import Exponential, Gamma, LogNormal
from pandora_regret.text import typed

COSTS_FILE = "FILE"  # the parameter of a prior that is made from a table of observed costs and its classes


PRIORS: dict[str, tuple[Callable[..., Prior], str | None]] = {
    # what makes it, of nothing, of one number, or of observed costs (M, K) and the classes (K,);
    # and the prior's attribute that the number is, in capitals, or COSTS_FILE
    "uniform": (Uniform, None),
    "exponential": (Exponential, None),
    "fixed": (Fixed, None),
    "beta": (Beta, "ALPHA"),
    "gamma": (Gamma, "SHAPE"),
    "lognormal": (LogNormal, "SIGMA"),
    "empirical": (Empirical, COSTS_FILE),
}


def spelled_priors() -> str:
    """All priors as they are written, for a sentence.

    Examples
    --------
    >>> spelled_priors()
    'uniform, exponential, fixed, beta:ALPHA, gamma:SHAPE, lognormal:SIGMA or empirical:FILE'
    """
    *most, last = (f"{name}:{parameter}" if parameter else name for name, (_, parameter) in PRIORS.items())
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
        number = _number_of(prior)
        if number is not None and parameter not in (None, COSTS_FILE) and repr(make(number)) == repr(prior):
            return f"{name}:{typed(number)}"
    return repr(prior)


def _number_of(prior: Prior) -> float | None:
    """The number that a prior of one parameter is made of."""
    match prior:
        case Beta():
            return prior.alpha
        case Gamma():
            return prior.shape
        case LogNormal() if prior.sigma.ndim == 0:
            return float(prior.sigma)
    return None


def read_prices(
    prior: Prior | None,
    costs: ByClass | None,
    labels: Sequence[object],
    n_rows: int | None = None,
    max_costs: ByClass | None = None,
) -> tuple[Prior, FloatArray | None]:
    """The prior, and the base costs C_k, (K,) or (N, K), from mean costs C_k E[u_k] or as they are, or None."""
    prior = read_prior(prior, labels)
    if costs is not None and max_costs is not None:
        fix = "pass what a test typically costs as costs, or at most, C_k of C_k u_k, as max_costs"
        raise InputError("both costs and max_costs are given", argument="max_costs", place="", fix=fix)
    if costs is not None:
        return prior, read_costs(costs, labels, n_rows) / prior.mean
    return prior, None if max_costs is None else read_costs(max_costs, labels, n_rows, "max_costs")


def read_prior(prior: Prior | None, labels: Sequence[object], of_what: str = "y_proba's columns") -> Prior:
    """The prior of a cost in money, uniform unless given: it must fit the classes, and have a mean to pay."""
    if prior is None:
        return Uniform()
    check_prior(prior, len(labels), of_what)
    ordered: Prior = prior.for_classes(labels)
    mean = np.asarray(ordered.mean)
    if not ((mean > 0) & (mean < np.inf)).all():
        raise InputError(
            f"{prior!r} has mean cost {mean.max():g}",
            argument="prior",
            value=prior,
            fix="choose one whose mean is positive and finite; as alpha tends to 0 only the normalised score "
            "survives, pandora_regret(..., alpha=0)",
            command_fix="choose another prior",
        )
    return ordered


def prior_of_orders(prior: Prior | None) -> Prior:
    """The prior for forecasts that are orders only: known costs, under which nothing but the order matters."""
    if prior is None or prior == Fixed():
        return Fixed()
    raise InputError(
        f"is {spelled_prior(prior)} but forecasts are orders without probabilities, and only that can be scored",
        argument="prior",
        value=prior,
        fix="leave it out, or pass Fixed()",
        command_fix="leave it out, or say --prior fixed",
    )


def check_prior(prior: object, n_classes: int, of_what: str) -> None:
    """A prior, about as many classes as there are."""
    if not isinstance(prior, Prior):
        problem = f"must be a prior such as Uniform() or Gamma(2.0), got {prior!r:.200}"
        raise InputTypeError(problem, argument="prior", value=prior)
    if prior.n_classes not in (None, n_classes):
        problem = f"is about {prior.n_classes} classes but there are {n_classes} of {of_what}"
        raise InputError(problem, argument="prior", value=prior, fix="build the prior with one entry per class")
