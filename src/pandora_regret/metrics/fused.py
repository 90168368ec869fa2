"""Many metrics of many rows in one compiled pass over columns, as they lie in a file.

An optimisation of the registry's definitions, which say what it must compute. Rows that the loop is not sure of
are left to them.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs import FloatArray, IntArray
from pandora_regret.core.kernels import native
from pandora_regret.core.kernels.engine import in_threads
from pandora_regret.core.priors.base import TIE, TIE_IN_SINGLE
from pandora_regret.core.tally import Means, moved

LANE_OF = {  # the order of `kernels.lanes`; the first is the loss, of which two metrics are parts
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
NONE = np.empty(0, np.intp)


class FusedScores(NamedTuple):
    """The metrics of rows, or of those that are beyond doubt."""

    means: Means  # of each metric, in the order of the keys
    predicted: IntArray  # (n,) the likeliest class; ties go to the lower column number
    table: FloatArray  # (metrics, n), or (metrics, 0) where sums are enough
    doubtful: IntArray = NONE  # the numbers of the rows that are not among them
    cells: FloatArray | None = (
        None  # (2, K, K) w and w^2 of rows of class i whose likeliest class is j; if at hand
    )


def score_columns(
    keys: Sequence[str],
    columns: Sequence[NDArray[Any]],
    truth: IntArray,
    weights: FloatArray | None,
    costs: FloatArray | None,
    prior: Any,
    tolerance: float,
    *,
    with_table: bool = False,
) -> FusedScores:
    """Metrics of `LANE_OF` of a Beta prior for K contiguous columns (n,) of probabilities, float32 or float64."""
    n, k, alike = len(truth), len(columns), costs is not None and bool((costs == costs[0]).all())
    scale, costs = (float(costs[0]), None) if costs is not None and alike else (1.0, costs)  # half the work
    place, predicted = native.columns_of(columns), np.empty(n, np.int64)
    table, counted = np.empty((native.N_METRICS, n if with_table else 0)), k <= MOST_COUNTED

    def score(rows: slice) -> tuple[FloatArray, FloatArray]:
        sums, cells = np.zeros(native.N_SUMS), np.zeros((2, k, k) if counted else 0)
        native.score(
            place,
            truth,
            rows,
            alpha=float(prior.alpha),
            weights=weights,
            costs=costs,
            mean=prior.mean,
            share=prior.loss_to_share,
            tolerance=tolerance,
            tie=TIE_IN_SINGLE if columns[0].itemsize <= 4 else TIE,
            sums=sums,
            counts=cells if counted else None,
            likeliest=predicted,
            table=table if with_table else None,
        )
        return sums, cells

    native.loop()  # in one thread
    parts, cells = map(np.array, zip(*in_threads(score, n, n * k), strict=True))
    doubtful = np.flatnonzero(predicted < 0)
    lane = [LANE_OF[key] for key in keys]
    factor_of = {"pandora_regret": 1 / (3 * (k - 1)), "excess_burden": 1 / 3}  # of the loss
    factor_of |= {"expected_cost": scale, "realised_cost": scale}
    factors = np.array([factor_of.get(key, 1.0) for key in keys])
    count, weight, squared_weight = parts[:, native.OF_ROWS :].T
    total, centre, drift, spread = parts[:, : native.OF_ROWS].reshape(len(parts), 4, -1).swapaxes(0, 1)[:, :, lane]
    middle, w = centre[0], np.broadcast_to(squared_weight[:, None], drift.shape)  # all threads' sums at one centre
    moments = moved(np.array([w, drift, spread]), centre - middle).sum(axis=1) * factors ** np.arange(3)[:, None]
    totals = total.sum(axis=0) * factors
    means = Means.of_sums(int(count.sum()), float(weight.sum()), totals, middle * factors, moments)
    sure_cells = cells.sum(axis=0) if counted and not len(doubtful) else None
    return FusedScores(means, predicted, table[lane] * factors[:, None], doubtful, sure_cells)
