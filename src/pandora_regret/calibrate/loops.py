"""The loops of calibration, compiled by numba: one fused pass over the scores, instances innermost.

Scores come turned, (K, N), so that the innermost loop runs along instances and becomes vector code however few
the classes are. Each compiled function handles the instances from `start` to `stop`; the functions in front of
them have all cores do so, and add up what they found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pandora_regret.calibrate.rows import LabelledScores
from pandora_regret.inputs import FloatArray, IntArray
from pandora_regret.kernels.compiled import in_threads
from pandora_regret.kernels.jit import njit
from pandora_regret.kernels.vector import FAST, INLINE, exp_parts, log_normal

LANES = 512  # instances at a time, so that their running sums stay in the cache


def log_loss_along(rows: LabelledScores, inverse_temperature: float) -> FloatArray:
    """The mean log loss of ``scores / T``, its slope and its curvature in 1 / T."""
    return _sums(rows, _log_loss_along, rows.weights, inverse_temperature) / rows.weights.sum()


def log_loss_by_fold(rows: LabelledScores, inverse_temperature: float, fold: IntArray) -> FloatArray:
    """The first three derivatives in 1 / T of the log loss of ``scores / T``, summed over each fold, (F, 3)."""
    return _sums(rows, _log_loss_by_fold, rows.weights, inverse_temperature, fold, int(fold.max()) + 1)


def beta_along(rows: LabelledScores, inverse_temperature: float, alpha: float, unit: float) -> FloatArray:
    """The mean of ``sum_j C_j L_alpha / 3`` in units of cost, its slope and its curvature in 1 / T."""
    arguments = (rows.weights, _third(rows, unit), inverse_temperature, alpha)
    return _sums(rows, _beta_along, *arguments) / rows.weights.sum()


def log_loss_gradient(rows: LabelledScores, scores: FloatArray) -> tuple[float, FloatArray]:
    """The mean log loss, and its derivative in every score, (K, N)."""
    shares, slopes = rows.weights / rows.weights.sum(), np.empty_like(scores)
    return float(_sums(replace(rows, scores=scores), _log_loss_gradient, shares, slopes)), slopes


def beta_gradient(rows: LabelledScores, scores: FloatArray, alpha: float, unit: float) -> tuple[float, FloatArray]:
    """The mean of ``sum_j C_j L_alpha / 3`` in units of cost, and its derivative in every score, (K, N)."""
    shares, slopes = rows.weights / rows.weights.sum(), np.empty_like(scores)
    arguments = (shares, _third(rows, unit), alpha, slopes)
    return float(_sums(replace(rows, scores=scores), _beta_gradient, *arguments)), slopes


def _third(rows: LabelledScores, unit: float) -> FloatArray:
    """Costs that turn L_alpha into the share of the uniform prior; a common factor moves no odds."""
    return np.ascontiguousarray(rows.costs[:, 0]) / (3 * unit)


def _sums(rows: LabelledScores, loop: Callable[..., Any], *arguments: Any) -> FloatArray:
    """What a loop sums over all instances: one number, or several."""

    def job(part: slice) -> Any:
        return loop(rows.scores, rows.truth, *arguments, part.start, part.stop)

    return np.asarray(np.sum(in_threads(job, len(rows), rows.scores.size), axis=0))


@njit(**FAST)
def _log_loss_along(scores, truth, weights, inverse_temperature, start, stop):
    """Weighted sums of the log loss of ``scores / T``, its slope and its curvature in 1 / T."""
    loss, slope, curvature = 0.0, 0.0, 0.0
    highest, s0, s1, s2 = np.empty(LANES), np.empty(LANES), np.empty(LANES), np.empty(LANES)
    for first in range(start, stop, LANES):
        last = min(first + LANES, stop)
        _highest(scores, first, last, highest)
        s0[:], s1[:], s2[:] = 0.0, 0.0, 0.0
        for k in range(len(scores)):
            row = scores[k, first:last]
            for r in range(len(row)):
                gap = row[r] - highest[r]
                s, m = exp_parts(inverse_temperature * gap)
                odds = s + s * m
                s0[r] += odds
                s1[r] += odds * gap
                s2[r] += odds * gap * gap
        of_rows = weights[first:last]
        for r in range(len(of_rows)):
            mean, own = s1[r] / s0[r], scores[truth[first + r], first + r] - highest[r]
            loss += of_rows[r] * (log_normal(s0[r]) - inverse_temperature * own)
            slope += of_rows[r] * (mean - own)
            curvature += of_rows[r] * (s2[r] / s0[r] - mean * mean)
    return loss, slope, curvature


@njit(**FAST)
def _log_loss_by_fold(scores, truth, weights, inverse_temperature, fold, n_folds, start, stop):
    """Weighted sums, for each fold, of slope, curvature and third derivative: the cumulants of the scores."""
    sums = np.zeros((n_folds, 3))
    highest, s0, s1, s2, s3 = np.empty(LANES), np.empty(LANES), np.empty(LANES), np.empty(LANES), np.empty(LANES)
    for first in range(start, stop, LANES):
        last = min(first + LANES, stop)
        _highest(scores, first, last, highest)
        s0[:], s1[:], s2[:], s3[:] = 0.0, 0.0, 0.0, 0.0
        for k in range(len(scores)):
            row = scores[k, first:last]
            for r in range(len(row)):
                gap = row[r] - highest[r]
                s, m = exp_parts(inverse_temperature * gap)
                odds = s + s * m
                s0[r] += odds
                s1[r] += odds * gap
                s2[r] += odds * gap * gap
                s3[r] += odds * gap * gap * gap
        for r in range(last - first):
            n = first + r
            mean, square, cube = s1[r] / s0[r], s2[r] / s0[r], s3[r] / s0[r]
            sums[fold[n], 0] += weights[n] * (mean - (scores[truth[n], n] - highest[r]))
            sums[fold[n], 1] += weights[n] * (square - mean * mean)
            sums[fold[n], 2] += weights[n] * (cube - 3 * mean * square + 2 * mean * mean * mean)
    return sums


@njit(**INLINE)
def _highest(scores, first, last, out):
    out[: last - first] = scores[0, first:last]
    for k in range(1, len(scores)):
        row = scores[k, first:last]
        for r in range(len(row)):
            out[r] = row[r] if row[r] > out[r] else out[r]


@njit(**FAST)
def _log_loss_gradient(scores, truth, weights, out, start, stop):
    """The weighted sum of the log loss; in `out` its derivative in every score."""
    loss = 0.0
    highest, total = np.empty(LANES), np.empty(LANES)
    for first in range(start, stop, LANES):
        last = min(first + LANES, stop)
        _highest(scores, first, last, highest)
        total[:] = 0.0
        for k in range(len(scores)):
            row, slopes = scores[k, first:last], out[k, first:last]
            for r in range(len(row)):
                s, m = exp_parts(row[r] - highest[r])
                slopes[r] = s + s * m
                total[r] += s + s * m
        of_rows = weights[first:last]
        for r in range(len(of_rows)):
            own = scores[truth[first + r], first + r] - highest[r]
            loss += of_rows[r] * (log_normal(total[r]) - own)
            total[r] = of_rows[r] / total[r]
        for k in range(len(scores)):
            slopes = out[k, first:last]
            for r in range(len(slopes)):
                slopes[r] *= total[r]
        for r in range(len(of_rows)):
            out[truth[first + r], first + r] -= of_rows[r]
    return loss


@njit(**INLINE)
def _beta(odds, alpha):
    """``L_alpha``, and ``-1 / (alpha + 1)`` times its slope, at ``ln r = odds``, from one exponential."""
    ahead = odds > 0
    s, m = exp_parts((-(alpha + 1) if ahead else alpha) * odds)
    small = s * m
    rise = -odds if alpha == 0 else (1 + 1 / alpha) * ((1 - s) - small)
    return s + small if ahead else 1 + rise, s + small


@njit(**INLINE)
def _truths(scores, truth, log_costs, first, last, own, shift):
    """The score of each instance's true class, and the logarithm of its cost."""
    for r in range(last - first):
        i = truth[first + r]
        own[r], shift[r] = scores[i, first + r], log_costs[i]


@njit(**FAST)
def _beta_along(scores, truth, weights, costs, inverse_temperature, alpha, start, stop):
    """Weighted sums of ``sum_j C_j L_alpha``, of its slope and of its curvature in 1 / T."""
    loss, slope, curvature = 0.0, 0.0, 0.0
    own, shift, log_costs = np.empty(LANES), np.empty(LANES), np.log(costs)
    for first in range(start, stop, LANES):
        last = min(first + LANES, stop)
        _truths(scores, truth, log_costs, first, last, own, shift)
        for k in range(len(scores)):
            row, of_rows, cost, log_cost = scores[k, first:last], weights[first:last], costs[k], log_costs[k]
            sum0, sum1, sum2 = 0.0, 0.0, 0.0
            for r in range(len(row)):
                gap = own[r] - row[r]
                odds = inverse_temperature * gap + (log_cost - shift[r])
                pair, steep = _beta(odds, alpha)
                pull = of_rows[r] * steep * gap
                sum0 += of_rows[r] * pair
                sum1 += pull
                sum2 += pull * gap * (-alpha if odds < 0 else alpha + 1)
            loss += cost * sum0
            slope -= cost * (alpha + 1) * sum1
            curvature += cost * (alpha + 1) * sum2
    return loss - _ties(truth, weights, costs, start, stop), slope, curvature


@njit(**FAST)
def _ties(truth, weights, costs, start, stop):
    """What the truth, tied with itself, adds to a sum over all classes."""
    total = 0.0
    for r in range(start, stop):
        total += weights[r] * costs[truth[r]]
    return total


@njit(**FAST)
def _beta_gradient(scores, truth, weights, costs, alpha, out, start, stop):
    """The weighted sum of ``sum_j C_j L_alpha``; in `out` its derivative in every score."""
    loss = 0.0
    own, shift, total, log_costs = np.empty(LANES), np.empty(LANES), np.empty(LANES), np.log(costs)
    for first in range(start, stop, LANES):
        last = min(first + LANES, stop)
        _truths(scores, truth, log_costs, first, last, own, shift)
        total[:] = 0.0
        for k in range(len(scores)):
            row, slopes, of_rows = scores[k, first:last], out[k, first:last], weights[first:last]
            part, cost, log_cost = 0.0, costs[k], log_costs[k]
            for r in range(len(row)):
                pair, steep = _beta(own[r] - row[r] + (log_cost - shift[r]), alpha)
                slopes[r] = of_rows[r] * cost * (alpha + 1) * steep
                total[r] += slopes[r]
                part += of_rows[r] * pair
            loss += cost * part
        for r in range(last - first):
            out[truth[first + r], first + r] -= total[r]
    return loss - _ties(truth, weights, costs, start, stop)
