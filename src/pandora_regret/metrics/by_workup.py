"""What a whole work-up costs, as a metric like any other."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pandora_regret.inputs import FloatArray, Forecast
from pandora_regret.metrics.base import Metric
from pandora_regret.priors import Prior

if TYPE_CHECKING:
    from pandora_regret.workup import Workup


def workup_metric(workup: Workup, prior: Prior | None = None) -> Metric:
    """`workup_cost` of one work-up; costs are as it says, or vary around that by a prior."""
    return Metric(
        "workup_cost",
        "Work-up cost",
        "lower",
        of_forecast=partial(_costs, workup, prior),
        wording="the cost of the work-up",
        unit="money",
        bounds=(0.0, np.inf),
        shown_in=(),
    )


def _costs(workup: Workup, prior: Prior | None, forecast: Forecast, _: Prior) -> FloatArray:
    """Of each row, (N,); the comparison's own prior is about tests of a search."""
    from pandora_regret.workup.scores import WorkupRows

    return np.concatenate([costs for _, costs in WorkupRows(workup, forecast, prior).costs()])
