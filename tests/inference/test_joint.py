"""How many cases carry an estimate, and Holm's adjustment."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pandora_regret.inference.joint import carriers_of, holm


def even(n):
    return np.full(n, 1 / n)


@given(st.integers(1, 20), st.floats(0.1, 1e6))
def test_cases_that_differ_equally_from_the_rest_are_counted(m, amount):
    values = np.zeros(60)
    values[:m] = amount
    carriers = carriers_of(values, even(60))
    assert carriers.number == pytest.approx(m)
    assert (carriers.largest, carriers.units) == (m, 60)
    assert carriers.share == pytest.approx(1)
    assert carriers.few == (m < 7)


def test_normal_and_skewed_values_have_many_carriers():
    rng = np.random.default_rng(0)
    for draw in (rng.normal, rng.exponential, rng.uniform):
        few = [carriers_of(draw(size=60), even(60)).few for _ in range(300)]
        assert np.mean(few) < 0.01


def test_weights_of_usual_cases_make_no_carriers():
    rng = np.random.default_rng(2)
    weights = rng.lognormal(0, 1.5, 60)
    assert not carriers_of(rng.normal(size=60), weights / weights.sum()).few


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_by_its_definition(p_values):
    adjusted, m = holm(p_values), len(p_values)
    for p, ours in zip(p_values, adjusted, strict=True):
        smaller = sorted(p_values)[: sorted(p_values).index(p) + 1]
        expected = min(1.0, max((m - at) * q for at, q in enumerate(smaller)))
        assert ours == pytest.approx(expected)
