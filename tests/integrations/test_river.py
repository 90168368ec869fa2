"""river's metric and drift detector."""

import numpy as np
import pytest

pytest.importorskip("river")

from river import datasets, evaluate, naive_bayes

from pandora_regret import Gamma, InputError, expected_search_cost
from pandora_regret.integrations.river import MeanSearchCost, OverpayDetector

CLASSES = ["flu", "covid", "cold"]
COSTS = {"cold": 40.0, "flu": 100.0, "covid": 300.0}


def stream(n, power=1.0, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(3), n)
    truth = (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(max=2)
    sharp = p**power
    sharp /= sharp.sum(axis=1, keepdims=True)
    for k, row in zip(truth, sharp, strict=True):
        yield CLASSES[k], dict(zip(CLASSES, row.tolist(), strict=True))


@pytest.mark.parametrize("prior", [None, Gamma(2.0)])
def test_the_metric_is_the_mean_of_the_score(prior):
    cases = list(stream(50))
    metric = MeanSearchCost(CLASSES, COSTS, prior)
    for truth, forecast in cases:
        metric.update(truth, forecast)
    table = [[forecast[name] for name in CLASSES] for _, forecast in cases]
    expected = expected_search_cost([t for t, _ in cases], table, labels=CLASSES, costs=COSTS, prior=prior)
    assert metric.get() == pytest.approx(expected)
    metric.revert(*cases[-1])
    metric.update(*cases[-1])
    assert metric.get() == pytest.approx(expected)
    assert not metric.bigger_is_better
    assert metric.clone().get() == 0


def test_the_metric_in_progressive_validation():
    data = list(datasets.Phishing().take(200))
    metric = evaluate.progressive_val_score(data, naive_bayes.GaussianNB(), MeanSearchCost([False, True]))
    assert 0.5 < metric.get() < 1.0  # from one half of a test to one


def test_classes_left_out_are_impossible_and_nothing_means_all_alike():
    metric = MeanSearchCost(CLASSES)
    metric.update("flu", {"flu": 1.0})
    assert metric.get() == pytest.approx(expected_search_cost([0], [[1.0, 0.0, 0.0]]))
    empty = MeanSearchCost(CLASSES)
    empty.update("flu", {})
    assert empty.get() == pytest.approx(expected_search_cost([0], [[1 / 3, 1 / 3, 1 / 3]]))
    with pytest.raises(InputError, match="list every class"):
        metric.update("flu", {"flu": 0.5, "angina": 0.5})


def test_the_detector_sounds_after_a_change_and_begins_anew():
    detector = OverpayDetector(CLASSES, COSTS)
    for truth, forecast in stream(400):
        detector.update(truth, forecast)
        assert not detector.drift_detected
    sounded = []
    for number, (truth, forecast) in enumerate(stream(1500, power=6.0, seed=1)):
        detector.update(truth, forecast)
        if detector.drift_detected:
            sounded.append(number)
    assert sounded
    assert sounded[0] < 700
    assert detector.n_updates < 1500
    assert not detector.clone().drift_detected
