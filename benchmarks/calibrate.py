"""What recalibrating costs, against scikit-learn's temperature scaling in the same run.

Run with ``python benchmarks/calibrate.py`` on a quiet machine. The classifier is frozen and its forecasts are
given, so that both sides do nothing but calibrate.
"""

from __future__ import annotations

import os
import platform
import sys
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV, _TemperatureScaling
from sklearn.frozen import FrozenEstimator
from yardstick import best, claim, finish, record

from pandora_regret.calibrate import (
    CalibratedSearch,
    MatrixScaling,
    TemperatureScaling,
    VectorScaling,
    decompose,
)

ROWS, CLASSES = 100_000, 10


class Given(ClassifierMixin, BaseEstimator):
    """A classifier whose features are its forecasts."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Given:
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return X

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.classes_[X.argmax(axis=1)]


def bold_forecasts() -> tuple[np.ndarray, np.ndarray]:
    """Forecasts twice as bold as they should be, and labels."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, (ROWS, CLASSES))
    calm, bold = np.exp(logits), np.exp(2 * logits)
    calm, bold = calm / calm.sum(axis=1, keepdims=True), bold / bold.sum(axis=1, keepdims=True)
    return bold, (rng.random((ROWS, 1)) > calm.cumsum(axis=1)).sum(axis=1)


def temperature(bold: np.ndarray, truth: np.ndarray) -> None:
    frozen, shape = FrozenEstimator(Given().fit(bold, truth)), f"{ROWS:,} x {CLASSES}"

    def seconds(objective: str) -> tuple[float, float]:
        whole = CalibratedSearch(frozen, method="temperature", objective=objective)
        bare = TemperatureScaling(objective=objective)
        return best(lambda: whole.fit(bold, truth)), best(lambda: bare.fit(bold, truth))

    whole = best(lambda: CalibratedClassifierCV(frozen, method="temperature").fit(bold, truth))
    bare = best(lambda: _TemperatureScaling().fit(bold, truth))
    ours, ours_bare = seconds("log_loss")
    claim(f"CalibratedSearch, log_loss, {shape}", ours, "CalibratedClassifierCV", whole, 1 / 10)
    claim(f"TemperatureScaling, log_loss, {shape}", ours_bare, "its calibrator alone", bare, 1 / 10)
    record(f"TemperatureScaling, search, {shape}", f"{seconds('search')[1]:.2f} s", "no claim", None)


def agreement(bold: np.ndarray, truth: np.ndarray) -> None:
    theirs = 1 / float(_TemperatureScaling().fit(bold, truth).beta_)
    ours = TemperatureScaling(objective="log_loss").fit(bold, truth).temperature_
    record("the same temperature", f"{ours:.8f}", f"{theirs:.8f}", abs(ours / theirs - 1) < 1e-6)


def the_rest(bold: np.ndarray, truth: np.ndarray) -> None:
    def took(what: str, work: Any) -> None:
        record(what, f"{best(work, repeats=1):.2f} s", "no claim", None)

    for scaling in (VectorScaling, MatrixScaling):
        took(scaling.__name__, lambda make=scaling: make().fit(bold, truth))
    took("decompose, 10 folds", lambda: decompose(truth, bold))


if __name__ == "__main__":
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}, scikit-learn {sklearn.__version__}\n")
    given = bold_forecasts()
    agreement(*given)
    temperature(*given)
    the_rest(*given)
    sys.exit(finish())
