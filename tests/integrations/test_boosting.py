import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from pandora_regret import Beta, beta_score, expected_search_cost
from pandora_regret.integrations.boosting import (
    LightGBMMetric,
    SearchObjective,
    XGBoostMetric,
    probabilities,
)

ALPHAS = [0.0, 0.3, 1.0, 4.0]


def random_rows(n_classes, seed, n_rows=12, spread=2.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_rows)
    costs = rng.uniform(0.2, 5.0, n_classes)
    raw, weights = rng.normal(0, spread, (n_rows, n_classes)), rng.uniform(0.1, 3.0, n_rows)
    return y, raw, costs, weights / weights.mean()  # as they are read


def weighted_total(y, raw, alpha, costs, weights):
    """What the gradient is the gradient of, in the library's own score."""
    return weights @ beta_score(
        y, raw, alpha=alpha, max_costs=costs / costs.mean(), logits=True, per_instance=True
    )


def slopes_by_difference(loss, raw, step=1e-5):
    slopes = np.empty_like(raw)
    for at in np.ndindex(*raw.shape):
        up, down = raw.copy(), raw.copy()
        up[at] += step
        down[at] -= step
        slopes[at] = (loss(up) - loss(down)) / (2 * step)
    return slopes


# Derivatives


@given(st.sampled_from(ALPHAS), st.integers(2, 6), st.integers(0, 10**6))
def test_the_gradient_is_that_of_the_weighted_beta_score(alpha, n_classes, seed):
    y, raw, costs, weights = random_rows(n_classes, seed)
    gradient, _ = SearchObjective(alpha=alpha, costs=costs)(y, raw, weights)
    expected = slopes_by_difference(lambda z: weighted_total(y, z, alpha, costs, weights), raw)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-4)


@given(st.sampled_from(ALPHAS), st.integers(2, 6), st.integers(0, 10**6))
def test_no_quadratic_of_that_curvature_lies_below_the_loss_in_any_direction(alpha, n_classes, seed):
    """The curvature of the loss along a direction t is at most ``sum_k h_k t_k^2``."""
    y, raw, costs, weights = random_rows(n_classes, seed)
    _, curvature = SearchObjective(alpha=alpha, costs=costs)(y, raw, weights)
    assert (curvature > 0).all()
    direction, step = np.random.default_rng(seed).normal(size=raw.shape), 1e-4
    for t in (direction, np.eye(n_classes)[y], np.eye(n_classes)[y] - np.eye(n_classes)[y - 1]):
        sides = [
            weights * beta_score(y, raw + s * t, alpha=alpha, max_costs=costs / costs.mean(), logits=True,
                                 per_instance=True)
            for s in (-step, 0, step)
        ]  # fmt: skip
        bend = np.abs(sides[0] - 2 * sides[1] + sides[2]) / step**2
        # a difference of slopes across the kink sees both sides' curvature, never more than the larger
        assert (bend <= 1.01 * (curvature * t**2).sum(axis=1) + 1e-6 * (1 + sides[1])).all()


def test_one_raw_score_is_that_of_the_second_class_over_the_first():
    y, raw, costs, weights = random_rows(2, seed=3)
    objective = SearchObjective(costs=costs)
    both, bends = objective(y, raw, weights)
    one, bend = objective(y, raw[:, 1] - raw[:, 0], weights)
    np.testing.assert_allclose(one, both[:, 1])
    np.testing.assert_allclose(2 * bend, bends[:, 1])


def test_only_the_proportions_of_costs_count_and_they_may_be_named():
    y, raw, _, _ = random_rows(3, seed=6)
    expected = SearchObjective(costs=[1.0, 2.0, 4.0])(y, raw)[0]
    named = {"c": 40.0, "a": 10.0, "b": 20.0}
    for objective in (
        SearchObjective(costs=[10, 20, 40]),
        SearchObjective(costs=named, labels=["a", "b", "c"]),
    ):
        np.testing.assert_allclose(objective(y, raw)[0], expected)
    assert SearchObjective(alpha=0, costs=[1, 2, 4])(y, raw)[0].shape == (12, 3)


@pytest.mark.parametrize(
    ("options", "call", "fields"),
    [
        ({"alpha": np.inf}, None, {"argument": "alpha", "value": np.inf}),
        ({"alpha": -1}, None, {"argument": "alpha", "value": -1}),
        ({"costs": [1, 2]}, np.array([0]), {"argument": "costs", "value": (2,)}),
        ({"labels": ["a", "b"]}, np.array([0]), {"argument": "labels", "value": 2}),
        ({}, np.array([3]), {"argument": "y_true", "row": 0, "value": 3}),
        ({}, np.array([0.5]), {"argument": "y_true", "row": 0, "value": 0.5}),
    ],
)
def test_what_cannot_be_boosted_is_said(options, call, fields):
    with refused(**fields):
        SearchObjective(**options)(call, np.zeros((1, 3)))


# Metrics


def test_metrics_are_the_expected_search_cost():
    y, raw, costs, weights = random_rows(4, seed=7)
    expected = expected_search_cost(y, raw, prior=Beta(0.5), costs=costs, sample_weight=weights, logits=True)
    options = {"prior": Beta(0.5), "costs": costs}
    assert XGBoostMetric(**options)(y, raw, sample_weight=weights) == pytest.approx(expected)
    assert LightGBMMetric(**options)(y, raw, weights) == ("search_cost", pytest.approx(expected), False)
    named = {"prior": Beta(0.5), "costs": dict(zip("abcd", costs, strict=True)), "labels": list("abcd")}
    assert XGBoostMetric(**named)(y, raw, weights) == pytest.approx(expected)
    proba = probabilities(raw)
    assert XGBoostMetric(**options, logits=False)(y, proba, weights) == pytest.approx(expected)
