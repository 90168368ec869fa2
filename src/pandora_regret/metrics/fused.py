"""Many metrics of many rows in one compiled pass over columns, as they lie in a file.

An optimisation of the registry's definitions, which say what it must compute. Rows that the loop is not sure of
are left to them.
"""

from collections.abc import Iterable, Sequence
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
    cells: FloatArray | None = (
        None  # (2, K, K) w and w^2 of rows of class i whose likeliest class is j; if at hand
    )


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
    scale = 1.0
    if costs is not None and bool((costs == costs[0]).all()):  # half the work
        scale = float(costs[0])
        costs = None
    lanes = [LANE_OF[key] for key in keys]
    factors = _factors_of_metrics(keys, n_classes, scale)
    predicted = np.empty(n_rows, np.int64)
    table = np.empty((compiled.N_METRICS, n_rows if with_table else 0))
    is_counted = n_classes <= MOST_COUNTED

    def score(rows: slice) -> tuple[Means, FloatArray]:
        """The means of some rows, and their counts by class."""
        weight_sums = np.zeros(3)
        sums = np.zeros((compiled.N_SUMS, compiled.N_METRICS))
        cells = np.zeros((2, n_classes, n_classes) if is_counted else (2, 0, 0))
        for part in row_slices(rows.stop - rows.start, n_classes, COPIED_AT_ONCE):
            piece = slice(rows.start + part.start, rows.start + part.stop)
            compiled.score_columns(
                np.array([column[piece] for column in columns]),
                truth[piece],
                None if weights is None else weights[piece],
                costs,
                float(prior.alpha),
                TIE_IN_SINGLE if columns[0].itemsize <= 4 else TIE,
                tolerance,
                (float(prior.mean), float(prior.loss_to_share)),
                predicted[piece],
                weight_sums,
                sums,
                cells if is_counted else None,
                table[:, piece] if with_table else None,
            )
        return _means_of_sums(weight_sums, sums[:, lanes], factors), cells

    parts = in_threads(score, n_rows, n_rows * n_classes)
    means = _merge((part for part, _ in parts), len(keys))
    doubtful = np.flatnonzero(predicted < 0)
    return FusedScores(
        means,
        predicted,
        table[lanes] * factors[:, None],
        doubtful,
        np.sum([cells for _, cells in parts], axis=0) if is_counted and len(doubtful) == 0 else None,
    )


def _merge(parts: Iterable[Means], n_metrics: int) -> Means:
    """The means of all rows, from those of some each."""
    whole = Means((n_metrics,))
    for part in parts:
        whole.merge(part)
    return whole


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
