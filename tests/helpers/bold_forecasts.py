"""Forecasts that are bolder than they should be, for whoever recalibrates them."""

import numpy as np
from scipy.special import softmax


def simulated(n=1500, k=4, power=1.0, seed=0, spread=1.5):
    """Labels drawn from the truth, and forecasts `power` times as bold."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, spread, (n, k))
    truth = (rng.random((n, 1)) > softmax(logits, axis=1).cumsum(axis=1)[:, :-1]).sum(axis=1)
    return truth, softmax(power * logits, axis=1)
