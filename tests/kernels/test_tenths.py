"""Losses at many alphas in one pass are those of each alpha alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from pandora_regret.inputs import read_forecast
from pandora_regret.kernels import reference

pytest.importorskip("numba")
from pandora_regret.kernels.compiled import losses_at_alphas

ALPHAS = (0.0, 0.1, 0.25, 0.3, 1.0, 2.5, 10.0, 12.7, 40.0, np.inf)


@given(st.integers(0, 1000), st.sampled_from(["plain", "zeros", "ties", "tiny", "impossible"]), st.booleans())
def test_one_pass_agrees_with_the_reference(seed, special, single):
    rng = np.random.default_rng(seed)
    table, truth = rng.dirichlet(np.full(6, 0.4), 8), rng.integers(0, 6, 8)
    if special == "zeros":
        table[::2, 3] = 0.0
    if special == "ties":
        table[1::2] = 1.0
    if special == "tiny":
        table[::3, 2] = 1e-200
    if special == "impossible":
        table[0, truth[0]] = 0.0
    table /= table.sum(axis=1, keepdims=True)
    forecast = read_forecast(truth, table.astype(np.float32) if single else table)
    ((_, losses),) = losses_at_alphas(forecast, ALPHAS)
    (block,) = forecast.blocks()
    for alpha, of_alpha in zip(ALPHAS, losses, strict=True):
        assert_allclose(of_alpha, reference.total_losses(block, alpha), rtol=1e-11, atol=1e-13)
