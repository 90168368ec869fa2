"""Intervals and p-values of one estimate, from its standard error or from bootstrap replicates.

`effective` is how many independent units, instances or groups of them, would say as much if all had one weight. It
takes the place of the sample size: t has `effective` - 1 degrees of freedom.
"""

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from pandora_regret.core.inputs import FloatArray
from pandora_regret.inference.student import NORMAL, student_quantile, student_tail

Limits: TypeAlias = tuple[float | None, float | None]
CountsFunction: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]

NO_LIMITS: Limits = (None, None)
ROUNDING = 1e-12  # relative; differences below it are none
FEWEST_UNITS = 1.5  # units, effectively: where one of them has nearly all the weight, nothing is known of others
MOST_CLASSES = 1000  # whose counts are moved one by one
BIAS_WEIGHT = 3  # of the squared bias beside the variance: enough to cover models that are hard to tell apart
LEAST_AND_MOST_SKEW = -0.15, 0.15  # beyond it the correction for skewness is worse than none


def effective_of_sums(weight: float, second: float, fourth: float) -> float:
    """How many units of equal weight say as much, from the sums of weights, their squares and fourth powers.

    A mean of units of shares h has the variance of ``1 / sum h^2`` equal ones (Kish), and the estimate of that
    variance is as uncertain as that of ``(sum h^2)^2 / sum h^4`` (Satterthwaite). With very unequal weights the
    first gives intervals that are too narrow, the second such that are too wide; their harmonic mean covers.
    """
    kish = weight**2 / second
    satterthwaite = second**2 / fourth
    return 2 / (1 / kish + 1 / satterthwaite)


def suitable_interval(
    value: float,
    error: float,
    effective: float,
    level: float,
    *,
    replicates: FloatArray | None = None,
    acceleration: float = 0.0,
    is_proportion: bool = False,
) -> Limits:
    """Student's interval, stretched to corrected percentiles of replicates, (R,); of a proportion, Wilson's.

    Where the estimate is skewed by a, Student's reaches ``t + a (2 t^2 + 1)`` standard errors on the longer side
    (Johnson 1978). Percentiles of few rows reach less far than t where values have heavy tails. Wilson's holds
    near 0 and 1, where Student's does not: the sample size is the one at which independent instances would have
    this standard error, or, where all are alike, the number of units.
    """
    if not math.isfinite(error) or effective < FEWEST_UNITS:
        return NO_LIMITS
    t = _quantile(effective, level)
    if is_proportion:
        n = effective
        spread = value * (1 - value)
        if error > 0 and spread > 0:
            n = effective * spread / (error**2 * (effective - 1))
        low, high = _wilson(np.array(value), np.array(t**2 / n))
        return float(low), float(high)
    skew = float(np.clip(acceleration, *LEAST_AND_MOST_SKEW))
    johnson = math.copysign(t, skew) + skew * (2 * t**2 + 1)  # standard errors, to the longer side
    ends = [value - t * error, value + t * error, value + johnson * error]
    if replicates is not None:
        ends += corrected_interval(replicates, value, effective, level, acceleration)
    return min(ends), max(ends)


def hull(first: Limits, second: Limits) -> Limits:
    """The smallest interval that holds both; none where one of them is not known."""
    ends = [*first, *second]
    known = [end for end in ends if end is not None]
    if len(known) < len(ends):
        return NO_LIMITS
    return min(known), max(known)


def student_p_value(
    value: float, error: float, effective: float, scale: float, acceleration: float = 0.0
) -> float | None:
    """The two-sided p-value of the hypothesis that the value is 0; None where that is not known.

    One less the level at which the interval would just reach 0, which may lie on its longer side: where
    ``t + a (2 t^2 + 1)`` standard errors, a the skew towards 0, are as much as the value. An error below `scale`
    times 1e-12 is rounding: units that are all alike say nothing of how others vary, and the p-value of a
    difference without any spread is not known.
    """
    if effective < FEWEST_UNITS or math.isnan(error):
        return None
    if error <= ROUNDING * scale:
        return None if value else 1.0
    towards_zero = -math.copysign(1.0, value)
    skew = max(towards_zero * float(np.clip(acceleration, *LEAST_AND_MOST_SKEW)), 0.0)
    beyond = max(abs(value) / error - skew, 0.0)
    t = 2 * beyond / (1 + math.sqrt(1 + 8 * skew * beyond))  # the root of 2 a t^2 + t = beyond
    return 2 * student_tail(effective - 1, t)


def interval_by_classes(
    of_counts: CountsFunction, counts: Sequence[FloatArray], effective: float, level: float
) -> Limits:
    """The interval of a function of class counts, (3, K), such as macro-F1; it holds where classes are rare.

    Of the instances that are of class k or are taken for it, a proportion is both; it has a score interval. Moving
    each class to the end of its interval moves the metric, and the moves add up like standard errors do (MOVER).
    """
    if effective < FEWEST_UNITS:
        return NO_LIMITS
    occurs, named, right = counts
    both = occurs + named
    either = both - right
    n = np.where(either > 0, either * effective / occurs.sum(), 1.0)  # no count of a class that is absent moves
    ratio = _quantile(effective, level) ** 2 / n
    value = float(of_counts(occurs, named, right))
    shares = np.divide(right, either, out=np.zeros_like(right), where=either > 0)
    is_moved = np.eye(len(right), dtype=bool)  # row k moves class k alone
    table = is_moved.shape
    reach = []
    for end in _wilson(shares, ratio):
        right_at_end = end * both / (1 + end)  # which makes right / (both - right) the end
        moved = np.where(is_moved, right_at_end, right)
        shift = of_counts(np.broadcast_to(occurs, table), np.broadcast_to(named, table), moved) - value
        reach.append(float(np.sqrt((shift**2).sum())))
    below, above = reach
    return value - below, value + above


def interval_by_forecast(
    value: float, predicted: float, variance: float, least: float, effective: float, level: float
) -> Limits:
    """The interval of a mean whose forecasts predict that mean, its variance, and the least value there can be.

    The analogue of the score interval: variance grows from 0 at the least value to what is predicted at the mean
    that is predicted, and on in proportion. So where all of a few rows had luck, the interval still knows that
    they need not have had any.
    """
    if effective < FEWEST_UNITS:
        return NO_LIMITS
    if predicted <= least or variance <= 0:
        return value, value
    slope = _quantile(effective, level) ** 2 * variance / (predicted - least)
    half = math.sqrt(slope * max(0.0, value - least) + slope**2 / 4)
    return value + slope / 2 - half, value + slope / 2 + half


def corrected_interval(
    replicates: FloatArray, value: float, effective: float, level: float, acceleration: float = 0.0
) -> tuple[float, float]:
    """Percentiles of bootstrap replicates, (R,), corrected for bias and skewness (BCa) and for few units.

    Replicates spread less than estimates do, and know nothing of t: the percentiles are those that belong to t
    standard errors (Hesterberg's expanded percentiles), then moved as Efron's BCa does.
    """
    bias = _score_below(replicates, value)
    reach = _quantile(effective, level) / math.sqrt(1 - 1 / effective)
    ends = bias + np.array([-reach, reach])
    skew = np.clip(acceleration, *LEAST_AND_MOST_SKEW)
    corrected = bias + ends / (1 - skew * ends)  # normal scores
    low, high = np.quantile(replicates, [NORMAL.cdf(score) for score in corrected])
    return float(low), float(high)


def corrected_p_value(
    replicates: FloatArray, value: float, effective: float, acceleration: float = 0.0, rounding: float = 0.0
) -> float:
    """One less the level at which the corrected interval would just reach 0; never less than ``2 / (R + 1)``."""
    drawn = np.where(np.abs(replicates) <= rounding, 0.0, replicates)
    if not drawn.any():
        return 1.0
    bias = _score_below(drawn, value)
    below = _score_below(drawn, 0.0)
    skew = np.clip(acceleration, *LEAST_AND_MOST_SKEW)
    end = (below - bias) / (1 + skew * (below - bias))  # what `corrected_interval` would move to `below`
    t = (end - bias) * math.sqrt(1 - 1 / effective)
    p_value = min(1.0, 2 * student_tail(effective - 1, abs(t)))
    least = 2 / (len(drawn) + 1)
    return max(p_value, least)


def interval_around(
    estimate: FloatArray, replicates: FloatArray, items: int, level: float, tied: FloatArray | float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """Intervals of figures of `items` things, such as Kendall's tau of models, that contain their estimates.

    Estimates (Q,) and replicates of them (R, Q) give lower and upper ends (Q,).

    Percentiles of replicates would not do. Tau counts which of two models is ahead, and every resampling adds the
    noise of the sample once more, so replicates lie to one side of the estimate as the estimate lies to that side
    of the truth, and somewhat less far: the first noise overturns the closest pairs. So the interval reaches to
    both sides of the estimate, and the bias of the replicates counts `BIAS_WEIGHT` times beside their variance.

    `tied`, (Q,), is the share of pairs of things that the sample does not tell apart: few instances leave models
    of equal accuracy. More instances may put each of them in either order, which resampling a tie does not show:
    the interval reaches further by this share on both sides.
    """
    bias = replicates.mean(axis=0) - estimate
    reach = _quantile(items, level) * np.sqrt(replicates.var(axis=0) + BIAS_WEIGHT * bias**2) + tied
    return estimate - reach, estimate + reach


def _wilson(share: FloatArray, ratio: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Limits of proportions, where `ratio` is ``t^2 / n``."""
    centre = share + ratio / 2
    half = np.sqrt(ratio * (share * (1 - share) + ratio / 4))
    return np.maximum(0.0, (centre - half) / (1 + ratio)), np.minimum(1.0, (centre + half) / (1 + ratio))


def _quantile(effective: float, level: float) -> float:
    """How many standard errors Student's interval of a level reaches to either side."""
    return student_quantile(effective - 1, (1 + level) / 2)


def _score_below(replicates: FloatArray, value: float) -> float:
    """The normal score of the share of replicates below a value, ties counting half; never infinite."""
    below = (replicates < value).sum() + (replicates == value).sum() / 2
    return NORMAL.inv_cdf((below + 0.5) / (len(replicates) + 1))
