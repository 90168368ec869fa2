"""Instance-F1 as a decision about a set, against an independent computation and all sets."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from sklearn.metrics import f1_score

from pandora_regret.core.decisions import desiderata, instance_f1, instance_f1_decision

rng = np.random.default_rng(8)
ROWS, TRUTH = rng.dirichlet(np.ones(4), 60), rng.integers(4, size=60)
SETS = [np.array(members) for members in product([False, True], repeat=4) if any(members)]
forecasts = st.lists(st.floats(0.01, 1), min_size=4, max_size=4).map(lambda parts: np.array(parts) / sum(parts))


def f1_of_set(members, truth):
    return 2 / (1 + members.sum()) if members[truth] else 0.0


@given(forecasts)
def test_no_set_has_a_higher_expected_f1(p):
    [chosen] = instance_f1_decision([p])
    expected = [sum(p[i] * f1_of_set(members, i) for i in range(4)) for members in (chosen, *SETS)]
    assert expected[0] == pytest.approx(max(expected), rel=1e-12)
    half = expected[0] / 2
    assert p[chosen].min() >= half - 1e-12 or chosen.sum() == 1
    assert not (p[~chosen] > half + 1e-12).any()


@pytest.mark.parametrize("threshold", [None, 0.3])
def test_it_is_scikit_learn_s_f1_averaged_over_samples(threshold):
    sets = instance_f1_decision(ROWS) if threshold is None else threshold <= ROWS
    expected = f1_score(np.eye(4, dtype=int)[TRUTH], sets.astype(int), average="samples", zero_division=0)
    assert instance_f1(TRUTH, ROWS, threshold=threshold) == pytest.approx(expected)
    shifted = np.log(ROWS) - 2
    assert instance_f1(TRUTH, shifted, threshold=threshold, logits=True) == pytest.approx(expected)


def test_best_sets_are_proper_but_not_strictly_and_thresholds_are_not_proper():
    def above_half(y_true, y_proba):
        return instance_f1(y_true, y_proba, threshold=0.5)

    best, thresholded = (desiderata(f, greater_is_better=True, trials=100) for f in (instance_f1, above_half))
    assert [bool(verdict) for verdict in best] == [False, True, False, False]
    assert [bool(verdict) for verdict in thresholded] == [False, False, False, False]
    honest, bold = np.array([0.45, 0.35, 0.2]), [0.6, 0.3, 0.1]
    means = [sum(honest[i] * above_half([i], [p]) for i in range(3)) for p in (honest, bold)]
    assert means == pytest.approx([0.0, 0.45])  # an honest forecast reports nothing


@pytest.mark.parametrize("threshold", [0, 1.2, -0.1])
def test_a_threshold_is_a_probability(threshold):
    with refused(argument="threshold", value=threshold):
        instance_f1([0], [[0.5, 0.5]], threshold=threshold)
