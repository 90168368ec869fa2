"""Many metrics of many rows in one compiled pass over columns, as they lie in a file.

An optimisation of the registry's definitions, which say what it must compute. Rows that the loop is not sure of
are left to them.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs import FloatArray, IntArray, row_slices
from pandora_regret.core.kernels.engine import in_threads
from pandora_regret.core.priors import Beta
from pandora_regret.core.priors.base import TIE, TIE_IN_SINGLE
from pandora_regret.core.tally import Means

LANE_OF = {  # the order of `kernels.compiled`; the first is the loss, of which two metrics are parts
    "pandora_regret": 0,
    "excess_burden": 0,
    "expected_cost": 1,
    "realised_cost": 2,
    "tests": 3,
    "log_loss": 4,
    "brier": 5,
    "accuracy": 6,
}
MOST_COUNTED = 64  # classes whose (K, K) counts are small beside their rows
COPIED_AT_ONCE = 1 << 17  # numbers that are brought together from all columns, and stay in the cache
NONE = np.empty(0, np.intp)


class FusedScores(NamedTuple):
    """The metrics of rows, or of those that are beyond doubt."""

    means: Means  # of each metric, in the order of the keys
    predicted: IntArray  # (n,) the likeliest class; ties go to the lower column number
    table: FloatArray  # (metrics, n), or (metrics, 0) where sums are enough
    doubtful: IntArray = NONE  # the numbers of the rows that are not among them
    # (2, K, K) w and w^2 of rows of class i whose likeliest class is j; if at hand
    cells: FloatArray | None = None


class _Rows(NamedTuple):
    """What the loop reads of N rows, and the arrays that it fills for them."""

    columns: Sequence[NDArray[np.floating]] | NDArray[np.floating]  # K of shape (N,)
    truth: IntArray
    weights: FloatArray | None
    costs: FloatArray | None
    prior: Beta
    tolerance: float
    predicted: IntArray  # (N,)
    table: FloatArray | None  # (N_METRICS, N)


class _Sums(NamedTuple):
    """What the loop adds up over some rows."""

    weights: FloatArray  # (3,)
    metrics: FloatArray  # (N_SUMS, N_METRICS)
    cells: FloatArray | None  # (2, K, K), unless there are too many classes


def fused_scores(
    keys: Sequence[str],
    columns: Sequence[NDArray[np.floating]] | NDArray[np.floating],
    truth: IntArray,
    weights: FloatArray | None,
    costs: FloatArray | None,
    prior: Beta,
    tolerance: float,
    *,
    with_table: bool = False,
) -> FusedScores:
    """Metrics of `LANE_OF` of a Beta prior for K contiguous columns (n,) of probabilities, float32 or float64."""
    from pandora_regret.core.kernels import compiled

    n_rows = len(truth)
    n_classes = len(columns)
    cost = 1.0
    if costs is not None and bool((costs == costs[0]).all()):  # half the work
        cost = float(costs[0])
        costs = None
    predicted = np.empty(n_rows, np.int64)
    table = np.empty((compiled.N_METRICS, n_rows)) if with_table else None
    rows = _Rows(columns, truth, weights, costs, prior, tolerance, predicted, table)
    parts = in_threads(partial(_sums_of, rows), n_rows, n_rows * n_classes)
    lanes = [LANE_OF[key] for key in keys]
    factors = _factors_of_metrics(keys, n_classes, cost)
    means = Means((len(keys),))
    for part in parts:
        means.merge(_means_of_sums(part.weights, part.metrics[:, lanes], factors))
    values = np.empty((len(keys), 0)) if table is None else table[lanes] * factors[:, None]
    doubtful = np.flatnonzero(predicted < 0)
    cells = None
    if len(doubtful) == 0 and n_classes <= MOST_COUNTED:
        cells = np.sum([part.cells for part in parts if part.cells is not None], axis=0)
    return FusedScores(means, predicted, values, doubtful, cells)


def _sums_of(rows: _Rows, some: slice) -> _Sums:
    """The sums over some rows, a few at a time: so many that a copy of their columns stays in the cache."""
    from pandora_regret.core.kernels import compiled

    n_classes = len(rows.columns)
    is_counted = n_classes <= MOST_COUNTED
    cells = np.zeros((2, n_classes, n_classes)) if is_counted else None
    sums = _Sums(np.zeros(3), np.zeros((compiled.N_SUMS, compiled.N_METRICS)), cells)
    for part in row_slices(some.stop - some.start, n_classes, COPIED_AT_ONCE):
        piece = slice(some.start + part.start, some.start + part.stop)
        compiled.score_columns(
            np.array([column[piece] for column in rows.columns]),
            rows.truth[piece],
            None if rows.weights is None else rows.weights[piece],
            rows.costs,
            float(rows.prior.alpha),
            TIE_IN_SINGLE if rows.columns[0].itemsize <= 4 else TIE,
            rows.tolerance,
            (float(rows.prior.mean), float(rows.prior.loss_to_share)),
            rows.predicted[piece],
            sums.weights,
            sums.metrics,
            sums.cells,
            None if rows.table is None else rows.table[:, piece],
        )
    return sums


def _factors_of_metrics(keys: Sequence[str], n_classes: int, cost: float) -> FloatArray:
    """What the numbers of the loop are multiplied by to become metrics, (keys,), where each test costs that."""
    factor_of = {
        "pandora_regret": 1 / (3 * (n_classes - 1)),  # of the loss
        "excess_burden": 1 / 3,
        "expected_cost": cost,
        "realised_cost": cost,
    }
    return np.array([factor_of.get(key, 1.0) for key in keys])


def _means_of_sums(weight_sums: FloatArray, sums: FloatArray, factors: FloatArray) -> Means:
    """Means of metrics from the sums that the loop made, (sums, metrics), and those of weights, (3,)."""
    count, weight, squared_weight = weight_sums.tolist()
    total, centre, drift, spread = sums
    moments = np.array([np.full(len(factors), squared_weight), factors * drift, factors**2 * spread])
    return Means.of_sums(int(count), weight, factors * total, factors * centre, moments)
