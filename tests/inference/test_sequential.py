"""Betting, confidence sequences and ranks: what is promised of them at every moment."""

import json
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pandora_regret import InputError
from pandora_regret.inference import sequential_loops as loops
from pandora_regret.inference.sequential import BETS, Bets, MeanSequence, Ranks

HOW = {"level": 0.05, "run_length": 1000.0}


def increments(rng, n, mean=0.0, scale=1.0):
    """Two-point increments of the given mean, each with bounds of its own."""
    low, high = -scale * rng.uniform(0.05, 0.4, n), scale * rng.uniform(0.2, 0.6, n)
    x = np.where(rng.random(n) < (mean * scale - low) / (high - low), high, low)
    return x, low, high


def test_a_fair_game_leaves_mean_wealth_at_one():
    """Over all outcomes of four two-point increments, weighted by their probabilities, for every bet at once."""
    low, high = np.array([-0.1, -0.3, -0.05, -0.4]), np.array([0.5, 0.2, 0.6, 0.1])
    chance = -low / (high - low)
    wealth = sums = 0.0
    for outcome in product((0, 1), repeat=4):
        hit = np.array(outcome)
        bets = Bets(1.0, **HOW)
        bets.update(np.where(hit, high, low), low, high)
        weight = np.prod(np.where(hit, chance, 1 - chance))
        wealth = wealth + weight * bets.wealth
        sums = sums + weight * bets.sums
    np.testing.assert_allclose(wealth, 1.0, rtol=1e-12)
    np.testing.assert_allclose(sums, 4.0, rtol=1e-12)  # a sum of four restarts: an e-detector


def test_false_alarms_and_misses_are_rare_at_every_moment():
    rng, alarms, misses = np.random.default_rng(1), 0, 0
    for _ in range(200):
        x, low, high = increments(rng, 1500)
        bets, sequence, missed = Bets(1.0, **HOW), MeanSequence(1.0, level=0.05), False
        bets.update(x, low, high)
        for part in np.array_split(np.arange(1500), 50):
            sequence.update(x[part], low[part], high[part])
            start, end = sequence.interval()
            missed |= not start <= 0 <= end
        alarms += bets.alarm is not None
        misses += missed
    assert alarms <= 18  # 10 expected at most; P(more) < 0.01 even at the full level
    assert misses <= 18


def test_the_interval_follows_means_that_change():
    """The estimated mean is the average of the conditional means so far, whatever they are."""
    rng = np.random.default_rng(2)
    parts = [increments(rng, 4000, mean) for mean in (0.0, 0.15, -0.04)]
    sequence, truth = MeanSequence(1.0, level=0.05), []
    for (x, low, high), mean in zip(parts, (0.0, 0.15, -0.04), strict=True):
        sequence.update(x, low, high)
        truth += [mean] * len(x)
        start, end = sequence.interval()
        assert start <= np.mean(truth) <= end
        assert end - start < 0.1
    assert sequence.mean == pytest.approx(np.mean(np.concatenate([part[0] for part in parts])))


def test_the_interval_is_the_mixture_inverted():
    """By definition: the least mean m at which the mixture of exp(b (S - n m) - penalty) is below 2 / level."""
    x, low, high = increments(np.random.default_rng(3), 400, 0.05)
    sequence = MeanSequence(1.0, level=0.05)
    sequence.update(x, low, high)
    start, _ = sequence.interval()
    from pandora_regret.inference.sequential import SEQUENCE_BETS

    centres = np.concatenate([[0.0], np.cumsum(x)[:-1] / np.arange(2, 401)])
    centres = np.clip(centres, low, high)
    rooms = 2.0 ** (-np.floor(-4 * np.log2(centres - low)) / 4)  # rounded up to the next bin
    total = 0.0
    for bet in SEQUENCE_BETS:
        if (bet * rooms < 1).all():
            psi = (-np.log1p(-bet * rooms) - bet * rooms) / rooms**2
            total += np.exp(bet * (x - start).sum() - (psi * (x - centres) ** 2).sum())
    assert total / len(SEQUENCE_BETS) == pytest.approx(2 / 0.05, rel=1e-6)


def test_a_change_is_found_and_dated():
    rng, found = np.random.default_rng(4), []
    for _ in range(40):
        x, low, high = (
            np.concatenate(parts) for parts in zip(increments(rng, 500), increments(rng, 600, 0.15), strict=True)
        )
        bets = Bets(1.0, **HOW)
        bets.update(x, low, high)
        if bets.change is not None and bets.change.at >= 500:
            assert bets.change.above
            found.append(bets.change.began)
    assert len(found) > 20
    assert 440 <= np.median(found) <= 540


@given(st.lists(st.integers(0, 60), max_size=4), st.integers(1, 3))
@settings(deadline=None, max_examples=25)
def test_cuts_change_no_digit(cuts, lag):
    rng = np.random.default_rng(5)
    x, low, high = increments(rng, 60, 0.1)
    values = rng.beta(2, 8, 60)
    bounds = [0, *sorted(cuts), 60]
    whole, parts = (
        [Bets(1.0, **HOW, lag=lag), MeanSequence(1.0, level=0.05, lag=lag), Ranks(1.0)] for _ in range(2)
    )
    for each in whole[:2]:
        each.update(x, low, high)
    ranks = whole[2].update(values)
    again = []
    for start, end in pairwise(bounds):
        part = slice(start, end)
        parts = [type(each).restore(each, json.loads(json.dumps(each.state())), "state") for each in parts]
        for each in parts[:2]:
            each.update(x[part], low[part], high[part])
        again.append(parts[2].update(values[part]))
    assert [each.state() for each in whole] == [each.state() for each in parts]
    np.testing.assert_array_equal(np.concatenate(again), ranks)


def test_lanes_are_streams_of_their_own():
    x, low, high = increments(np.random.default_rng(6), 300, 0.1)
    together, apart = Bets(1.0, **HOW, lag=3), [Bets(1.0, **HOW) for _ in range(3)]
    history = together.update(x, low, high)
    for lane, bets in enumerate(apart):
        bets.update(x[lane::3], low[lane::3], high[lane::3])
    np.testing.assert_array_equal(together.wealth, np.concatenate([bets.wealth for bets in apart]))
    assert history[-1] == max(bets.value for bets in apart) / 3


def test_wealth_stays_a_number():
    """However long it wins or loses."""
    n = 100_000
    bets = Bets(1.0, **HOW)
    bets.update(np.full(n, 0.5), np.full(n, -0.5), np.full(n, 0.5))
    assert bets.value == pytest.approx(loops.LARGEST / 2, rel=0.5)
    bets.update(np.full(n, -0.5), np.full(n, -0.5), np.full(n, 0.5))
    assert np.isfinite(bets.wealth).all()
    json.dumps(bets.state(), allow_nan=False)


def test_ranks_of_exchangeable_values_are_uniform_and_independent():
    rng = np.random.default_rng(7)
    values = np.round(rng.beta(2, 5, 20_000), 2)  # many ties
    ranks = Ranks(1.0).update(values)
    assert abs(ranks.mean() - 0.5) < 0.01
    np.testing.assert_allclose(np.histogram(ranks, 10, (0, 1))[0] / 20_000, 0.1, atol=0.01)
    assert abs(np.corrcoef(ranks[1:], ranks[:-1])[0, 1]) < 0.03


@pytest.mark.parametrize(
    "damage",
    [{"wealth": [[1.0]]}, {"wealth": "x"}, {"wealth": [[["a"] * len(BETS)] * 2]}, {"n": None}, {"n": "x"}],
)
def test_a_damaged_state_is_refused(damage):
    state = Bets(1.0, **HOW).state() | damage
    with pytest.raises(InputError, match="the state is damaged"):
        Bets(1.0, **HOW).restore(state, "state.bets")


def test_without_numba_the_loops_are_the_same():
    x, low, high = increments(np.random.default_rng(9), 50, 0.1)
    compiled, plain = (
        (np.ones((1, 2, 13)), np.zeros((1, 2, 13)), np.zeros((1, 2, 13)), np.zeros((1, 2, 13), np.int64))
        for _ in range(2)
    )
    for bet, state in ((loops.bet, compiled), (getattr(loops.bet, "py_func", loops.bet), plain)):
        bet(x, low, high, 0, BETS, *state, np.ones(1), np.full(5, -1), 20.0, 1000.0, np.empty(50))
    for one, other in zip(compiled, plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
