"""Comparisons whose truth is votes: the figures of the expanded rows, the certainty of the cases."""

import numpy as np
import pytest
from asked import compare_with

from pandora_regret import Gamma, compare
from pandora_regret.workup import Workup

LABELS = ["melanoma", "nevus", "keratosis"]
PRICES = {"nevus": 120.0, "melanoma": 380.0, "keratosis": 90.0}


@pytest.fixture(scope="module")
def voted():
    rng = np.random.default_rng(0)
    votes = rng.multinomial(4, [0.2, 0.5, 0.3], size=120)
    boldness = {"sharp": 8.0, "vague": 2.0}
    models = {name: np.array([rng.dirichlet(1 + bold * v / 4) for v in votes]) for name, bold in boldness.items()}
    return votes, models, rng.gamma(2.0, size=120)


def expanded(votes, models, weights):
    """One row per class that has votes; what belongs together is a case."""
    shares = votes / votes.sum(axis=1, keepdims=True)
    case, label = np.nonzero(shares)
    rows = {name: table[case] for name, table in models.items()}
    return np.take(LABELS, label), rows, (weights[:, None] * shares)[case, label], case


@pytest.mark.parametrize(
    "options",
    [
        {"costs": PRICES, "decompose": False},
        {"costs": PRICES, "bootstrap": 300},
        {"prior": Gamma(2.0), "costs": PRICES},
        {"workup": Workup(LABELS, {name: {"cost": cost, "confirms": name} for name, cost in PRICES.items()})},
    ],
    ids=["analytic", "bootstrap", "pairwise prior", "work-up"],
)
def test_figures_are_those_of_the_expanded_rows_and_intervals_those_of_the_cases(voted, options):
    votes, models, weights = voted
    labels, rows, each, case = expanded(*voted)
    result = compare_with(votes, models, labels=LABELS, sample_weight=weights, **options)
    plain = compare_with(labels, rows, labels=LABELS, sample_weight=each, groups=case, **options)
    assert result.data.rows == 120
    shares, wanted = (np.array(found.data.class_weights) / found.data.rows for found in (result, plain))
    assert shares == pytest.approx(wanted)
    for ours, theirs in zip(result.models, plain.models, strict=True):
        assert ours.name == theirs.name
        for key, score in ours.scores.items():
            assert score.value == pytest.approx(theirs.scores[key].value, rel=1e-10), key
            if key != "accuracy":  # whose interval is that of a proportion
                assert score.low == pytest.approx(theirs.scores[key].low, rel=1e-6), key
        assert ours.unavoidable == pytest.approx(theirs.unavoidable)
        np.testing.assert_allclose(ours.pair_costs, theirs.pair_costs, rtol=1e-10)
        assert [each.expected_cost for each in ours.by_class] == pytest.approx(
            [each.expected_cost for each in theirs.by_class]
        )
    (ours,), (theirs,) = result.differences, plain.differences
    assert (ours.difference, ours.low, ours.high) == pytest.approx(
        (theirs.difference, theirs.low, theirs.high), rel=1e-6
    )


def test_more_voters_do_not_narrow_the_interval(voted):
    votes, models, _ = voted
    few, many = (compare(times * votes, models, labels=LABELS) for times in (1, 25))
    assert few.to_dict() == many.to_dict()
