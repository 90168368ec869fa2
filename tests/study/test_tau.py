"""Kendall's tau-b of many replicates at once, against scipy's of one pair of rankings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import kendalltau

from pandora_regret.kernels import engine
from pandora_regret.study.ranking_agreement import replicate_taus


def tau_of(x, y):
    """What scipy says, 0 where it cannot say anything."""
    tau = kendalltau(x, y).statistic
    return 0.0 if np.isnan(tau) else tau


rankings = st.lists(st.sampled_from([0.0, 1.0, 1.5, 2.0, 7.0, np.inf, -np.inf]), min_size=6, max_size=6)


@given(st.lists(rankings, min_size=1, max_size=3), st.lists(rankings, min_size=1, max_size=3), st.booleans())
def test_tau_is_scipys_averaged_over_draws(x, y, compiled):
    metrics, costs = np.array(x)[:, :, None], np.array(y).T[:, None, :]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "WORTH_COMPILING", 0 if compiled else np.inf)
        taus = replicate_taus(metrics, costs, np.ones((1, 6)))
    expected = [np.mean([tau_of(metric, cost) for cost in y]) for metric in x]
    assert_allclose(taus, [expected], atol=1e-12)


@given(rankings, rankings, st.lists(st.integers(0, 3), min_size=6, max_size=6).filter(any), st.booleans())
def test_a_model_drawn_twice_is_two_models(x, y, counts, compiled):
    again = np.repeat(np.arange(6), counts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "WORTH_COMPILING", 0 if compiled else np.inf)
        drawn = np.array([counts], dtype=float)
        taus = replicate_taus(np.array(x)[None, :, None], np.array(y)[:, None, None], drawn)
    duplicated = 0.0 if len(again) < 2 else tau_of(np.array(x)[again], np.array(y)[again])
    assert_allclose(taus, [[duplicated]], atol=1e-12)


@pytest.mark.parametrize("worth_compiling", [0, np.inf])
def test_replicates_may_share_their_instances(monkeypatch, worth_compiling):
    rng = np.random.default_rng(1)
    metrics, costs, counts = rng.random((3, 7, 1)), rng.random((7, 1, 2)), rng.integers(0, 3, (5, 7)).astype(float)
    monkeypatch.setattr(engine, "WORTH_COMPILING", worth_compiling)
    repeated = replicate_taus(np.repeat(metrics, 5, axis=2), np.repeat(costs, 5, axis=1), counts)
    assert_allclose(replicate_taus(metrics, costs, counts), repeated, rtol=1e-12)
