"""Shared draws of unit costs: the same quasi-random points for every forecast, so that averages stay proper."""

from __future__ import annotations

from functools import lru_cache, singledispatch
from typing import Any

import numpy as np

from pandora_regret.inputs import FloatArray, InputError, InputTypeError
from pandora_regret.priors import Beta, Empirical, Exponential, FromScipy, Gamma, LogNormal, Prior
from pandora_regret.workup.description import Workup

SEED = 1  # of the scrambling; a constant, since draws must not depend on the forecasts
SMALLEST = 1e-12  # of a uniform number, and of a unit cost


def read_step_prior(prior: Any, workup: Workup) -> Prior:
    """A prior about the steps of a work-up, with a mean to pay."""
    if not isinstance(prior, Prior):
        raise InputTypeError(f"prior must be a prior such as Uniform() or Gamma(2.0), got {prior!r}.")
    if prior.n_classes not in (None, len(workup.steps)):
        raise InputError(
            f"prior is about {prior.n_classes} tests but the work-up has {len(workup.steps)} steps: "
            "build the prior with one entry per step."
        )
    fitted: Prior = prior.for_classes([step.name for step in workup.steps])
    mean = np.asarray(fitted.mean)
    if not (np.isfinite(mean) & (mean > 0)).all():
        raise InputError(f"prior {prior!r} has mean cost {mean.max():g}: choose one with a positive finite mean.")
    return fitted


def cost_draws(prior: Prior, workup: Workup, draws: int) -> FloatArray:
    """What steps cost in each draw, (draws, M); on average what the work-up says."""
    if isinstance(prior, Empirical):
        return workup.costs * prior.samples / prior.mean  # all there is: nothing to draw
    factors = np.maximum(_at(prior, uniform_points(draws, len(workup.steps) + 1)), SMALLEST)
    return np.asarray(workup.costs * factors / prior.mean)


@lru_cache(8)
def uniform_points(draws: int, dimensions: int) -> FloatArray:
    """Scrambled Sobol' points in the open unit cube."""
    from scipy.stats import qmc

    exponent = int(np.ceil(np.log2(draws)))
    points = qmc.Sobol(dimensions, scramble=True, rng=np.random.default_rng(SEED)).random_base2(exponent)[:draws]
    return np.asarray(np.clip(points, SMALLEST, 1 - SMALLEST))


@singledispatch
def _at(prior: Prior, uniform: FloatArray) -> FloatArray:
    """Unit costs at uniform points, (draws, M), by the quantile function; the first column is for a common factor.

    A prior without one here is drawn from as it is, always with the same seed.
    """
    return prior.sample(len(uniform), uniform.shape[1] - 1, np.random.default_rng(SEED))


@_at.register
def _(prior: Beta, uniform: FloatArray) -> FloatArray:
    return np.asarray(uniform[:, 1:] ** (1 / prior.alpha))


@_at.register
def _(prior: Exponential, uniform: FloatArray) -> FloatArray:
    return -np.log1p(-uniform[:, 1:])


@_at.register
def _(prior: Gamma, uniform: FloatArray) -> FloatArray:
    from scipy.special import gammaincinv

    return np.asarray(gammaincinv(prior.shape, uniform[:, 1:]))


@_at.register
def _(prior: LogNormal, uniform: FloatArray) -> FloatArray:
    from scipy.special import ndtri

    normal, common = ndtri(uniform), prior.correlation
    return np.asarray(
        np.exp(prior.sigma * (np.sqrt(common) * normal[:, :1] + np.sqrt(1 - common) * normal[:, 1:]))
    )


@_at.register
def _(prior: FromScipy, uniform: FloatArray) -> FloatArray:
    return np.asarray(prior.dist.ppf(uniform[:, 1:]))
