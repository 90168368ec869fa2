"""The compiled pass over columns against the registry's definitions, for every metric that it computes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pandora_regret.core.inputs import Forecast
from pandora_regret.core.inputs.tables import row_sum_tolerance
from pandora_regret.core.priors import Beta
from pandora_regret.core.tally import Means
from pandora_regret.metrics import METRICS
from pandora_regret.metrics.fused import LANE_OF, fused_scores

pytest.importorskip("numba", reason="numba is not installed: the definitions do all the work")


@st.composite
def forecasts(draw):
    """Forecasts with zeros and ties, weights some of which are 0, and costs, in single or double precision."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, k = draw(st.integers(1, 600)), draw(st.integers(2, 6))
    odds = {
        "smooth": lambda: rng.exponential(size=(n, k)),
        "ties": lambda: rng.integers(1, 4, (n, k)).astype(float),
        "zeros": lambda: rng.integers(0, 3, (n, k)) + np.eye(k)[rng.integers(0, k, n)],
    }[draw(st.sampled_from(["smooth", "ties", "zeros"]))]()
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    values = (odds / odds.sum(axis=1, keepdims=True)).astype(dtype)
    weights = rng.integers(0, 3, n).astype(float) if draw(st.booleans()) else None
    costs = draw(st.sampled_from([None, np.full(k, 2.5), rng.integers(1, 5, k).astype(float)]))
    numbers, tolerance = np.arange(n), row_sum_tolerance(np.dtype(dtype).itemsize)
    return Forecast(
        values, False, range(k), rng.integers(0, k, n), numbers, tolerance, weights=weights, costs=costs
    )


def fused(forecast, prior, **options):
    columns = [np.ascontiguousarray(column) for column in forecast.values.T]
    arrays = (columns, forecast.truth, forecast.weights, forecast.costs)
    return fused_scores(list(LANE_OF), *arrays, prior, forecast.tolerance, **options)


@pytest.mark.slow
@given(forecast=forecasts(), alpha=st.sampled_from([1.0, 0.4, 3.0, np.inf]))
def test_the_fused_loop_computes_what_the_registry_defines(forecast, alpha):
    prior = Beta(alpha)
    scores = fused(forecast, prior, with_table=True)
    sure = np.setdiff1d(np.arange(len(forecast)), scores.doubtful)
    table = np.stack([METRICS[key].of_rows(forecast, prior) for key in LANE_OF])
    counted = sure if forecast.weights is None else sure[forecast.weights[sure] > 0]  # others get zeros
    assert_allclose(scores.table[:, counted], table[:, counted], rtol=1e-12, atol=1e-14)
    means = Means.of(table[:, sure], None if forecast.weights is None else forecast.weights[sure])
    assert scores.means.count == means.count
    if means.count:
        assert_allclose(scores.means.values, means.values, rtol=1e-12, atol=1e-14)
        assert_allclose(scores.means.standard_errors, means.standard_errors, rtol=1e-9, atol=1e-12)
    assert_array_equal(scores.predicted[sure], forecast.values.argmax(axis=1)[sure])
    if scores.cells is not None:
        weights = np.ones(len(forecast)) if forecast.weights is None else forecast.weights
        cells = np.zeros_like(scores.cells)
        np.add.at(cells[0], (forecast.truth, scores.predicted), weights)
        np.add.at(cells[1], (forecast.truth, scores.predicted), weights**2)
        assert_allclose(scores.cells, cells)
