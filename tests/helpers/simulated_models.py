"""Models that see the truth through more or less noise, for whoever tests comparing them."""

import numpy as np


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def simulated(n, seed=0, k=3, noise=(0.4, 0.8), sharpness=1.5):
    """True classes, and forecasts of models that see the truth through more or less noise."""
    rng = np.random.default_rng(seed)
    signal = sharpness * rng.normal(size=(n, k))
    truth = (softmax(signal).cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=k - 1)
    return truth, {f"noise {s}": softmax(signal + s * rng.normal(size=(n, k))) for s in noise}


def calibrated(truth, skill, seed, n_classes=3):
    """Forecasts that are right about themselves: the posterior of equally frequent classes, given noisy signs."""
    signs = skill * np.eye(n_classes)[truth] + np.random.default_rng(seed).normal(size=(len(truth), n_classes))
    return sharpened(np.exp(skill * (signs - signs.max(axis=1, keepdims=True))), 1.0)


def sharpened(proba, power):
    """The same forecasts, bolder than they should be, or meeker below 1."""
    odds = proba**power
    return odds / odds.sum(axis=1, keepdims=True)
