"""The paper's statements about accuracy and macro-F1 as decisions, each against an independent computation."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from refusals import refused
from sklearn.metrics import accuracy_score, f1_score

from pandora_regret import InputError
from pandora_regret.core.decisions import (
    ClassCounts,
    macro_f1_decision,
    macro_f1_gains,
    ranking_cost,
    single_shot_cost,
)
from pandora_regret.metrics import METRICS

# Accuracy


def test_accuracy_as_single_shot_choice():
    rng = np.random.default_rng(2)
    rows, truth = rng.dirichlet(np.ones(5), 100), rng.integers(5, size=100)
    assert_allclose(single_shot_cost(truth, rows), 1 - accuracy_score(truth, rows.argmax(axis=1)))
    assert_array_equal(single_shot_cost(truth, rows, per_instance=True), rows.argmax(axis=1) != truth)


# Ranking metrics


def test_ranking_metrics_are_searches_paid_by_the_place_of_the_truth():
    rng = np.random.default_rng(4)
    rows, truth = rng.dirichlet(np.ones(5), 100), rng.integers(5, size=100)
    place = (rows >= rows[np.arange(100), truth][:, None]).sum(axis=1)
    assert_array_equal(ranking_cost(truth, rows, lambda place: place, per_instance=True), place)
    assert ranking_cost(truth, rows, lambda place: place > 2) == pytest.approx(1 - METRICS["top_2"](truth, rows))
    assert ranking_cost(truth, rows, lambda place: 1 - 1 / place) == pytest.approx(1 - METRICS["mrr"](truth, rows))


# Macro-F1


def f1(tp, fp, fn):
    """Exact, and 0 where nothing is there to be found or reported."""
    return Fraction(2 * tp, 2 * tp + fp + fn) if tp + fp + fn else Fraction(0)


def macro_f1(counts):
    return sum(f1(*row) for row in counts) / len(counts)


def predicted(counts, choice, truth):
    """The counts, (tp, fp, fn) a class, with one more instance."""
    after = [list(row) for row in counts]
    if choice == truth:
        after[choice][0] += 1
    else:
        after[choice][1] += 1
        after[truth][2] += 1
    return after


def expected_change(p, counts, choice):
    before = macro_f1(counts)
    return sum(p[truth] * float(macro_f1(predicted(counts, choice, truth)) - before) for truth in range(len(p)))


numbers = st.integers(0, 50)


@given(numbers, numbers, numbers)
def test_eq_f1_tp_reward_and_eq_f1_fp_cost_by_recounting(tp, fp, fn):
    counts = ClassCounts([tp], [fp], [fn])
    assert_allclose(counts.true_positive_reward, float(f1(tp + 1, fp, fn) - f1(tp, fp, fn)), atol=1e-14)
    assert_allclose(counts.false_positive_penalty, float(f1(tp, fp, fn) - f1(tp, fp + 1, fn)), atol=1e-14)
    assert_allclose(counts.false_positive_penalty, float(f1(tp, fp, fn) - f1(tp, fp, fn + 1)), atol=1e-14)


@settings(max_examples=60)
@given(st.lists(st.tuples(numbers, numbers, numbers), min_size=2, max_size=5), st.integers(0, 10**6))
def test_prop_f1_decision_is_the_brute_force_optimum(counts, seed):
    p = np.random.default_rng(seed).dirichlet(np.ones(len(counts)))
    brute = np.array([expected_change(p, counts, choice) for choice in range(len(p))])
    columns = ClassCounts(*np.array(counts).T)
    assert_allclose(macro_f1_gains([p], columns)[0], brute, atol=1e-13)
    assert brute[macro_f1_decision([p], columns)[0]] >= brute.max() - 1e-13


def test_prop_f1_decision_in_the_limit_of_large_counts():
    rng = np.random.default_rng(5)
    rows, base = rng.dirichlet(np.ones(4), 200), rng.integers(1, 20, (3, 4))
    disagreement, error = [], []
    for scale in (1, 10**2, 10**6):
        counts = ClassCounts(*(base * scale))
        reward, penalty, d = counts.true_positive_reward, counts.false_positive_penalty, counts.denominator
        exact = d / 2 * (rows * (reward + 2 * penalty) - penalty)
        error.append(np.abs(exact - (rows - counts.f1 / 2)).max())
        limit = macro_f1_decision(rows, counts, large_counts=True)
        disagreement.append((macro_f1_decision(rows, counts) != limit).mean())
    assert error[0] > 10 * error[1] > 1000 * error[2]
    assert disagreement[0] > 0
    assert disagreement[2] == 0


def test_class_counts_agree_with_scikit_learn():
    rng = np.random.default_rng(7)
    rows, truth = rng.dirichlet(np.ones(4), 60), rng.integers(3, size=60)  # the last class never occurs
    expected = f1_score(truth, rows.argmax(axis=1), labels=range(4), average=None, zero_division=0)
    assert_allclose(ClassCounts.of(truth, rows).f1, expected)
    assert ClassCounts.of(truth, rows).all_class_f1 == pytest.approx(expected.mean())


def test_counts_are_checked():
    with refused(argument="false_positives", column=1, value=-2.0):
        ClassCounts([1, 2], [0, -2], [0, 0])
    with refused(argument="false_negatives", value=(1,), says="shape (2,)"):
        ClassCounts([1, 2], [0, 2], [0])
    with refused(argument="true_positives", value=()):
        ClassCounts(1, 2, 3)
    with pytest.raises(InputError, match=r"^counts .*has 2 columns"):
        macro_f1_gains([[0.5, 0.5]], ClassCounts([1, 1, 1], [0, 0, 0], [0, 0, 0]))
    with pytest.raises(InputError, match="class 1 neither"):
        macro_f1_decision([[0.5, 0.5]], ClassCounts([1, 0], [0, 0], [0, 0]), large_counts=True)
