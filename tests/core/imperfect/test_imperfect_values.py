"""Imperfect tests beside the bill: effective costs and their propriety, matching by name, refusals."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from scipy import stats

from pandora_regret import (
    Empirical,
    Exponential,
    Fixed,
    InputError,
    LogNormal,
    Uniform,
    beta_score,
    expected_search_cost,
)
from pandora_regret.core.imperfect import (
    Tests,
    effective_costs,
    expected_expenditure,
    imperfect_order,
    keeps_strict_propriety,
    predicted_expenditure,
    treatment_payoff,
)
from pandora_regret.core.priors import FromScipy

SEARCHES = ["single_pass", "restarts", "adaptive"]

# Effective costs: a proper score, not a bill


TESTS = Tests(cost=[3.0, 1.0, 2.0], sensitivity=[0.9, 0.4, 0.7], false_positive_rate=0.2, confirmatory_cost=2.0)
LATTICE = np.array([parts for parts in product(range(1, 10), repeat=3) if sum(parts) == 12]) / 12


@pytest.mark.parametrize("truth", [[0.5, 0.25, 0.25], [0.75, 0.125, 0.125], [1 / 12, 3 / 12, 8 / 12]])
def test_effective_costs_keep_propriety(truth):
    forecasts = np.concatenate([LATTICE, [truth]])
    risk = sum(
        truth[i]
        * beta_score(np.full(len(forecasts), i), forecasts, max_costs=effective_costs(TESTS), per_instance=True)
        for i in range(3)
    )
    others = np.abs(forecasts - truth).max(axis=1) > 1e-9
    assert risk[others].min() > risk[-1]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("truth", [[0.5, 0.25, 0.25], [1 / 12, 3 / 12, 8 / 12]])
def test_the_bill_is_proper_but_that_of_a_pass_not_strictly(search, truth):
    classes, same = np.arange(3), np.ones((3, 1))
    risk = [
        truth @ expected_expenditure(classes, same * p, TESTS, search=search, per_instance=True) for p in LATTICE
    ]
    at_truth = truth @ expected_expenditure(classes, same * truth, TESTS, search=search, per_instance=True)
    assert min(risk) >= at_truth * (1 - 1e-12)
    if search != "adaptive":  # a pass has one order for many forecasts; repeats come to tell them all apart
        assert np.sum(np.array(risk) < at_truth * (1 + 1e-12)) > 1


WITHOUT_ALARMS = Tests(cost=[2.0, 1.0, 1.0], sensitivity=0.7)
WITH_ALARMS = Tests(
    cost=[2.0, 1.0, 1.0], sensitivity=0.7, false_positive_rate=[0.5, 0.0, 0.0], confirmatory_cost=2.0
)


@pytest.mark.parametrize(
    ("prior", "without", "with_alarms"),
    [
        (Uniform(), True, False),
        (FromScipy(stats.beta(2, 2)), True, False),
        (Fixed(), False, False),
        (Empirical([[1.0, 2.0, 3.0]]), False, False),
        (Exponential(), True, True),
        (LogNormal(0.5), True, True),
    ],
    ids=repr,
)
def test_strict_propriety_requires_full_support_of_effective_cost_ratios(prior, without, with_alarms):
    assert keeps_strict_propriety(WITHOUT_ALARMS, prior) is without
    assert keeps_strict_propriety(WITH_ALARMS, prior) is with_alarms


@pytest.mark.parametrize(
    ("prior", "tests"), list(product([Uniform(), Exponential()], [WITHOUT_ALARMS, WITH_ALARMS]))
)
def test_strict_propriety_is_lost_where_an_unlikely_class_is_always_last(prior, tests):
    """Whether the score tells 0.1 from 0.2 for class 0, which no uniform cost can bring to the front."""
    drawn = prior.sample(20_000, 3, np.random.default_rng(0))
    workup = tests.false_positive_rate * tests.confirmatory_cost
    costs = Empirical((tests.cost * drawn + workup) / tests.sensitivity)
    rare, rarer = [[0.2, 0.4, 0.4]], [[0.1, 0.45, 0.45]]
    scores = [[expected_search_cost([i], p, prior=costs) for i in range(3)] for p in (rare, rarer)]
    assert (scores[0] != pytest.approx(scores[1], rel=1e-12)) == keeps_strict_propriety(tests, prior)


# Tests as a value


@pytest.mark.parametrize("kind", [dict, pd.Series])
def test_tests_are_matched_to_forecasts_by_name(kind):
    tests = Tests(cost=kind({"b": 2.0, "a": 1.0, "c": 5.0}), sensitivity={"c": 0.5, "b": 0.8, "a": 0.9})
    p = pd.DataFrame({"c": [0.1], "a": [0.3], "b": [0.6]})
    plain = Tests(cost=[1.0, 2.0, 5.0], sensitivity=[0.9, 0.8, 0.5])
    for search in SEARCHES:
        assert expected_expenditure(["b"], p, tests, search=search) == expected_expenditure(
            [1], p[["a", "b", "c"]].to_numpy(), plain, search=search
        )
    assert imperfect_order(p, tests, search="single_pass").tolist() == [[1, 2, 0]]


@pytest.mark.parametrize(
    ("wrong", "argument", "column", "value"),
    [
        ({"cost": [1.0, 0.0]}, "cost", 1, 0.0),
        ({"cost": 1.0}, "tests", None, None),
        ({"cost": [1.0, 2.0], "sensitivity": [0.1, 0.2, 0.3]}, "cost", None, (2,)),
        ({"cost": [1.0, 2.0], "labels": ["a", "b", "c"]}, "cost", None, (2,)),
        ({"cost": [1.0, 2.0], "sensitivity": [0.5, 0.0]}, "sensitivity", 1, 0.0),
        ({"cost": [1.0, 2.0], "sensitivity": np.nan}, "sensitivity", 0, np.nan),
        ({"cost": [1.0, 2.0], "false_positive_rate": 1.0}, "false_positive_rate", 0, 1.0),
        ({"cost": [1.0, 2.0], "confirmatory_cost": [1.0, -2.0]}, "confirmatory_cost", 1, -2.0),
        ({"cost": {"a": 1.0, "b": 2.0}, "sensitivity": {"a": 0.5}}, "sensitivity", None, ["b"]),
        ({"cost": [1.0, 2.0], "labels": ["a", "a"]}, "labels", None, "a"),
    ],
)
def test_tests_that_cannot_be_are_refused(wrong, argument, column, value):
    with refused(argument=argument, row=None, column=column, value=value):
        Tests(**wrong)


FAINT = Tests(cost=[1.0, 1.0], sensitivity=[0.5, 1e-6])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda t: imperfect_order([0.5, 0.5], t, search="twice"), "search is 'twice'"),
        (
            lambda t: imperfect_order([0.5, 0.5], t, search="single_pass", steps=3),
            "steps is 3: .*after 2 tests",
        ),
        (lambda t: imperfect_order([0.5, 0.5], t, search="adaptive", steps=3), "steps is 3: "),
        (
            lambda t: imperfect_order([0.5, 0.2, 0.3], t, search="restarts"),
            "^tests .*has 3",
        ),
        (
            lambda t: predicted_expenditure([[0.5, 0.5]], FAINT, search="adaptive"),
            "class 1 is 1e-06",
        ),
        (lambda t: treatment_payoff(t, benefit=[1.0, 2.0, 3.0]), r"benefit has shape \(3,\)"),
        (lambda t: treatment_payoff(t, harm=np.inf), "harm is inf: "),
        (
            lambda t: keeps_strict_propriety(t, LogNormal([0.1, 0.2, 0.3])),
            "^prior .*3 classes",
        ),
    ],
)
def test_calls_that_cannot_be_answered_are_refused_in_a_sentence(call, said):
    with pytest.raises(InputError, match=said):
        call(Tests(cost=[1.0, 2.0]))
