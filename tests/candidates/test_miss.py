"""The price of a miss: break-even prices, ranges, and how often intervals hold."""

import math

import numpy as np
import pytest

from pandora_regret import Candidates
from pandora_regret.candidates.miss import MissPrices, changes, miss_ranges
from pandora_regret.inference.student import student_quantile


def two_agents(rng, n=300):
    """One with short lists that miss often, one with long lists that miss seldom."""
    truth = rng.choice(list("abcdef"), n)
    short = [[name] if rng.random() < 0.6 else ["x"] for name in truth]
    long = [["x", "y", name] if rng.random() < 0.9 else ["x", "y", "z"] for name in truth]
    return {"short": Candidates.from_lists(short, truth), "long": Candidates.from_lists(long, truth)}


def test_the_break_even_price_is_where_two_lines_cross():
    models = two_agents(np.random.default_rng(0))
    prices = MissPrices(models)
    (crossing,) = prices.break_evens("short", "long")
    means = [prices.figure(name, crossing.price).value for name in models]
    assert means[0] == pytest.approx(means[1], rel=1e-12)
    assert (crossing.model, crossing.against) == ("short", "long")
    assert crossing.low < crossing.price < crossing.high


def test_its_interval_is_fiellers():
    models = two_agents(np.random.default_rng(1))
    (crossing,) = MissPrices(models).break_evens("short", "long")
    looked, missed = models["short"].spending()
    looked_against, missed_against = models["long"].spending()
    a = looked - looked_against
    b = missed - missed_against
    n = len(a)
    t = student_quantile(n - 1, 0.975)
    cov = np.cov(a, b) / n
    roots = np.roots(
        [
            b.mean() ** 2 - t**2 * cov[1, 1],
            2 * (a.mean() * b.mean() - t**2 * cov[0, 1]),
            a.mean() ** 2 - t**2 * cov[0, 0],
        ]
    )
    low, high = sorted(roots)
    assert crossing.low == pytest.approx(low, rel=0.03)  # which is stretched where differences are skewed
    assert crossing.high == pytest.approx(high, rel=0.03)


def test_ranges_say_what_the_intervals_at_every_price_say():
    models = two_agents(np.random.default_rng(2))
    prices = MissPrices(models)
    ranges = prices.ranges()
    assert ranges[0].low == 0.0
    assert ranges[-1].high == math.inf
    for part in ranges:
        for price in (part.low * 1.001 + 1e-6, min(part.high * 0.999, 1e4)):
            leader, undecided = prices.standing(price)
            assert bool(undecided) == bool(part.undecided)
            if not undecided:
                assert leader == part.leader


def test_one_model_is_cheapest_at_any_price():
    ranges = miss_ranges({"only": Candidates.from_lists([["a"], ["b"]], ["a", "c"])})
    assert [(part.low, part.leader, part.undecided) for part in ranges] == [(0.0, "only", ())]


def test_probabilities_have_ranges_too():
    rng = np.random.default_rng(4)
    truth = rng.choice(["a", "b", "c"], 200, p=[0.6, 0.3, 0.1])
    models = {
        "bold": Candidates.from_lists([{"a": 0.97}] * 200, truth),
        "fair": Candidates.from_lists([{"a": 0.6, "b": 0.3}] * 200, truth),
    }
    prices = MissPrices(models)
    last = prices.ranges()[-1]
    assert (last.leader, last.undecided) == ("fair", ())
    for crossing in prices.break_evens("bold", "fair"):
        below = prices.difference("bold", "fair", crossing.price * (1 - 1e-6)).value
        above = prices.difference("bold", "fair", crossing.price * (1 + 1e-6)).value
        assert below * above <= 0


def test_every_change_between_prices_that_are_tried_is_found_by_halving():
    starts = changes(lambda price: "low" if price < 2.5 else "high", [0.0, 1.0, 4.0])
    assert starts == [0.0, pytest.approx(2.5)]
    thrice = changes(lambda price: int(price), [0.0, 3.0])
    assert thrice == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.slow
def test_intervals_of_the_difference_cover_at_every_price():
    n_trials = 400
    held = np.zeros(4)
    at = [0.5, 3.0, 10.0, 100.0]
    expected = [0.4 + 0.6 + 0.4 * price - (3 + 0.1 * price) for price in at]
    for seed in range(n_trials):
        prices = MissPrices(two_agents(np.random.default_rng(seed), n=120))
        for number, price in enumerate(at):
            gap = prices.difference("short", "long", price)
            held[number] += gap.low <= expected[number] <= gap.high
    assert (held / n_trials > 0.92).all()


def test_break_even_prices_are_of_models_that_somebody_may_choose():
    """Two long, poor lists cost the same somewhere, but there a third one is the cheapest beyond doubt."""
    rng = np.random.default_rng(0)
    truth = ["a"] * 500
    models = {
        "best": Candidates.from_lists([["a"] if rng.random() < 0.9 else ["b"] for _ in truth], truth),
        "poor": Candidates.from_lists([list("bcd") + ["a"] * int(rng.random() < 0.5) for _ in truth], truth),
        "poorer": Candidates.from_lists([list("bc") + ["a"] * int(rng.random() < 0.3) for _ in truth], truth),
    }
    prices = MissPrices(models)
    assert len(prices.break_evens("poor", "poorer")) == 1
    assert prices.break_evens_in_question() == ()
    del models["best"]
    assert MissPrices(models).break_evens_in_question() == prices.break_evens("poor", "poorer")
