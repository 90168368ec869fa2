"""river: the cost of a search as a running metric, and a drift detector that knows what forecasts promise.

Forecasts are dictionaries from classes to probabilities, as `predict_proba_one` returns them. A class that is left
out of one has probability 0 there; a model that knows nothing yet, and returns no class, forecasts all alike.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from river import base, metrics

from pandora_regret.core.inputs import FloatArray, InputError, read_labels
from pandora_regret.core.priors import Prior
from pandora_regret.core.scores import expected_search_cost
from pandora_regret.monitor import Monitor


class MeanSearchCost(metrics.base.MeanMetric, metrics.base.MultiClassMetric):
    """The mean cost of the search that forecasts order: lower is better.

    Parameters
    ----------
    classes
        All classes that may come.
    costs, prior
        What tests cost, as in `expected_search_cost`; costs in the order of the classes, or named by class.

    Examples
    --------
    >>> metric = MeanSearchCost(["flu", "cold"], costs={"flu": 20, "cold": 5})
    >>> metric.update("flu", {"flu": 0.8, "cold": 0.2})
    >>> metric.update("cold", {"flu": 0.8, "cold": 0.2})
    >>> metric
    MeanSearchCost: 16.67
    """

    _fmt = ",.2f"
    bigger_is_better = False
    requires_labels = False  # but probabilities

    def __init__(self, classes: Sequence[Any], costs: Any = None, prior: Prior | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.classes = classes
        self.costs = costs
        self.prior = prior

    def _eval(self, y_true: Any, y_pred: Mapping[Any, float]) -> float:
        row = as_row(y_pred, self.classes)
        return float(expected_search_cost([y_true], row, prior=self.prior, costs=self.costs, labels=self.classes))


class OverpayDetector(base.DriftDetector):
    """Whether forecasts have begun to cost more than they promise.

    `drift_detected` is the alarm of the monitor: it ever comes with probability `level` at most while forecasts
    keep their promises. After it the detector begins anew.

    Parameters
    ----------
    classes, costs, prior
        As in `MeanSearchCost`.
    level
        As in `pandora_regret.monitor.Monitor`.

    Examples
    --------
    >>> detector = OverpayDetector(["flu", "cold"])
    >>> for _ in range(60):
    ...     detector.update("cold", {"flu": 0.9, "cold": 0.1})
    ...     if detector.drift_detected:
    ...         break
    >>> detector.drift_detected, detector.n_updates < 60
    (True, True)
    """

    def __init__(
        self,
        classes: Sequence[Any],
        costs: Any = None,
        prior: Prior | None = None,
        level: float = 0.05,
    ) -> None:
        super().__init__()
        self.classes = classes
        self.costs = costs
        self.prior = prior
        self.level = level
        self._reset()

    def _reset(self) -> None:
        super()._reset()
        self.monitor = Monitor(costs=self.costs, prior=self.prior, labels=self.classes, level=self.level)

    @property
    def n_updates(self) -> int:
        """How many cases there were since the last drift."""
        return 0 if self.monitor.paid is None else self.monitor.paid.n

    def update(self, y_true: Any, y_pred: Mapping[Any, float]) -> None:  # type: ignore[override]
        """Take in one forecast and its truth."""
        if self.drift_detected:
            self._reset()
        self.monitor.update([y_true], as_row(y_pred, self.classes))
        assert self.monitor.paid is not None
        self._drift_detected = self.monitor.paid.overpaid.noticed_at(above=True) is not None


def as_row(forecast: Mapping[Any, float], classes: Sequence[Any]) -> FloatArray:
    """A forecast as a table of one row, (1, K), in the order of the classes."""
    labels = read_labels(classes, "classes")
    for unknown in (name for name in forecast if name not in labels):
        problem = f"names {unknown!r}, which is not among the classes"
        raise InputError(problem, argument="y_pred", value=unknown, fix="list every class that may come")
    if not forecast:
        return np.full((1, len(labels)), 1 / len(labels))
    return np.array([[float(forecast.get(name, 0.0)) for name in labels]])
