"""Holm's adjustment, and the probability of being the best."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pandora_regret.inference.multiplicity import holm


def test_holm_steps_down_and_never_falls():
    """The example of Holm's method in many textbooks: m = 4."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []
    assert holm([0.04, None, 0.1]) == pytest.approx([0.12, None, 0.2])
    assert holm([None, None]) == [None, None]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_by_its_definition(p_values):
    adjusted, m = holm(p_values), len(p_values)
    for p, ours in zip(p_values, adjusted, strict=True):
        smaller = sorted(p_values)[: sorted(p_values).index(p) + 1]
        expected = min(1.0, max((m - at) * q for at, q in enumerate(smaller)))
        assert ours == pytest.approx(expected)
