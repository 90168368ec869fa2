"""Classes that have become more or less common: new class frequencies, found without labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pandora_regret.calibrate.frequencies import MOST_ROUNDS, TOLERANCE, adjusted, adjusted_frequencies
from pandora_regret.calibrate.reading import ReadsForecasts
from pandora_regret.inputs import FloatArray, Forecast, read_count, read_positive, read_probabilities
from pandora_regret.inputs.tables import by_name
from pandora_regret.kernels.reference import probabilities


@dataclass(eq=False, repr=False, kw_only=True)
class PriorShift(ReadsForecasts):
    """Forecasts made where classes had some frequencies, adjusted to where they have others.

    `fit` counts the labels of the data that the classifier was trained on, or of data like it. `adapt` looks at
    forecasts of the new population, without labels, and finds the class frequencies under which they are most
    likely (EM, Saerens and others, 2002). `predict_proba` multiplies each forecast by the ratio of frequencies,
    new over old, and normalises; before `adapt`, and without `target_prior`, it changes nothing.

    Adapting trusts the classifier: what p(features | class) says must be the same in both populations, and
    forecasts must be calibrated in the old one. A class that never occurs in `fit` has no old frequency: its
    forecasts keep their proportion. A row to which the new frequencies give no possible class is left as it is.

    Parameters
    ----------
    target_prior
        The new class frequencies where they are known: (K,), or named by class.
    tolerance, max_rounds
        EM stops when no frequency moves by more than the tolerance, or after so many rounds.
    logits, labels, normalise
        As in `TemperatureScaling`.

    Attributes
    ----------
    source_prior_, target_prior_
        Old and new class frequencies, (K,).
    rounds_
        Rounds of EM.

    Examples
    --------
    >>> shift = PriorShift(target_prior=[0.1, 0.9]).fit([[0.5, 0.5]] * 2, [0, 1])
    >>> shift.predict_proba([[0.5, 0.5]])
    array([[0.1, 0.9]])
    """

    target_prior: Any = None
    tolerance: float = TOLERANCE
    max_rounds: int = MOST_ROUNDS
    logits: bool = False
    labels: Any = None
    normalise: bool = False

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PriorShift:
        """Count the classes y, (N,), or votes, (N, K), of data as in training; X are its forecasts, (N, K)."""
        forecast = self._labelled(X, y, sample_weight).check()
        counts = np.bincount(forecast.truth, forecast.weights, forecast.n_classes)
        self.source_prior_ = counts / counts.sum()
        self.target_prior_, self.rounds_ = self._known_target(), 0
        return self

    def adapt(self, X: Any, sample_weight: Any = None) -> PriorShift:
        """Find the class frequencies of a population from forecasts of it, (N, K), without labels."""
        forecast = self._unlabelled(X, sample_weight)
        table, limit = _table(forecast), read_count(self.max_rounds, "max_rounds")
        tolerance = read_positive(self.tolerance, "tolerance")
        self.target_prior_, self.rounds_ = adjusted_frequencies(
            table, self.source_prior_, forecast.weights, tolerance, limit
        )
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Forecasts adjusted to the new class frequencies, (N, K)."""
        table = _table(self._unlabelled(X))
        return self._in_class_order(adjusted(table, self.source_prior_, self.target_prior_))

    def _known_target(self) -> FloatArray:
        if self.target_prior is None:
            return np.asarray(self.source_prior_)
        listed = by_name(self.target_prior, self._columns, "target_prior")
        target = read_probabilities([listed], labels=self._columns, name="target_prior").check()
        return np.asarray(target.values[0], dtype=np.float64)


def _table(forecast: Forecast) -> FloatArray:
    return np.concatenate([probabilities(block) for block in forecast.blocks()])
