"""Calibrators fitted to votes: the same maps as from one weighted row per vote."""

import numpy as np
import pandas as pd
import pytest

from pandora_regret import Beta, Exponential

pytest.importorskip("sklearn")

from pandora_regret.calibrate import MatrixScaling, PriorShift, TemperatureScaling, VectorScaling, decompose

PENALTIES = ("penalty", "diagonal", "off_diagonal", "intercept")
COSTS = [100.0, 250.0, 80.0]


@pytest.fixture(scope="module")
def voted():
    rng = np.random.default_rng(3)
    calm = rng.dirichlet([1.0, 2.0, 1.5], size=60)
    votes = np.array([rng.multinomial(3, p) for p in calm])
    return calm**2 / (calm**2).sum(axis=1, keepdims=True), votes, rng.gamma(2.0, size=60)


def expanded(forecasts, votes, weights):
    shares = votes / votes.sum(axis=1, keepdims=True)
    row, label = np.nonzero(shares)
    return row, label, forecasts[row], (weights[:, None] * shares)[row, label]


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (MatrixScaling, {}),
        (VectorScaling, {}),
        (TemperatureScaling, {"objective": "search", "prior": Beta(3.0)}),
        (TemperatureScaling, {"objective": "search", "prior": Exponential(), "costs": COSTS}),
    ],
    ids=["matrix", "vector", "beta", "exponential"],
)
def test_maps_are_those_of_one_row_per_vote(make, options, voted):
    forecasts, votes, weights = voted
    _, labels, rows, each = expanded(*voted)
    ours = make(**options).fit(forecasts, votes, weights).predict_proba(forecasts)
    more = len(rows) / len(forecasts)  # a penalty counts like so many rows, and there are more of them
    penalties = {name: more * value for name, value in make().get_params().items() if name in PENALTIES}
    theirs = make(**options, **penalties).fit(rows, labels, each).predict_proba(forecasts)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_class_frequencies_count_votes(voted):
    forecasts, votes, weights = voted
    shares = votes / votes.sum(axis=1, keepdims=True)
    fitted = PriorShift().fit(forecasts, votes, weights)
    np.testing.assert_allclose(fitted.source_prior_, weights @ shares / weights.sum())


def test_a_frame_of_votes_names_the_columns(voted):
    forecasts, votes, _ = voted
    named = TemperatureScaling().fit(forecasts, pd.DataFrame(votes, columns=["c", "a", "b"]))
    assert named.classes_.tolist() == ["c", "a", "b"]
    assert named.temperature_ == TemperatureScaling().fit(forecasts, votes).temperature_


def test_decompose_counts_cases(voted):
    forecasts, votes, _ = voted
    parts = decompose(votes, forecasts, costs=COSTS)
    row, labels, rows, each = expanded(forecasts, votes, np.ones(60))
    plain = decompose(labels, rows, costs=COSTS, sample_weight=each, groups=row)
    assert parts.score.value == pytest.approx(plain.score.value)
    assert parts.score.low == pytest.approx(plain.score.low)
    assert parts.miscalibration.value == pytest.approx(plain.miscalibration.value, abs=2.0)
    assert parts.miscalibration.value > 0
