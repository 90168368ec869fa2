"""Intervals that cannot be trusted say so: in the result, in its JSON, and in words."""

import numpy as np
import pytest

from pandora_regret import ComparisonOptions, compare

CASES = 60


def certain(named, sureness=0.8):
    """Forecasts over three classes that favour one."""
    return np.full((len(named), 3), (1 - sureness) / 2) + (1.5 * sureness - 0.5) * np.eye(3)[named]


@pytest.fixture(scope="module")
def sparse():
    """Two models that differ in 3 of 60 cases, where the first is right and the second wrong."""
    truth = np.arange(CASES) % 3
    wrong = np.where(np.arange(CASES) < 3, (truth + 1) % 3, truth)
    return compare(truth, {"right": certain(truth), "wrong": certain(wrong)}, costs=[90.0, 60.0, 30.0])


def test_a_difference_that_a_few_cases_carry_is_not_settled(sparse):
    gap = sparse.differences[0]
    assert gap.warning.startswith("3 of 60 cases")
    assert "100 %" in gap.warning
    assert sparse.verdict.kind == "undecided"
    assert sparse.headline[1].removesuffix(".") in gap.warning
    assert any(gap.warning in note for note in sparse.notes)


def test_models_that_cost_the_same_in_every_case_are_not_shown_to_be_equal():
    truth = np.arange(CASES) % 3
    gap = compare(truth, {"a": certain(truth), "b": certain(truth)}).differences[0]
    assert "zero in all 60" in gap.warning


def same(cases, bootstrap=0):
    """Two models that say the same of every case, all of which are of one class."""
    models = {"near": np.tile([0.8, 0.1, 0.1], (cases, 1)), "far": np.tile([0.2, 0.4, 0.4], (cases, 1))}
    return compare(
        np.zeros(cases, int), models, costs=[90.0, 60.0, 30.0], options=ComparisonOptions(bootstrap=bootstrap)
    )


@pytest.mark.parametrize("bootstrap", [0, 100])
def test_a_difference_without_spread_is_settled_only_if_other_cases_could_not_make_up_for_it(bootstrap):
    few, many = same(8, bootstrap), same(200, bootstrap)
    assert few.differences[0].warning.startswith("all 8 cases")
    assert few.verdict.kind == "undecided"
    assert many.differences[0].warning is None
    assert many.verdict.kind == "deploy"
    assert few.differences[0].p_value is many.differences[0].p_value is None


def test_ordinary_differences_have_no_warning():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, CASES)
    models = {name: certain(truth, rng.uniform(0.2, 0.9, (CASES, 1))) for name in ("a", "b")}
    found = compare(truth, models)
    assert found.differences[0].warning is None
    assert found.notes == ()
    assert "warning" not in found.to_dict()["differences"][0]


@pytest.mark.parametrize("times", [0, 1, 3])
def test_a_class_that_is_rare_and_very_dear_is_warned_of_whether_it_occurs_or_not(times):
    truth = np.where(np.arange(CASES) < times, 2, np.arange(CASES) % 2)
    found = compare(truth, {"a": certain(np.arange(CASES) % 2)}, costs=[1.0, 1.0, 500.0], currency="USD")
    warning = found.best.scores["expected_cost"].warning
    assert ("never occurs" in warning) == (times == 0)
    assert any(warning in note for note in found.notes)


def test_a_class_that_never_occurs_is_no_worry_if_its_test_costs_as_much_as_others():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, CASES)
    found = compare(truth, {"a": certain(truth, rng.uniform(0.2, 0.9, (CASES, 1)))})
    assert found.best.scores["expected_cost"].warning is None


def test_macro_f1_of_few_clusters_is_not_said_to_have_few_cases():
    truth = np.repeat(np.arange(3), 20)
    cautious = certain(truth, np.linspace(0.2, 0.9, CASES)[:, None])
    found = compare(truth, {"a": cautious}, groups=np.arange(CASES) % 8)
    warning = found.best.scores["macro_f1"].warning
    assert "whole clusters" in warning
    assert "cases" not in warning
