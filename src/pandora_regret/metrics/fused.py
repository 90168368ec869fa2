"""Many metrics of many rows in one compiled pass over columns, as they lie in a file.

An optimisation of the registry's definitions, which say what it must compute. Rows that the loop is not sure of
are left to them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.inputs import FloatArray, IntArray
from pandora_regret.kernels.engine import worth_compiling
from pandora_regret.priors import Beta
from pandora_regret.tally import Means

N_LANES = 7
LANE_OF = {  # rows of the table of `kernels.lanes.score`; the first is the loss, of which two metrics are parts
    "pandora_regret": 0,
    "excess_burden": 0,
    "expected_cost": 1,
    "realised_cost": 2,
    "tests": 3,
    "log_loss": 4,
    "brier": 5,
    "accuracy": 6,
}


@dataclass(frozen=True, eq=False)
class FusedScores:
    """The metrics of the rows that are beyond doubt."""

    means: Means  # of each metric, in the order of the keys
    predicted: NDArray[Any]  # (n,) the likeliest class; ties go to the lower column number
    doubtful: IntArray  # the numbers of the rows that are not among them
    table: FloatArray  # (metrics, n), or (metrics, 0) where sums are enough


def score_columns(
    keys: Sequence[str],
    columns: Sequence[NDArray[Any]],
    truth: IntArray,
    weights: FloatArray | None,
    costs: FloatArray | None,
    prior: Beta,
    tolerance: float,
    *,
    with_table: bool = False,
) -> FusedScores:
    """Metrics of `LANE_OF` for K columns (n,) of probabilities, all float32 or all float64 and contiguous."""
    from pandora_regret.kernels import engine, lanes

    n, alike = len(truth), costs is not None and bool((costs == costs[0]).all())
    scale, costs = (float(costs[0]), None) if costs is not None and alike else (1.0, costs)  # half the work
    predicted, doubtful = np.empty(n, np.int32), np.empty(n, np.bool_)
    table = np.empty((N_LANES, n if with_table else 0))
    addresses = np.array([column.__array_interface__["data"][0] for column in columns])
    numbers = (addresses, np.empty(0, columns[0].dtype), truth, _or_empty(weights), _or_empty(costs))
    options = (float(prior.alpha), prior.mean, prior.loss_to_share, tolerance)

    def score(rows: slice) -> tuple[FloatArray, FloatArray]:
        of_rows, of_metrics = np.zeros(3), np.zeros((4, N_LANES))
        lanes.score(*numbers, *options, rows.start, rows.stop, of_rows, of_metrics, predicted, doubtful, table)
        return of_rows, of_metrics

    parts = engine.in_threads(score, n, n * len(columns))
    lane, n_wrong = [LANE_OF[key] for key in keys], len(columns) - 1
    factor_of = {"pandora_regret": 1 / (3 * n_wrong), "excess_burden": 1 / 3}  # of the loss
    factor_of |= {"expected_cost": scale, "realised_cost": scale}
    factors = np.array([factor_of.get(key, 1.0) for key in keys])
    of_rows, of_metrics = (np.array(sums).swapaxes(0, 1) for sums in zip(*parts, strict=True))
    count, weight, squared_weight = of_rows
    total, centre, drift, spread = of_metrics[:, :, lane]
    middle, w = centre[0], np.broadcast_to(squared_weight[:, None], drift.shape)  # all threads' sums at one centre
    shift = centre - middle
    moments = np.array([w, drift + shift * w, spread + shift * (2 * drift + shift * w)]).sum(axis=1)
    moments *= factors ** np.arange(3)[:, None]
    totals = total.sum(axis=0) * factors
    means = Means.of_sums(int(count.sum()), float(weight.sum()), totals, middle * factors, moments)
    return FusedScores(means, predicted, np.flatnonzero(doubtful), table[lane] * factors[:, None])


def _or_empty(values: FloatArray | None) -> FloatArray:
    return np.empty(0) if values is None else values


def confusion(truth: IntArray, predicted: NDArray[Any], weights: FloatArray | None, n_classes: int) -> FloatArray:
    """The weight of the rows of class i that are taken for class j, (K, K), by a compiled loop where that pays."""
    if not worth_compiling(len(truth)):
        cells = np.bincount(truth * n_classes + predicted, weights, n_classes**2)
        return cells.reshape(n_classes, n_classes).astype(np.float64)
    from pandora_regret.kernels import lanes

    counts = np.zeros((n_classes, n_classes))
    lanes.add_counts(truth, predicted, _or_empty(weights), counts)
    return counts
