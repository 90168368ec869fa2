"""One pass finds the temperature of every fold: the one that the rows of the other folds have by themselves."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from simulated_models import calibrated, sharpened

from pandora_regret.calibrate.objectives import LogLoss
from pandora_regret.calibrate.rows import LabelledScores, deal
from pandora_regret.calibrate.temperature import best_inverse_temperature, out_of_fold_inverse_temperatures


def rows_of(truth, table, weights=None):
    weights = np.ones(len(truth)) if weights is None else weights
    return LabelledScores(
        np.ascontiguousarray(np.log(table).T), truth, weights, np.ones((table.shape[1], 1)), False
    )


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("n_rows", [12, 300, 3000])
@pytest.mark.parametrize("power", [0.2, 1.0, 4.0])
def test_each_fold_gets_the_temperature_of_the_other_folds(n_rows, power, many):
    rng = np.random.default_rng(n_rows)
    truth = rng.integers(0, 3, n_rows)
    rows = rows_of(truth, sharpened(calibrated(truth, 1.5, 1), power), rng.uniform(0.5, 2, n_rows))
    fold = deal(truth, 10, 0)
    inverse = out_of_fold_inverse_temperatures(replace(rows, many=many), fold)
    for number in range(10):
        alone = best_inverse_temperature(rows.some(np.flatnonzero(fold != number)), LogLoss())
        assert_allclose(inverse[fold == number], alone, rtol=2e-5)


@given(st.integers(0, 1000), st.floats(0.01, 30.0))
def test_derivatives_by_fold_add_up_to_those_along_the_temperature(seed, inverse):
    rng = np.random.default_rng(seed)
    truth, fold = rng.integers(0, 4, 30), rng.permutation(30) % 3
    rows = rows_of(truth, rng.dirichlet(np.ones(4), 30) + 1e-9, rng.uniform(0.5, 2, 30))
    sums = LogLoss().derivatives_by_fold(rows, inverse, fold)
    assert_allclose(
        LogLoss().derivatives_by_fold(replace(rows, many=True), inverse, fold), sums, rtol=1e-9, atol=1e-9
    )
    along = partial(LogLoss().along, rows)
    assert_allclose(sums.sum(axis=0)[:2] / rows.weights.sum(), along(inverse)[1:], rtol=1e-9, atol=1e-12)
    step = 1e-4 * inverse
    third = (along(inverse + step).curvature - along(inverse - step).curvature) / (2 * step)
    assert sums[:, 2].sum() / rows.weights.sum() == pytest.approx(third, rel=1e-3, abs=1e-6)


def test_forecasts_that_say_nothing_keep_their_temperature():
    truth = np.arange(20) % 2
    rows = rows_of(truth, np.full((20, 2), 0.5))
    assert (out_of_fold_inverse_temperatures(rows, np.arange(20) % 4) == 1).all()
