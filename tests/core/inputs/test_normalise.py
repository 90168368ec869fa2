"""`normalise=True`: rows that are off by at most 1 % are divided by their sums, everywhere, and counted."""

import numpy as np
import pandas as pd
import pytest
from asked import compare_with
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

import pandora_regret as pr
from pandora_regret import compare
from pandora_regret.calibrate import PriorShift, TemperatureScaling, decompose
from pandora_regret.core.inputs import InputError
from pandora_regret.core.inputs.tables import TOLERANCE, rescale_rows
from pandora_regret.core.scores import search_tally

RNG = np.random.default_rng(3)
TRUTH = RNG.integers(3, size=40)
P = RNG.dirichlet(np.ones(3), 40)
OFF = P * (1 + RNG.choice([-1, 1], (40, 1)) * RNG.uniform(0.001, 0.0099, (40, 1)))

FUNCTIONS = {
    "pandora_regret": lambda p, **how: pr.pandora_regret(TRUTH, p, alpha=0, **how),
    "beta_score": lambda p, **how: pr.beta_score(TRUTH, p, **how),
    "excess_search_burden": lambda p, **how: pr.excess_search_burden(TRUTH, p, **how),
    "expected_search_cost": lambda p, **how: pr.expected_search_cost(TRUTH, p, **how),
    "pair_costs": lambda p, **how: pr.pair_costs(TRUTH, p, **how),
    "search_tally": lambda p, **how: search_tally(TRUTH, p, **how).mean,
    "search_entropy": lambda p, **how: pr.search_entropy(p, **how),
    "search_divergence": lambda p, **how: pr.search_divergence(P[::-1], p, **how),
    "search_cost": lambda p, **how: pr.search_cost(TRUTH, p, [1, 2, 3], **how),
    "search_order": lambda p, **how: pr.search_order(p, [1, 2, 3], **how),
    "plan_search": lambda p, **how: pr.plan_search(p[0], costs=[1, 2, 3], **how).expected_cost,
    "decompose": lambda p, **how: decompose(TRUTH, p, folds=4, **how).uncertainty.value,
    "calibrator": lambda p, **how: TemperatureScaling(**how).fit(p, TRUTH).predict_proba(p),
    "prior_shift": lambda p, **how: PriorShift(**how).fit(p, TRUTH).predict_proba(p),
    "compare": lambda p, **how: compare_with(TRUTH, {"one": p}, **how).best.scores["log_loss"].value,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows_that_are_nearly_probabilities_are_rescaled_where_that_is_asked_for(name):
    with pytest.raises(InputError, match="normalise=True"):
        FUNCTIONS[name](OFF)
    np.testing.assert_allclose(FUNCTIONS[name](OFF, normalise=True), FUNCTIONS[name](P), rtol=1e-9)
    with pytest.raises(InputError, match=r"sums to 1\.02"):
        FUNCTIONS[name](P * 1.02, normalise=True)


def test_one_per_cent_is_still_rescaled():
    table = np.array([[0.495, 0.495], [0.505, 0.505], [0.5, 0.5]])
    for dtype in (np.float64, np.float32):
        values, rescaled = rescale_rows(table.astype(dtype), TOLERANCE)
        np.testing.assert_allclose(values, 0.5, rtol=1e-6)
        assert rescaled.rows == 2
        assert (round(rescaled.low, 6), round(rescaled.high, 6)) == (0.99, 1.01)


@given(st.lists(st.floats(0.97, 1.03), min_size=1, max_size=8))
def test_rows_within_the_tolerance_or_further_off_stay_as_they_are(sums):
    table = np.outer(sums, [0.25, 0.75])
    values, rescaled = rescale_rows(table, TOLERANCE)
    before, after = (np.abs(each.sum(axis=1) - 1) for each in (table, values))
    changed = (values != table).any(axis=1)
    assert rescaled.rows == changed.sum()
    assert (after[changed] < 1e-15).all()
    assert ((before[~changed] <= TOLERANCE) | (before[~changed] > 0.01)).all()


def test_what_was_rescaled_is_counted_in_a_comparison_and_the_input_is_left_alone():
    frame = pd.DataFrame(OFF, columns=list("abc"))
    result = compare(
        [*"abc"] * 13 + ["a"], {"off": frame, "exact": pd.DataFrame(P, columns=list("abc"))}, normalise=True
    )
    [remark] = result.remarks
    assert (remark.what, remark.count, remark.model) == ("rows rescaled", 40, "off")
    np.testing.assert_array_equal(frame, OFF)


def test_logits_have_no_sum_to_be_made_one():
    with refused(argument="normalise"):
        pr.pandora_regret([0], [[1.0, 2.0]], logits=True, normalise=True)
    assert compare([0], {"one": [[0.5, 0.5]]}).remarks == ()
