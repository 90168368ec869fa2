"""Class frequencies that have changed, found without labels."""

import numpy as np
import pytest
from refusals import refused
from scipy.special import softmax

import pandora_regret as pr

pytest.importorskip("sklearn")

from pandora_regret.calibrate import PriorShift


def test_adapting_finds_the_new_class_frequencies():
    rng = np.random.default_rng(0)
    means, new = np.array([0.0, 2.0, 4.0]), np.array([0.7, 0.1, 0.2])

    def forecasts_of(features):  # by Bayes' rule, for classes that were equally common
        return softmax(-((features[:, None] - means) ** 2) / 2, axis=1)

    old_truth, new_truth = rng.integers(0, 3, 3000), rng.choice(3, 30000, p=new)
    target = forecasts_of(rng.normal(means[new_truth]))
    shift = PriorShift().fit(forecasts_of(rng.normal(means[old_truth])), old_truth)
    np.testing.assert_array_equal(shift.predict_proba(target[:5]), target[:5])
    adapted = shift.adapt(target).predict_proba(target)
    np.testing.assert_allclose(shift.target_prior_, new, atol=0.03)
    np.testing.assert_allclose(adapted.mean(axis=0), shift.target_prior_, atol=1e-6)
    assert pr.pandora_regret(new_truth, adapted) < pr.pandora_regret(new_truth, target)


def test_known_frequencies_are_bayes_rule():
    shift = PriorShift(target_prior={"b": 0.9, "a": 0.1}, labels=["a", "b"])
    shift.fit([[0.5, 0.5]] * 4, ["a", "a", "a", "b"])
    np.testing.assert_allclose(shift.predict_proba([[0.75, 0.25], [1.0, 0.0]]), [[0.1, 0.9], [1.0, 0.0]])


def test_a_class_without_an_old_frequency_keeps_its_proportion_and_an_impossible_row_is_left():
    shift = PriorShift(target_prior=[0.5, 0.0, 0.5]).fit([[0.4, 0.4, 0.2]] * 2, [0, 1])
    np.testing.assert_allclose(shift.predict_proba([[0.5, 0.25, 0.25]]), [[2 / 3, 0.0, 1 / 3]])
    np.testing.assert_array_equal(shift.predict_proba([[0.0, 1.0, 0.0]]), [[0.0, 1.0, 0.0]])
    with refused(argument="target_prior", row=0, value=1.5):
        PriorShift(target_prior=[1.0, 0.5]).fit([[0.5, 0.5]], [0])
