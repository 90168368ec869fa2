"""The sample that a page recomputes costs from: small, rounded, and as telling as all cases."""

import json
from dataclasses import replace

import numpy as np
import pytest
from refusals import refused

from pandora_regret import Comparison, ComparisonOptions, compare, expected_search_cost
from pandora_regret.core import priors

PRICES = [10.0, 40.0, 20.0, 5.0]


def cases(rows, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=rows)
    odds = np.exp(rng.normal(size=(2, rows, n_classes)) + 1.5 * np.eye(n_classes)[truth])
    return truth, {f"model {m}": each for m, each in enumerate(odds / odds.sum(axis=2, keepdims=True))}


def cost_from(sample, model, prices, prior=None):
    """The mean cost at other prices."""
    return np.average(sample.costs(model, np.array(prices), prior), weights=sample.weights)


@pytest.mark.parametrize(
    "prior",
    [None, priors.Fixed(), priors.Exponential(), priors.Gamma(2.0), priors.LogNormal(0.5), priors.Beta(0.3)],
)
def test_costs_at_other_prices_are_the_library_s_up_to_rounding(prior):
    truth, models = cases(400, 4)
    sample = compare(truth, models, prior=prior, costs=PRICES).sample
    assert sample.rows == 400
    for moved in (PRICES, [1.0, 40.0, 200.0, 5.0], [1.0, 1.0, 1.0, 1.0]):
        exact = expected_search_cost(truth, models["model 1"], prior=prior, costs=moved)
        precision = 5e-3 if prior == priors.Fixed() else 1e-3
        assert cost_from(sample, "model 1", moved) == pytest.approx(exact, rel=precision)


def test_other_priors_come_along_and_the_comparison_s_own_is_first():
    truth, models = cases(300, 3)
    sample = compare(truth, models, prior=priors.Gamma(3.0), costs=PRICES[:3]).sample
    first, *others = sample.shares
    assert others == ["fixed", "uniform", "exponential"]
    exact = expected_search_cost(truth, models["model 0"], prior=priors.Exponential(), costs=[1.0, 4.0, 2.0])
    assert cost_from(sample, "model 0", [1.0, 4.0, 2.0], "exponential") == pytest.approx(exact, rel=1e-3)
    assert len(sample.shares[first][0]) == 1025
    assert compare(truth, models, prior=priors.LogNormal([0.5, 1.0, 0.7]), costs=PRICES[:3]).sample is None


def test_many_cases_are_sampled_by_class_and_weigh_as_much_as_all():
    truth, models = cases(9000, 3)
    truth[:40] = 3
    models = {name: np.pad(p * 0.97, ((0, 0), (0, 1)), constant_values=0.03) for name, p in models.items()}
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(truth))
    compared = compare(truth, models, sample_weight=weights, costs=PRICES)
    sample = compared.sample
    assert 1990 <= sample.rows <= 2000
    by_class = np.bincount(sample.truths(), sample.weights)
    assert by_class == pytest.approx(np.bincount(truth, weights / weights.mean()), rel=1e-5)
    assert np.bincount(sample.truths())[3] >= 5
    assert cost_from(sample, compared.best.name, PRICES) == pytest.approx(compared.best.cost, rel=0.03)


def class_frequencies(n_classes, uneven):
    frequencies = 1 / np.arange(1, n_classes + 1) if uneven else np.ones(n_classes)
    return frequencies / frequencies.sum()


def live_cost(result, model, prices):
    """What the page says of a model at other prices: by class, waste is scaled to that of all cases."""
    truth = result.sample.truths()
    weights = np.array(result.sample.weights)
    stated = np.array(result.costs.typical)
    factors = np.ones(len(stated))
    wasted = result.sample.costs(model.name, stated) - stated[truth]
    for number, in_class in enumerate(model.by_class):
        rows = truth == number
        if wasted[rows].any():
            mean = np.average(wasted[rows], weights=weights[rows])
            factors[number] = (in_class.expected_cost - stated[number]) / mean
    own = np.array(prices)[truth]
    return np.average(own + factors[truth] * (result.sample.costs(model.name, prices) - own), weights=weights)


@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize(
    ("n_classes", "rows", "n_models"),
    [
        (2, 3000, 2),
        (7, 5000, 3),
        (30, 6000, 2),
        (100, 5000, 2),
        (150, 5000, 1),
        (300, 4000, 1),
        (500, 5000, 2),
        (600, 4000, 2),
        (1000, 2500, 1),
        (2000, 2100, 1),
        (2000, 60, 2),
    ],
)
def test_a_sample_holds_every_class_or_there_is_none(n_classes, rows, n_models, uneven):
    rng = np.random.default_rng(n_classes)
    truth = rng.choice(n_classes, rows, p=class_frequencies(n_classes, uneven))
    scores = rng.normal(size=(n_models, rows, n_classes)) + 3.5 * np.eye(n_classes)[truth]
    odds = np.exp(scores)
    models = {f"model {m}": table for m, table in enumerate(odds / odds.sum(axis=2, keepdims=True))}
    prices = rng.uniform(20, 400, n_classes)
    result = compare(truth, models, costs=prices, options=ComparisonOptions(recalibrate=None))
    sample = result.sample
    if sample is None:
        assert result.not_sampled in {"size", "error"}
        assert n_classes > 100
        return
    assert set(sample.truths()) == set(truth)
    error = sample.error or 2e-3  # which rounding explains
    for factors in (
        np.full(n_classes, 2.0),
        2.0 ** rng.uniform(-1, 1, n_classes),
        rng.choice([0.5, 2.0], n_classes),
    ):
        changed = factors * prices
        for model in result.models:
            exact = expected_search_cost(truth, models[model.name], costs=changed)
            assert live_cost(result, model, changed) == pytest.approx(exact, rel=error)


def test_without_a_sample_the_result_says_why():
    truth, models = cases(300, 3)
    own_prices = np.random.default_rng(0).uniform(1, 9, (300, 3))
    by_class = priors.LogNormal([0.5, 1.0, 0.7])
    assert compare(truth, models, costs=own_prices).not_sampled == "own prices"
    assert compare(truth, models, prior=by_class, costs=PRICES[:3]).not_sampled == "prior"
    assert compare(truth, models, costs=PRICES[:3]).not_sampled is None


def test_votes_have_a_row_for_each_class_that_has_some():
    _, models = cases(50, 3)
    votes = np.random.default_rng(2).integers(0, 3, size=(50, 3)) + np.eye(3)[np.arange(50) % 3]
    sample = compare(votes, models, costs=PRICES[:3]).sample
    assert (sample.cases, sample.rows) == (50, int((votes > 0).sum()))
    exact = expected_search_cost(votes, models["model 0"], costs=[30.0, 10.0, 20.0])
    assert cost_from(sample, "model 0", [30.0, 10.0, 20.0]) == pytest.approx(exact, rel=1e-3)


def test_a_sample_survives_json_and_a_spoilt_one_is_refused():
    whole = compare(*cases(60, 3))
    assert Comparison.from_dict(json.loads(json.dumps(whole.to_dict()))) == whole
    for spoilt in (
        {"truth": whole.sample.truth[:-2]},
        {"truth": "//" + whole.sample.truth[2:]},
        {"odds": {}},
        {"weights": ()},
        {"odds": {name: "<" + text[1:] for name, text in whole.sample.odds.items()}},
    ):
        broken = replace(whole, sample=replace(whole.sample, **spoilt))
        with refused(place="the comparison's sample"):
            Comparison.from_dict(broken.to_dict())
