"""What a monitor is given: forecasts, labels of which some are not known yet, settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pandora_regret.inputs import Forecast, InputError, IntArray, Labels, Table, read_probabilities
from pandora_regret.inputs.labels import read_truth
from pandora_regret.inputs.numbers import read_array, read_count, read_number
from pandora_regret.monitor.rows import Rows, read_rows
from pandora_regret.priors import Prior

MOST_LANES = 1000


def read_new(forecast: Forecast, prior: Prior, costs: Any) -> Rows:
    """Forecasts at prices, which may be None; their numbers are checked here."""
    priced = forecast if costs is None else forecast.with_costs(costs)
    return read_rows(priced, prior) if len(forecast) else Rows.empty(forecast.n_classes)


def read_challenger(challenger: Table, forecast: Forecast, logits: bool) -> Forecast:
    """Another model's forecasts of the same cases."""
    other = read_probabilities(challenger, labels=forecast.labels, logits=logits, name="challenger")
    if len(other) != len(forecast):
        problem = f"has {len(other)} rows for {len(forecast)} cases"
        raise InputError(problem, argument="challenger", value=len(other), fix="pass one row per case")
    return other


def read_known(y_true: Labels, labels: Sequence[Any], n: int) -> IntArray:
    """The column of each true class, -1 where it is not known."""
    truth = np.full(n, -1, dtype=np.intp)
    if y_true is None:
        return truth
    given = read_array(y_true, "y_true")
    if given.dtype.kind in "biu" or given.shape != (n,):
        return read_truth(y_true, labels, n)
    listed = np.asarray(y_true, dtype=object)
    known = np.array([row for row, label in enumerate(listed) if not _is_missing(label)], dtype=np.intp)
    if given.dtype.kind == "f" and not (given[known] % 1).any():  # NaN made floats of whole numbers
        listed = np.array([None if _is_missing(label) else int(label) for label in given], dtype=object)
    if len(known):
        truth[known] = read_truth(listed[known], labels, len(known))
    return truth


def _is_missing(label: Any) -> bool:
    return label is None or label != label or type(label).__name__ in ("NAType", "NaTType")


def read_lag(lag: Any) -> int:
    """A number of periods."""
    if read_count(lag, "lag") > MOST_LANES:
        raise InputError(f"is {lag}", argument="lag", value=lag, fix=f"it must be at most {MOST_LANES}")
    return int(lag)


def read_error_level(level: Any) -> float:
    """The probability of a false alarm."""
    number = read_number(level, "level")
    if not 0 < number <= 0.5:
        fix = "it is the probability of a false alarm, such as 0.05, at most 0.5"
        raise InputError(argument="level", value=number, fix=fix)
    return number
