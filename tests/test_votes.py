"""Votes instead of labels: every score is the vote-weighted mean of the scores of labels."""

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from every_prior import COSTS, every_prior
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

import pandora_regret as pr
from pandora_regret.core.decisions import single_shot_cost
from pandora_regret.core.imperfect import Tests, expected_expenditure
from pandora_regret.core.scores import search_tally
from pandora_regret.metrics import METRICS
from pandora_regret.workup import Workup, workup_cost, workup_regret


@st.composite
def cases(draw, n_classes=4):
    """Votes, forecasts and weights of a few rows: ties, zeros and unanimous rows are common."""
    n_rows = draw(st.integers(1, 5))
    counts = st.lists(st.integers(0, 3), min_size=n_classes, max_size=n_classes)
    votes = [draw(counts.filter(any)) for _ in range(n_rows)]
    drawn = st.lists(st.integers(0, n_classes - 1), min_size=8, max_size=8)
    table = [np.bincount(draw(drawn), minlength=n_classes) / 8 for _ in range(n_rows)]
    weights = draw(st.none() | st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=n_rows, max_size=n_rows))
    return np.array(votes), np.array(table), weights


def expanded(votes, table, weights=None):
    """The plain definition: one row and one label for every class that has votes, weighted by its share."""
    shares = votes / votes.sum(axis=1, keepdims=True)
    row, label = np.nonzero(shares)
    weights = np.ones(len(votes)) if weights is None else np.asarray(weights)
    return label, table[row], (weights[:, None] * shares)[row, label]


def agrees(score, votes, table, weights, **options):
    labels, rows, each = expanded(votes, table, weights)
    by_definition = score(labels, rows, sample_weight=each, **options)
    assert score(votes, table, sample_weight=weights, **options) == pytest.approx(
        by_definition, rel=1e-12, abs=1e-13
    )


TESTS = Tests(cost=COSTS, sensitivity=[0.9, 0.5, 0.8, 0.95], false_positive_rate=0.1, confirmatory_cost=2.0)
WORKUP = Workup(list("0123"), {name: {"cost": 3 + int(name), "confirms": name} for name in "0123"})
SCORES = {
    "regret": pr.pandora_regret,
    "alpha 0": partial(pr.pandora_regret, alpha=0.0),
    "beta score": partial(pr.beta_score, alpha=12.0, max_costs=COSTS),
    "ties by index": partial(pr.search_cost, costs=COSTS),
    "average ties": partial(pr.search_cost, costs=COSTS, ties="average"),
    "simulated": lambda *case, **rest: pr.simulate_search(*case, draws=20, seed=3, max_costs=COSTS, **rest).mean,
    "realised": lambda *case, **rest: search_tally(*case, max_costs=COSTS, **rest).realised.mean,
    "imperfect tests": partial(expected_expenditure, tests=TESTS, search="single_pass"),
    "work-up": partial(workup_cost, workup=WORKUP),
    "regret of a work-up": partial(workup_regret, workup=WORKUP),
}


@pytest.mark.slow
@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES.keys())
@given(case=cases())
def test_scores_are_means_over_votes(score, case):
    agrees(score, *case)


@every_prior
@given(case=cases())
def test_costs_are_means_over_votes(prior, case):
    agrees(pr.expected_search_cost, *case, prior=prior, costs=COSTS)
    agrees(pr.pair_costs, *case, prior=prior, costs=COSTS)


@pytest.mark.slow
@pytest.mark.parametrize("key", [key for key in METRICS if key != "auroc"])
@given(case=cases())
def test_metrics_are_those_of_the_expanded_rows(key, case):
    agrees(METRICS[key], *case)


def test_a_metric_of_pairs_of_rows_refuses_votes():
    with refused(argument="y_true", says="metric 'auroc'"):
        METRICS["auroc"]([[1, 1], [2, 1]], [[0.5, 0.5], [0.5, 0.5]])


@every_prior
def test_votes_for_one_class_are_labels_to_the_last_bit(prior):
    rng = np.random.default_rng(1)
    table, labels = rng.dirichlet(np.ones(4), size=50), rng.integers(4, size=50)
    votes = 3 * np.eye(4)[labels]
    for score in (pr.expected_search_cost, pr.pair_costs):
        options = {"prior": prior, "costs": COSTS, "per_instance": True}
        np.testing.assert_array_equal(score(votes, table, **options), score(labels, table, **options))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_of_votes_is_matched_by_name(frame):
    table = pd.DataFrame({"cat": [0.7, 0.2], "dog": [0.3, 0.8]})
    votes = frame({"dog": [1, 3], "cat": [3, 1]})
    expected = pr.pandora_regret([[3, 1], [1, 3]], table.to_numpy())
    assert pr.pandora_regret(votes, table) == expected
    assert pr.pandora_regret(votes, table.to_numpy(), labels=["cat", "dog"]) == expected


def test_standard_errors_count_instances_not_votes():
    rng = np.random.default_rng(5)
    table, votes = rng.dirichlet(np.ones(3), size=40), rng.integers(0, 5, size=(40, 3)) + 1
    few, many = search_tally(votes, table), search_tally(100 * votes, table)
    assert few.cost.count == 40
    assert many.standard_error == pytest.approx(few.standard_error, rel=1e-12)


def test_an_impossible_class_without_votes_costs_nothing():
    assert pr.pandora_regret([[1, 1, 0]], [[0.5, 0.5, 0.0]], alpha=0.0) < np.inf
    assert pr.pandora_regret([[1, 0, 1]], [[0.5, 0.5, 0.0]], alpha=0.0) == np.inf
    assert METRICS["log_loss"]([[1, 1, 0]], [[0.5, 0.5, 0.0]]) == pytest.approx(np.log(2))


P = np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]])


@pytest.mark.parametrize(
    ("votes", "row", "column", "value", "says"),
    [
        ([[1, 0, 0], [0, 0, 0]], 1, None, None, "no votes"),
        ([[1, 0, 0], [0, -1, 3]], 1, "b", -1.0, "is -1"),
        ([[1, 0, 0], [0, np.nan, 3]], 1, "b", np.nan, "is nan"),
        ([[1, 0], [0, 1]], None, None, (2, 2), "shape (2, 3)"),
        ([[1, 0, 1]] * 3, None, None, (3, 3), "shape (2, 3)"),
        (pd.DataFrame({"a": [1, 0], "b": [0, 1], "d": [1, 1]}), None, None, ["c"], "unexpected 'd'"),
    ],
)
def test_votes_that_are_none(votes, row, column, value, says):
    with refused(argument="y_true", row=row, column=column, value=value, says=says):
        pr.pandora_regret(votes, P, labels=["a", "b", "c"])


def test_what_needs_one_label_says_so():
    with refused(argument="y_true", value=(2, 3), says="1-D"):
        single_shot_cost([[1, 1, 0], [0, 1, 0]], P)
