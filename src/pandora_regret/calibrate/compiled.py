"""The compiled loops of calibration at work: instances cut into chunks for all cores, sums added up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pandora_regret.calibrate import loops
from pandora_regret.calibrate.rows import LabelledScores
from pandora_regret.inputs import FloatArray
from pandora_regret.kernels.compiled import in_threads


def log_loss_along(rows: LabelledScores, inverse_temperature: float) -> tuple[float, ...]:
    """The mean log loss of ``scores / T``, its slope and its curvature in 1 / T."""
    arguments = (rows.scores, rows.truth, rows.weights, inverse_temperature)
    return _means(rows, lambda part: loops.log_loss_along(*arguments, part.start, part.stop))


def beta_along(rows: LabelledScores, inverse_temperature: float, alpha: float, unit: float) -> tuple[float, ...]:
    """The mean of ``sum_j C_j L_alpha / 3`` in units of cost, its slope and its curvature in 1 / T."""
    arguments = (rows.scores, rows.truth, rows.weights, _third(rows, unit), inverse_temperature, alpha)
    return _means(rows, lambda part: loops.beta_along(*arguments, part.start, part.stop))


def log_loss_gradient(rows: LabelledScores, scores: FloatArray) -> tuple[float, FloatArray]:
    """The mean log loss, and its derivative in every score, (K, N)."""
    slopes = np.empty_like(scores)
    shares = rows.weights / rows.weights.sum()
    arguments = (scores, rows.truth, shares, slopes)
    return _sum(rows, lambda part: loops.log_loss_gradient(*arguments, part.start, part.stop)), slopes


def beta_gradient(rows: LabelledScores, scores: FloatArray, alpha: float, unit: float) -> tuple[float, FloatArray]:
    """The mean of ``sum_j C_j L_alpha / 3`` in units of cost, and its derivative in every score, (K, N)."""
    slopes = np.empty_like(scores)
    arguments = (scores, rows.truth, rows.weights / rows.weights.sum(), _third(rows, unit), alpha, slopes)
    return _sum(rows, lambda part: loops.beta_gradient(*arguments, part.start, part.stop)), slopes


def _third(rows: LabelledScores, unit: float) -> FloatArray:
    """Costs that turn L_alpha into the share of the uniform prior; a common factor moves no odds."""
    return np.ascontiguousarray(rows.costs[:, 0]) / (3 * unit)


def _sum(rows: LabelledScores, job: Callable[[slice], Any]) -> float:
    return float(np.sum(in_threads(_inside(job, len(rows)), len(rows), rows.scores.size)))


def _means(rows: LabelledScores, job: Callable[[slice], Any]) -> tuple[float, ...]:
    parts = in_threads(_inside(job, len(rows)), len(rows), rows.scores.size)
    return tuple((np.sum(parts, axis=0) / rows.weights.sum()).tolist())


def _inside(job: Callable[[slice], Any], n_rows: int) -> Callable[[slice], Any]:
    """The same job, whose last slice does not reach beyond the last instance."""
    return lambda part: job(slice(part.start, min(part.stop, n_rows)))
