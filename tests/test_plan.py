from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from pandora_regret import InputError, search_order
from pandora_regret.core.imperfect import Tests
from pandora_regret.workup import plan_search

FEES = st.lists(st.floats(0.5, 500.0), min_size=2, max_size=5)


@given(FEES, st.randoms(use_true_random=False))
def test_no_other_order_is_cheaper(fees, random):
    p = np.array([random.random() + 1e-3 for _ in fees])
    p /= p.sum()
    plan = plan_search(p, fees)
    assert [step.test for step in plan.steps] == search_order(p, fees).tolist()
    cheapest = min(
        sum(p[k] * sum(fees[j] for j in order[: at + 1]) for at, k in enumerate(order))
        for order in permutations(range(len(p)))
    )
    assert plan.expected_cost == pytest.approx(cheapest)


def test_a_test_that_may_miss_leaves_its_class_possible():
    plan = plan_search([0.5, 0.5], tests=Tests(cost=[1.0, 1.0], sensitivity=0.8), search="adaptive", steps=4)
    assert [step.test for step in plan.steps] == [0, 1, 0, 1]
    np.testing.assert_allclose([step.done for step in plan.steps], [0.4, 0.8, 0.88, 0.96])
    assert plan.steps[2].probability == pytest.approx(0.5)


def test_names_come_from_a_mapping_or_from_labels():
    by_mapping = plan_search({"a": 0.3, "b": 0.7}, {"b": 2.0, "a": 1.0})
    by_labels = plan_search([0.3, 0.7], [1.0, 2.0], labels=["a", "b"])
    assert by_mapping == by_labels
    assert [step.test for step in by_mapping.steps] == ["b", "a"]


def test_an_impossible_class_comes_last():
    steps = plan_search([0.0, 1.0, 0.0], [3.0, 100.0, 2.0]).steps
    assert [step.test for step in steps] == [1, 2, 0]
    assert [step.done for step in steps] == [1.0, 1.0, 1.0]
    assert steps[1].probability == 0.0


@pytest.mark.parametrize("given", [{}, {"costs": [1.0, 2.0], "tests": Tests(cost=[1.0, 2.0])}])
def test_costs_or_tests_but_not_both(given):
    with pytest.raises(InputError, match="pass either costs"):
        plan_search([0.5, 0.5], **given)


def test_a_table_is_no_forecast():
    with refused(argument="y_proba", value=(1, 3)):
        plan_search([[0.5, 0.3, 0.2]], [1.0, 2.0, 3.0])


def test_a_long_plan_is_exact_to_its_end():
    from fractions import Fraction

    n = 400
    p, costs = np.full(n, 1 / n), np.arange(1.0, n + 1)
    steps = plan_search(p, costs).steps
    for index in (0, 200, n - 2, n - 1):
        assert steps[index].probability == pytest.approx(float(Fraction(1, n - index)), rel=1e-12)
        assert steps[index].done == pytest.approx((index + 1) / n, rel=1e-12)
        assert steps[index].total_cost == sum(range(1, index + 2))
