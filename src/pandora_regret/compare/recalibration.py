"""Each model as its recalibrated self: every row by a map that rows of other folds fitted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pandora_regret.calibrate.maps import fitted_map
from pandora_regret.calibrate.rows import cross_fit, deal, rows_of
from pandora_regret.calibrate.temperature import out_of_fold_inverse_temperatures
from pandora_regret.compare.sample import Sample
from pandora_regret.inputs import Forecast

FOLDS = 10
OUT_OF_REACH = -1e6  # log-probability of an option that a row does not have, at any temperature


def recalibrated(forecast: Forecast, sample: Sample, method: str, seed: int) -> Forecast | None:
    """The forecast, (N, K), as logits; None where there is one row, or one group, and nothing to learn from.

    Maps are fitted for log loss. Groups are dealt into folds as a whole.
    """
    folds, groups = min(FOLDS, len(sample.keys)), sample.cluster_of if sample.clustered else None
    if folds < 2:
        return None
    rows, _ = rows_of(forecast)
    fold = forecast.per_row(deal(sample.truth, folds, seed, groups))
    if method == "temperature":
        scores = rows.scores * out_of_fold_inverse_temperatures(rows, fold)
    else:
        scores = np.empty_like(rows.scores)
        for inside, map_ in cross_fit(rows, fold, lambda others: fitted_map(method, others)):
            scores[:, inside] = map_(rows.scores[:, inside])
    read_as = forecast.read_as or forecast.values.dtype
    return replace(forecast, values=scores.T, logits=True, checked=True, read_as=read_as)
