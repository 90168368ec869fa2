"""Betting, its inversion and ranks: what is promised of them at every moment."""

import json
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import zeta

from pandora_regret.inference import sequential_loops as loops
from pandora_regret.inference.sequential import FRACTIONS, STAKES, EProcess, Ranks

LEVEL = 0.05


def increments(rng, n, mean=0.0):
    """Two-point increments of the given mean, each with bounds of its own, and what bets are fractions of."""
    low, high = -rng.uniform(0.2, 0.9, n), rng.uniform(0.5, 3.0, n)
    x = np.where(rng.random(n) < (mean - low) / (high - low), high, low)
    return np.stack([x, low, high]), np.ones(n)


def joined(*parts):
    return [np.concatenate(each, axis=-1) for each in zip(*parts, strict=True)]


def wealth_by_hand(rows, scale, start=0, mean=0.0):
    """Of every bet on both sides, (2, J), from one increment on, were the mean this."""
    (x, low, high), wealth = rows, np.ones((2, len(FRACTIONS)))
    for t in range(start, len(x)):
        for side, (sign, room) in enumerate(((1, -low[t]), (-1, high[t]))):
            wealth[side] *= 1 + np.minimum(FRACTIONS / scale[t], 0.9 / room) * sign * (x[t] - mean)
    return wealth


def test_a_fair_game_leaves_mean_wealth_at_one():
    """Over all outcomes of six two-point increments, weighted by their probabilities, for every bet at once."""
    low, high = np.array([-0.1, -0.3, -0.05, -0.4, -0.2, -0.7]), np.array([0.5, 0.2, 0.6, 0.1, 2.0, 0.4])
    chance, total = -low / (high - low), 0.0
    for outcome in product((0, 1), repeat=6):
        hit, bets = np.array(outcome), EProcess(LEVEL, every=2)
        bets.update([np.where(hit, high, low), low, high], np.ones(6))
        total = total + np.prod(np.where(hit, chance, 1 - chance)) * np.exp(bets._folded()[0][0, :, loops.WEALTH])
    np.testing.assert_allclose(total, 1.0, rtol=1e-12)


def test_what_is_staked_on_the_first_increment():
    """Three quarters of the wealth, in the shares of bets from 1 % to 90 % of what could be lost."""
    bets = EProcess(LEVEL)
    bets.update(np.array([[1.0], [-1.0], [1.0]]), np.ones(1))
    won = 0.03 * 1.01 + 0.07 * 1.05 + 0.2 * 1.12 + 0.3 * 1.25 + 0.26 * 1.5 + 0.14 * 1.9
    lost = 0.03 * 0.99 + 0.07 * 0.95 + 0.2 * 0.88 + 0.3 * 0.75 + 0.26 * 0.5 + 0.14 * 0.1
    assert bets.evidence == pytest.approx((0.75 * won, 0.75 * lost))


def share_of_start(k):
    """What the k-th start after the beginning has to play with: all of them together have a quarter."""
    return 0.25 / zeta(1.25) * k**-1.25


def test_wealth_is_that_of_its_definition_in_every_window():
    """Of the window's own start, and of all starts after it together, each with its share."""
    rows, scale = joined(increments(np.random.default_rng(1), 300), increments(np.random.default_rng(2), 100, 0.3))
    bets = EProcess(LEVEL, every=16)
    bets.update(rows, scale)
    folded, windows = bets._folded()
    by_start = {k: wealth_by_hand(rows, scale, 16 * k) for k in range(400 // 16)}
    for w in range(len(windows) - 1):
        start, weight, count, total = windows[w, :4].tolist()
        first = int(start) // 16
        np.testing.assert_allclose(np.exp(folded[w, :, loops.WEALTH]), by_start[first], rtol=1e-9)
        later = sum(share_of_start(k) * by_start[k] for k in by_start if k > first)
        np.testing.assert_allclose(np.exp(folded[w, :, loops.LATER]), later, rtol=1e-9)
        assert (count, total) == (400 - start, pytest.approx(rows[0, int(start) :].sum()))
        assert weight == pytest.approx(share_of_start(first) if first else 0.75)
    assert windows[:, loops.START].max() > 0


def test_the_interval_of_a_window_excludes_only_what_its_starts_exclude():
    """At its ends the capital of all starts within it, counted by hand against that mean, is enough."""
    excluded = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rows, scale = joined(increments(rng, 160), increments(rng, 240, 0.35))
        bets = EProcess(LEVEL, every=16)
        bets.update(rows, scale)
        claim = bets.claim()
        first = claim.began // 16
        for side, end in enumerate((claim.low, claim.high)):
            capital = 0.0
            for k in range(first, 400 // 16):
                share = share_of_start(k) if k else 0.75
                capital += share * (STAKES @ wealth_by_hand(rows, scale, 16 * k, mean=end)[side])
            assert capital >= 1 / LEVEL * (1 - 1e-9)
        excluded += claim.side
    assert excluded >= 6


def test_the_interval_is_the_evidence_inverted():
    """At its ends there is just evidence enough, by the definition of wealth; a bound may make it wider."""
    for seed, mean, n in ((3, 0.0, 60), (4, 0.2, 400), (5, 0.4, 400), (6, -0.15, 2000)):
        rows = increments(np.random.default_rng(seed), n, mean)
        bets = EProcess(LEVEL, every=10**6)  # without changes
        bets.update(*rows)
        claim = bets.claim()
        for side, end in enumerate((claim.low, claim.high)):
            evidence = 0.75 * (STAKES @ wealth_by_hand(*rows, mean=end)[side])
            assert 1 / LEVEL * (1 - 1e-9) <= evidence <= 1 / LEVEL * 2.5
        assert claim.value == pytest.approx(rows[0][0].mean())
        assert claim.low <= claim.value <= claim.high


def test_the_arrays_of_a_stored_state_have_one_shape():
    """Of fourteen windows (the beginning, one of each bet on each side, the present block), and 1,024 bins."""
    assert {name: np.shape(array) for name, array in EProcess(LEVEL).arrays().items()} == {
        "bets": (14, 2, 7, 6),
        "windows": (14, 6),
        "clock": (3,),
        "noticed": (2,),
    }
    assert Ranks(1.0).tree.shape == (1025,)


def test_wealth_is_said_to_be_some_1e100_if_it_is_more():
    """That much of whole blocks, and what the present block makes of it."""
    bets = EProcess(LEVEL)
    bets.update(np.tile([[1.0], [-1.0], [1.0]], 3000), np.ones(3000))
    assert np.log10(bets.evidence[0]) == pytest.approx(105, abs=5)


@pytest.mark.parametrize(
    ("first", "second", "is_a_tie"),
    [
        (1.0, 2 ** (1 / 48), True),  # bins are 32 to an octave, and the scale is where one of them begins
        (1.0, 2 ** (1.5 / 32), False),
        (2.0**17, 2.0**20, True),  # what lies beyond 16 octaves lies in the last one
        (2.0**-17, 2.0**-20, True),
        (2.0**14, 2.0**15.9, False),
    ],
)
def test_ranks_tell_values_apart_to_two_percent_within_sixteen_octaves(first, second, is_a_tie):
    pair = np.sort([first, second])
    tree = np.zeros(1025, np.int64)
    shares = np.empty(2)
    loops.ranks_so_far(pair, 1.0, tree, 0, np.full(2, 0.5), shares)
    assert shares[1] == pytest.approx(0.5 if is_a_tie else 0.75)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1, -0.1, 0.4]), st.integers(1, 600))
@settings(deadline=None, max_examples=60)
def test_there_is_an_alarm_exactly_where_the_interval_leaves_zero(seed, mean, n):
    rng = np.random.default_rng(seed)
    bets = EProcess(LEVEL)
    bets.update(*joined(increments(rng, n), increments(rng, 150, mean)))
    above, below = bets.evidence
    claim = bets.claim()
    assert claim.side == (above >= 1 / LEVEL) - (below >= 1 / LEVEL)
    assert claim.low <= claim.value <= claim.high
    for side in (True, False):
        if claim.side == (1 if side else -1):
            assert bets.noticed_at(side) is not None


@pytest.mark.parametrize("every", [1, 8])
def test_the_order_within_a_period_changes_nothing(every):
    """Wealth, starts and the moment of notice are those of whole periods."""
    rng = np.random.default_rng(11)
    rows, scale = joined(increments(rng, 120), increments(rng, 180, 0.3))
    lengths = rng.integers(1, 25, 40)
    borders = np.minimum(np.cumsum(lengths), 300)
    period = np.searchsorted(borders, np.arange(300), side="right")
    ends_period = np.append(np.diff(period) > 0, True)
    ordered, shuffled = EProcess(LEVEL, every), EProcess(LEVEL, every)
    ordered.update(rows, scale, ends_period)
    order = np.lexsort((rng.random(300), period))
    shuffled.update(rows[:, order], scale[order], ends_period)
    assert ordered.noticed_at(True) is not None
    assert ends_period[ordered.noticed_at(True)]
    assert all(start in (0, *borders) for start in ordered.windows[:-1, loops.START])
    assert shuffled.noticed_at(True) == ordered.noticed_at(True)
    for mine, other in zip(ordered._folded(), shuffled._folded(), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-12)


def test_false_alarms_and_misses_are_rare_at_every_moment():
    """A change of the mean leaves the interval of what is claimed right, too."""
    rng, alarms, misses = np.random.default_rng(1), np.zeros(2), 0
    for _ in range(200):
        calm, bets, missed = EProcess(LEVEL), EProcess(LEVEL), False
        calm.update(*increments(rng, 1500))
        alarms += [calm.noticed_at(side) is not None for side in (True, False)]
        rows = joined(increments(rng, 320), increments(rng, 1180, 0.3))
        for part in np.array_split(np.arange(1500), 30):
            bets.update(*(each[..., part] for each in rows))
            claim, n = bets.claim(), part[-1] + 1
            truth = 0.3 * max(n - max(claim.began, 320), 0) / (n - claim.began)
            missed |= not claim.low <= truth <= claim.high
        misses += missed
    assert (alarms <= 18).all()  # 10 expected at most; P(more) < 0.01 even at the full level
    assert misses <= 30  # two ends


def test_how_long_an_alarm_takes_at_best():
    """With increments that are all alike, exactly so long."""
    rows, scale = np.repeat([[0.1], [-0.5], [1.0]], 400, axis=1), np.ones(400)
    for boldness in (1.0, 4.0):
        bets = EProcess(LEVEL, 10**6, boldness)
        bets.update(rows, scale)
        assert bets.noticed_at(True) + 1 <= bets.increments_until_alarm(1.0) <= 1.35 * (bets.noticed_at(True) + 1)
    bets = EProcess(LEVEL)
    bets.update(-rows[[0, 2, 1]], scale)
    assert bets.increments_until_alarm(1.0) is None


@given(st.lists(st.integers(0, 200), max_size=4), st.sampled_from([1, 32]))
@settings(deadline=None, max_examples=25)
def test_cuts_change_no_digit(cuts, every):
    rng = np.random.default_rng(5)
    rows, values = increments(rng, 200, 0.1), rng.beta(2, 8, 200)
    whole, parts = ([EProcess(LEVEL, every), Ranks(1.0)] for _ in range(2))
    whole[0].update(*rows)
    ranks, again = whole[1].update(values), []
    for start, end in pairwise([0, *sorted(cuts), 200]):
        parts = [each.restore(json.loads(json.dumps(each.state()))) for each in parts]
        parts[0].update(*(each[..., start:end] for each in rows))
        again.append(parts[1].update(values[start:end]))
    assert [each.state() for each in whole] == [each.state() for each in parts]
    np.testing.assert_array_equal(np.concatenate(again), ranks)


def test_wealth_stays_a_number():
    """However long it wins or loses, and the interval with it."""
    n = 100_000
    bets, half = EProcess(LEVEL), np.full(n, 0.5)
    bets.update([half, -half, half], half)
    assert bets.evidence[0] >= 1e98
    assert 0.49 < bets.claim().low <= 0.5
    bets.update([-half, -half, half], half)
    bets.update([-half, -half, half], half)
    assert all(np.isfinite(array).all() for array in bets.arrays().values())
    assert bets.claim().side == -1
    json.dumps(bets.state(), allow_nan=False)


def test_ranks_of_exchangeable_values_are_uniform_and_independent():
    rng = np.random.default_rng(7)
    values = np.round(rng.beta(2, 5, 20_000), 2)  # many ties
    ranks = Ranks(1.0).update(values)
    assert abs(ranks.mean() - 0.5) < 0.01
    np.testing.assert_allclose(np.histogram(ranks, 10, (0, 1))[0] / 20_000, 0.1, atol=0.01)
    assert abs(np.corrcoef(ranks[1:], ranks[:-1])[0, 1]) < 0.03


def test_without_numba_the_loops_are_the_same():
    rows = increments(np.random.default_rng(9), 70, 0.1)
    compiled, plain = EProcess(LEVEL), EProcess(LEVEL)
    compiled.update(*rows)
    bet = getattr(loops.bet, "py_func", loops.bet)
    ends_period = np.ones(70, bool)
    bet(*rows, ends_period, 0, 32, FRACTIONS, STAKES, *plain.arrays().values(), 1 / LEVEL)
    for name, array in plain.arrays().items():
        np.testing.assert_allclose(compiled.arrays()[name], array, rtol=1e-12)
