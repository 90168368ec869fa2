"""Forecasts sharpened or blurred by a temperature: of all classes, or of all but the true one."""

from __future__ import annotations

from typing import Any

import numpy as np

from pandora_regret.inference.keyed import keyed_generator
from pandora_regret.inputs import FloatArray, IntArray


def temperature_of(model: str, sigma: float, seed: int) -> float:
    """``exp(sigma z)``, z the model's own; the same z whatever sigma is."""
    return float(np.exp(sigma * keyed_generator(seed, "temperature", model).standard_normal()))


def tempered(proba: FloatArray, temperature: Any) -> FloatArray:
    """``p^(1/T)``, normalised; impossible classes stay impossible.

    Examples
    --------
    >>> tempered(np.array([[0.8, 0.2]]), 0.5).round(3)
    array([[0.941, 0.059]])
    """
    with np.errstate(divide="ignore", over="ignore"):
        logs = np.log(proba)
        powers = np.exp((logs - logs.max(axis=-1, keepdims=True)) / temperature)
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def tempered_distractors(truth: IntArray, proba: FloatArray, temperature: Any) -> FloatArray:
    """The truth's probability as it was, the rest shared by the other classes at another temperature.

    Where no other class has any probability but there is some to share, they share it equally.

    Examples
    --------
    >>> tempered_distractors(np.array([0]), np.array([[0.5, 0.4, 0.1]]), 0.5).round(3)
    array([[0.5  , 0.471, 0.029]])
    """
    is_truth = truth[:, None] == np.arange(proba.shape[-1])
    others = np.where(is_truth, 0.0, proba)
    others = np.where(others.any(axis=-1, keepdims=True), others, ~is_truth)
    left = np.maximum(1 - np.where(is_truth, proba, 0.0).sum(axis=-1, keepdims=True), 0.0)
    return np.where(is_truth, proba, left * tempered(others, temperature))
