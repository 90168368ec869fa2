"""The bootstrap: how often each replicate draws each instance and each model.

Replicate 0 is the sample itself. Every other one depends on the seed and its own number alone, so that they may be
computed in any order and in blocks of any size.
"""

from __future__ import annotations

import numpy as np

from pandora_regret.inference.keyed import keyed_generator
from pandora_regret.inputs import FloatArray

RESAMPLE = {
    "instances": "other cases, the same models",
    "models": "other models, the same cases",
    "both": "other cases and other models",
}


def instance_counts(numbers: range, n_instances: int, resample: str, seed: int) -> FloatArray:
    """How often each of some replicates draws each instance, (R, N)."""
    return _counts(numbers, n_instances, "instances", seed, resample != "models")


def model_counts(numbers: range, n_models: int, resample: str, seed: int) -> FloatArray:
    """How often each of some replicates draws each model, (R, M)."""
    return _counts(numbers, n_models, "models", seed, resample != "instances")


def _counts(numbers: range, n_items: int, what: str, seed: int, resampled: bool) -> FloatArray:
    def draw(number: int) -> FloatArray:
        drawn = keyed_generator(seed, what, number).integers(0, n_items, n_items)
        return np.bincount(drawn, minlength=n_items).astype(np.float64)

    ones = np.ones(n_items)
    return np.stack([draw(number) if resampled and number > 0 else ones for number in numbers])
