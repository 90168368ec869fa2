"""Break-even prices: beyond them another model leads by the margin; a price curve is the score itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_models import calibrated, sharpened

from pandora_regret import (
    Beta,
    ComparisonOptions,
    Empirical,
    Fixed,
    Gamma,
    LogNormal,
    compare,
    expected_search_cost,
)
from pandora_regret.comparison.break_even import PriceCurve
from pandora_regret.core.inputs import read_forecast
from pandora_regret.core.scores import priced

PRICES = np.array([380.0, 120.0, 90.0])
PRIORS = {
    "uniform": None,
    "beta": Beta(0.3),
    "gamma": Gamma(2.0),
    "lognormal": LogNormal(0.5),
    "known": Fixed(),
    "sampled": Empirical(np.random.default_rng(0).uniform(1, 9, (20, 3))),
}


def specialists(rows=1500):
    """Two models, each better at other classes, so that prices decide between them."""
    truth = np.random.default_rng(0).integers(0, 3, rows)
    good, poor = (np.column_stack([calibrated(truth, skill, seed)]) for skill, seed in ((2.2, 1), (1.2, 2)))
    first = np.where((truth == 0)[:, None], good, poor)
    second = np.where((truth == 0)[:, None], poor, sharpened(good, 1.3))
    return truth, {"first": first, "second": second}


@pytest.mark.slow
@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_the_other_model_is_cheaper_by_the_margin_from_the_price_on(prior):
    truth, models = specialists()
    found = compare(truth, models, costs=PRICES, prior=prior, options=ComparisonOptions(recalibrate=None))
    crossings = 0
    for test, each in enumerate(found.break_even):
        assert (each.test, each.stated) == (str(test), PRICES[test])
        for crossing, beyond in ((each.below, 1 - 1e-7), (each.above, 1 + 1e-7)):
            if crossing is None:
                continue
            crossings += 1
            leads = []
            for factor in (2 - beyond, beyond):
                options = {"costs": _with(test, factor * crossing.price), "prior": prior}
                names = (found.best.name, crossing.leader)
                ours, theirs = (expected_search_cost(truth, models[name], **options) for name in names)
                leads.append(ours - theirs > found.verdict.margin > 0)
            assert leads == [False, True]
            assert 0.1 * each.stated <= crossing.price <= 10 * each.stated
            assert crossing.low is None or crossing.low < crossing.price
            assert crossing.high is None or crossing.high > crossing.price
    assert crossings


def test_at_the_ends_of_its_interval_zero_leaves_that_of_the_difference():
    truth, models = specialists(6000)
    found = compare(truth, models, costs=PRICES, worth=0, options=ComparisonOptions(recalibrate=None))
    ends = [
        (int(each.test), end)
        for each in found.break_even
        for crossing in (each.below, each.above)
        if crossing is not None
        for end in (crossing.low, crossing.high)
        if end is not None
    ]
    assert ends
    for test, end in ends:
        gap = compare(
            truth, models, costs=_with(test, end), options=ComparisonOptions(recalibrate=None)
        ).differences[0]
        assert gap.high == pytest.approx(0, abs=1e-4 * abs(gap.difference))


@pytest.mark.parametrize("logits", [False, True])
@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
@settings(max_examples=15)
@given(
    factor=st.floats(0.1, 10.0),
    test=st.integers(0, 2),
    seed=st.integers(0, 1000),
    zeros=st.booleans(),
    own_costs=st.booleans(),
)
def test_a_price_curve_is_the_score_at_another_price(prior, logits, factor, test, seed, zeros, own_costs):
    rng = np.random.default_rng(seed)
    truth, table = rng.integers(0, 3, 12), rng.dirichlet([1.0, 1.0, 1.0], 12)
    if zeros:
        table[:6] = np.eye(3)[rng.integers(0, 3, 6)]
    with np.errstate(divide="ignore"):
        table = np.log(table) if logits else table
    base = rng.uniform(10, 400, (12, 3) if own_costs else 3)
    forecast = read_forecast(truth, table, logits=logits).check()
    known, forecast = priced(forecast, prior, base)
    stated = expected_search_cost(truth, table, prior=prior, costs=base, logits=logits, per_instance=True)
    moved = base.copy()
    moved[..., test] *= factor
    wanted = expected_search_cost(truth, table, prior=prior, costs=moved, logits=logits, per_instance=True)
    shares = rng.dirichlet(np.ones(12))
    curve = PriceCurve(forecast, stated, known, test, shares)
    np.testing.assert_allclose(curve.costs(factor), wanted, rtol=1e-9)
    if prior != Fixed():  # whose mean is that just before an order changes
        np.testing.assert_allclose(curve.mean(np.array([factor])), shares @ wanted, rtol=1e-9)


@given(seed=st.integers(0, 10_000), upwards=st.booleans())
@settings(max_examples=40)
def test_at_known_prices_the_first_crossing_is_that_of_a_dense_scan(seed, upwards):
    rng = np.random.default_rng(seed)
    truth, prices = rng.integers(0, 3, 8), rng.uniform(10, 400, 3)
    models = {name: rng.dirichlet([1.0, 1.0, 1.0], 8) for name in "abc"}
    result = compare(truth, models, prior=Fixed(), costs=prices, options=ComparisonOptions(recalibrate=None))

    def excess(test, factor):
        """What the leader costs more than the cheapest other model."""
        moved = np.where(np.arange(3) == test, factor, 1.0) * prices
        costs = {
            name: expected_search_cost(truth, table, prior=Fixed(), costs=moved) for name, table in models.items()
        }
        return costs.pop(result.best.name) - min(costs.values()) - result.verdict.margin

    steps = np.geomspace(1.0, 10.0 if upwards else 0.1, 300)[1:]
    for test, each in enumerate(result.break_even):
        crossing = each.above if upwards else each.below
        furthest = steps[-1] if crossing is None else crossing.price / each.stated
        before = steps[steps < furthest] if upwards else steps[steps > furthest]
        assert all(excess(test, factor) < 1e-9 * prices.sum() for factor in before.tolist())
        if crossing is not None:
            assert excess(test, furthest * (1 + 1e-6 if upwards else 1 - 1e-6)) > 0


def test_a_price_breaks_even_up_to_ten_times_the_stated_one():
    truth, models = specialists(600)
    options = ComparisonOptions(recalibrate=None)
    crossing = compare(truth, models, costs=PRICES, options=options).break_even[1].above.price
    found = {}
    for times in (9, 12):
        stated = np.array([PRICES[0], crossing / times, PRICES[2]])
        found[times] = compare(truth, models, costs=stated, options=options).break_even[1].above
    assert found[9].price == pytest.approx(crossing, rel=0.05)  # beside another margin
    assert found[12] is None


def test_only_stated_prices_can_break_even_and_it_takes_two_models():
    truth, models = specialists(200)
    assert compare(truth, models).break_even == ()
    assert compare(truth, {"first": models["first"]}, costs=PRICES).break_even == ()
    same = compare(truth, {"a": models["first"], "b": models["first"]}, costs=PRICES)
    assert all(each.below is None and each.above is None for each in same.break_even)


def _with(test, price):
    costs = PRICES.copy()
    costs[test] = price
    return costs
