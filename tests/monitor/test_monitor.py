"""A monitor: what it counts, in which order, and that nothing depends on how rows are handed in."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pandora_regret import (
    Beta,
    Empirical,
    Fixed,
    Gamma,
    InputError,
    LogNormal,
    expected_search_cost,
    search_entropy,
)
from pandora_regret.inputs import read_probabilities
from pandora_regret.monitor import Monitor
from pandora_regret.monitor.history import MOST_POINTS
from pandora_regret.monitor.rows import bounds, read_rows
from pandora_regret.monitor.words import sentences

COSTS = [100.0, 200.0, 40.0]


def cases(n, seed=0, power=1.0, classes=3):
    """Labels drawn from forecasts, and the forecasts, sharper than they should be where power > 1."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(classes), n)
    y = (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(max=classes - 1)
    sharp = p**power
    return y, sharp / sharp.sum(axis=1, keepdims=True)


def as_text(monitor):
    return json.dumps(monitor.state(), allow_nan=False)


@given(
    arrays(float, (4, 3), elements=st.sampled_from([0.0, 1e-200, 0.1, 0.25, 0.5, 1.0])).filter(
        lambda table: (table.sum(axis=1) > 0.01).all()
    ),
    st.sampled_from([Beta(1.0), Beta(0.5), Beta(3.0), Fixed(), Gamma(2.0), LogNormal(0.7)]),
)
@settings(deadline=None)
def test_rows_are_those_of_the_scores(table, prior):
    p = table / table.sum(axis=1, keepdims=True)
    base = np.array(COSTS) / prior.mean
    rows = read_rows(read_probabilities(p).with_costs(base), prior)
    promised = search_entropy(p, prior=prior, typical_costs=COSTS, per_instance=True)
    np.testing.assert_allclose(rows.promised, promised, rtol=1e-10)
    least, most = bounds(base, prior)
    for truth in range(3):
        y = np.full(4, truth)
        paid = expected_search_cost(y, p, prior=prior, typical_costs=COSTS, per_instance=True)
        np.testing.assert_allclose(rows.costs[:, truth], paid, rtol=1e-10)
        x, low, high = rows.overpaid(y)
        assert ((low <= x) & (x <= high)).all()
        np.testing.assert_allclose(x, paid - promised, atol=1e-8)
        assert (least * (1 - 1e-12) <= paid).all()
        assert (paid <= most * (1 + 1e-12)).all()


def test_summary_in_plain_numbers():
    y, p = cases(50)
    monitor = Monitor(typical_costs=COSTS)
    monitor.update(y, p, period="week 1")
    so_far = monitor.summary()
    assert (so_far.increments, so_far.overpaid, so_far.last.complete) == (0, None, False)
    monitor.close()
    summary = monitor.summary()
    paid = expected_search_cost(y, p, typical_costs=COSTS)
    promised = search_entropy(p, typical_costs=COSTS)
    assert (summary.last.name, summary.last.cases, summary.last.complete) == ("week 1", 50, True)
    assert (so_far.last.paid, so_far.last.promised) == (summary.last.paid, summary.last.promised)
    assert summary.last.paid == pytest.approx(paid)
    assert summary.last.promised == summary.predicted == pytest.approx(promised)
    assert summary.overpaid.mean == pytest.approx(paid - promised)
    assert summary.overpaid.low <= 0 <= summary.overpaid.high
    assert not summary.alarmed


@given(st.lists(st.integers(1, 9), max_size=5, unique=True), st.booleans())
@settings(deadline=None, max_examples=20)
def test_batches_cut_at_period_borders_change_nothing(cuts, closing):
    y, p = cases(100, power=1.5)
    q, ids, weeks = cases(100, seed=1)[1], [f"case {i}" for i in range(100)], np.repeat(np.arange(10), 10)
    whole, parts = Monitor(typical_costs=COSTS, lag=2), None
    whole.update(y, p, challenger=q, ids=ids, period=weeks)
    whole.close()
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), 10], strict=True):
        part = slice(10 * start, 10 * end)
        monitor = Monitor(typical_costs=COSTS, lag=2) if parts is None else Monitor.from_state(json.loads(parts))
        monitor.update(y[part], p[part], challenger=q[part], ids=ids[part], period=weeks[part])
        if closing or end == 10:
            monitor.close()
        parts = as_text(monitor)
    assert parts == as_text(whole)


@pytest.mark.parametrize("period", [None, "week 1"])
def test_without_a_border_cuts_change_nothing_either(period):
    y, p = cases(3 * MOST_POINTS)
    whole, parts = Monitor(), Monitor()
    whole.update(y, p, period=period)
    for part in np.array_split(np.arange(len(y)), [1, 2, 300, 301, 512, 700]):
        parts = parts if parts.paid is None else Monitor.from_state(json.loads(as_text(parts)))
        parts.update(y[part], p[part], period=period)
    assert as_text(parts) == as_text(whole)


def test_thousands_of_cases_may_be_cut_anywhere():
    y, p = cases(5000)
    whole, parts = Monitor(), Monitor()
    whole.update(y, p)
    for part in np.split(np.arange(len(y)), [3, 1000, 1013, 2500, 4500, 4510, 4700, 4999]):
        parts.update(y[part], p[part])
    assert as_text(parts) == as_text(whole)


def test_the_last_period_is_one_however_long_the_history_is():
    y, p = cases(302)
    monitor = Monitor(typical_costs=COSTS)
    monitor.update(y, p, period=np.arange(302))
    monitor.close()
    monitor = Monitor.from_state(json.loads(as_text(monitor)))
    summary = monitor.summary()
    assert (summary.last.name, summary.last.cases) == ("301", 1)
    assert summary.last.paid == pytest.approx(expected_search_cost(y[-1:], p[-1:], typical_costs=COSTS))
    assert summary.last.promised == summary.predicted == pytest.approx(search_entropy(p[-1:], typical_costs=COSTS))


@pytest.mark.parametrize("prior", [Beta(1.0), Gamma(2.0)], ids=["compiled", "reference"])
def test_forecasts_that_nearly_sum_to_one_promise_what_they_pay(prior):
    """A uniform forecast written .3333 costs the same whatever the truth is: there is nothing to find."""
    p = np.full((20_000, 3), 0.3333)
    monitor = Monitor(prior=prior)
    monitor.update(np.arange(20_000) % 3, p)
    summary = monitor.summary()
    assert summary.overpaid.mean == pytest.approx(0.0, abs=1e-12)
    assert not summary.alarmed
    x, low, high = read_rows(read_probabilities(p[:5]), prior).overpaid(np.zeros(5, dtype=np.intp))
    assert ((low <= 0) & (high >= 0) & (low <= x) & (x <= high)).all()


def test_rows_are_taken_in_the_order_of_their_periods():
    y, p = cases(30)
    weeks = np.array([f"week {1 + i // 3}" for i in range(30)])
    order = np.random.default_rng(3).permutation(10)
    shuffled = np.concatenate([np.arange(3 * k, 3 * k + 3) for k in order])
    one, other = Monitor(), Monitor()
    one.update(y, p, period=weeks)
    other.update(y[shuffled], p[shuffled], period=weeks[shuffled])
    assert as_text(one) == as_text(other)
    assert one.paid.history.all[-1].last == "week 9"  # week 10 is open


def test_ids_seen_before_are_skipped():
    y, p = cases(20)
    once, twice = Monitor(), Monitor()
    once.update(y, p, ids=range(20))
    twice.update(y[:12], p[:12], ids=range(12))
    taken = twice.update(y, p, ids=range(20))
    assert (taken.counted, taken.skipped) == (8, 12)
    assert as_text(once) == as_text(twice)


def test_labels_come_later_and_out_of_order():
    y, p = cases(40)
    ids, weeks = np.arange(40), np.repeat(["week 1", "week 2"], 20)
    late, order = Monitor(typical_costs=COSTS), np.random.default_rng(0).permutation(20)
    assert late.update(None, p, ids=ids, period=weeks).waiting == 40
    assert late.summary().overpaid is None
    late = Monitor.from_state(json.loads(as_text(late)))
    for week in (0, 1):
        rows = 20 * week + order
        taken = late.label(ids[rows], y[rows])
        assert taken.counted == 20
    assert late.label([3, "nobody"], [0, 0]) == type(taken)(skipped=1, unknown=1)
    late.close()
    at_once = Monitor(typical_costs=COSTS)
    at_once.update(y, p, ids=ids, period=weeks)
    at_once.close()
    assert len(late.waiting) == 0
    assert late.summary().increments == 2
    assert late.summary().overpaid.mean == pytest.approx(at_once.summary().overpaid.mean)
    assert late.promised.state() == at_once.promised.state()


def test_missing_labels_may_make_floats_of_the_others():
    y, p = cases(6)
    monitor = Monitor()
    taken = monitor.update(np.where(np.arange(6) == 2, np.nan, y), p, ids=range(6))
    assert (taken.counted, taken.waiting) == (5, 1)
    with pytest.raises(InputError, match="y_true"):
        Monitor().update([0.5, np.nan, 1, 1, 2, 0], p, ids=range(6))


def test_a_dearer_challenger_costs_more_in_words():
    y, p = cases(4000)
    monitor = Monitor(typical_costs=COSTS)
    monitor.update(y, p, challenger=np.full_like(p, 1 / 3))
    line = sentences(monitor.summary(), "USD", "Flat")[2]
    assert line.startswith("Challenger Flat: costs $")
    assert " more per case (" in line
    assert "-" not in line


def test_a_row_with_its_label_finds_the_forecast_that_waited():
    """The forecast that was made first counts, not one that comes with the label."""
    y, p = cases(10)
    monitor = Monitor()
    labels = [None] * 5 + y[5:].tolist()
    assert monitor.update(labels, p, ids=range(10)).waiting == 5
    assert monitor.update(y, p[::-1], ids=range(10)).counted == 5
    paid = expected_search_cost(y, p)
    assert sum(point.totals[0] + point.totals[3] for point in monitor.paid.history.all) / 10 == pytest.approx(paid)


def test_late_rows_are_left_out_of_everything_but_the_count():
    """What they share with their period would make later increments depend on it."""
    y, p = cases(30)
    late, punctual = Monitor(), Monitor()
    for monitor in (late, punctual):
        monitor.update(y[:10], p[:10], ids=range(10), period="week 1")
        monitor.close()
    late.update(y[10:20], p[10:20], ids=range(10, 20), period="week 1")
    assert late.update(y[10:20], p[10:20], ids=range(10, 20), period="week 1").skipped == 10
    for monitor in (late, punctual):
        monitor.update(y[20:], p[20:], ids=range(20, 30), period="week 2")
        monitor.close()
    summary = late.summary()
    assert (summary.increments, summary.last.cases, summary.late) == (2, 10, 10)
    assert late.paid.bets.state() == punctual.paid.bets.state()
    assert late.paid.overpaid.state() == punctual.paid.overpaid.state()
    assert late.promised.ranks.state() == punctual.promised.ranks.state()


def test_labels_that_trickle_in_raise_no_false_alarms():
    """Weeks whose 8 cases all turn out alike, labelled two at a time over four runs."""
    alarms = 0
    for seed in range(20):
        y, p = cases(60, seed)
        monitor = Monitor(typical_costs=COSTS)
        for week in range(60):
            ids = [f"{week}/{i}" for i in range(8)]
            monitor.update(None, np.repeat(p[week : week + 1], 8, axis=0), ids=ids, period=week)
            for before in range(min(4, week + 1)):
                chosen = [f"{week - before}/{2 * before + i}" for i in range(2)]
                monitor.label(chosen, np.repeat(y[week - before], 2))
        alarms += monitor.summary().alarm is not None
    assert alarms <= 4  # 1 is expected at most; more than 4 come with probability 0.003


def test_one_update_of_several_periods_does_not_depend_on_its_order():
    """Labels of forecasts that waited and new rows of the same weeks: no week closes before all of it is in."""
    y, p = cases(60)
    weeks, waits = np.repeat([1, 2, 3], 20), np.arange(60) % 2 == 0
    mixed, at_once = Monitor(typical_costs=COSTS), Monitor(typical_costs=COSTS)
    at_once.update(y, p, ids=range(60), period=weeks)
    first = np.flatnonzero(waits)
    mixed.update(None, p[first], ids=first, period=np.ones(30, dtype=int))
    mixed.update(y, p, ids=range(60), period=weeks)
    assert mixed.summary().late == 0
    together = Monitor(typical_costs=COSTS)
    together.update(None, p[first], ids=first, period=weeks[first])
    with together.together():
        rest = np.flatnonzero(~waits)
        together.update(y[rest], p[rest], ids=rest, period=weeks[rest])
        together.label(first, y[first])
    at_once.close()
    for monitor in (mixed, together):
        monitor.close()
        assert monitor.summary().increments == 3
        assert monitor.summary().overpaid.mean == pytest.approx(at_once.summary().overpaid.mean)


def test_an_overconfident_model_is_caught_and_dated():
    monitor = Monitor(typical_costs=COSTS)
    for week in range(60):
        y, p = cases(100, seed=week, power=1.0 if week < 30 else 4.0)
        monitor.update(y, p, period=f"week {week + 1}")
    summary = monitor.summary()
    assert summary.alarm.above
    assert 31 <= int(summary.alarm.period.split()[1]) <= 50
    assert 15 <= int(summary.change.began.split()[1]) <= 33
    assert summary.drift is not None  # its promises fell
    assert not summary.drift.above


def test_a_worse_challenger_is_told_apart():
    monitor = Monitor(typical_costs=COSTS)
    y, p = cases(4000)
    monitor.update(y, p, challenger=np.full_like(p, 1 / 3))
    saved = monitor.summary().saved
    assert saved.settled
    assert saved.low <= saved.mean <= saved.high < 0
    truth = expected_search_cost(y, p, typical_costs=COSTS) - expected_search_cost(
        y, np.full_like(p, 1 / 3), typical_costs=COSTS
    )
    assert saved.mean == pytest.approx(truth)


def test_promises_without_labels_alarm_when_they_drift():
    monitor, rng = Monitor(), np.random.default_rng(0)
    for week in range(80):
        p = rng.dirichlet(np.full(3, 1.0 if week < 40 else 8.0), 50)
        monitor.update(None, p, ids=[f"{week}/{i}" for i in range(50)], period=f"{week}")
    summary = monitor.summary()
    assert summary.drift.above
    assert 40 <= int(summary.drift.period) < 80
    assert summary.waiting == 80 * 50


@pytest.mark.parametrize("prior", [None, Beta(2.0), Fixed(), Gamma(1.5), LogNormal(0.5)])
def test_priors_survive_in_the_state(prior):
    y, p = cases(20)
    monitor = Monitor(prior=prior, typical_costs=COSTS)
    monitor.update(y, p)
    assert as_text(Monitor.from_state(json.loads(as_text(monitor)))) == as_text(monitor)


def test_a_prior_without_a_name_is_given_again():
    y, p = cases(20)
    prior = Empirical([[1.0, 2.0, 3.0], [2.0, 1.0, 3.0]])
    monitor = Monitor(prior=prior)
    monitor.update(y, p)
    state = json.loads(as_text(monitor))
    with pytest.raises(InputError, match="pass the prior"):
        Monitor.from_state(state)
    assert as_text(Monitor.from_state(state, prior=prior)) == as_text(monitor)
    with pytest.raises(InputError, match="begin a new state"):
        Monitor.from_state(state, prior=Gamma(2.0))


def test_names_of_classes_are_matched():
    import pandas as pd

    y, p = cases(20)
    frame = pd.DataFrame(p, columns=["a", "b", "c"])
    named = Monitor(labels=["a", "b", "c"], typical_costs={"c": 40.0, "a": 100.0, "b": 200.0})
    named.update(np.array(["a", "b", "c"])[y], frame[["b", "c", "a"]])
    plain = Monitor(typical_costs=COSTS)
    plain.update(y, p)
    assert named.paid.state() == plain.paid.state()
    again = Monitor.from_state(json.loads(as_text(named)))
    again.update(np.array(["a", "b", "c"])[y], frame)
    assert again.summary().increments == 40


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"level": 0.95}, "probability of a false alarm"),
        ({"level": 0.0}, "level"),
        ({"run_length": -1.0}, "run_length"),
        ({"lag": 0}, "lag"),
    ],
)
def test_settings_that_make_no_sense(change, message):
    with pytest.raises(InputError, match=message):
        Monitor(**change)


def test_mistakes_are_said():
    y, p = cases(4)
    monitor = Monitor()
    with pytest.raises(InputError, match="update"):
        monitor.summary()
    with pytest.raises(InputError, match="pass ids"):
        monitor.update([0, None, 1, 2], p)
    with pytest.raises(InputError, match="as is row 0"):
        monitor.update(y, p, ids=["a", "b", "a", "c"])
    with pytest.raises(InputError, match="period has 3 entries"):
        monitor.update(y, p, period=["w"] * 3)
    monitor.update(y, p, period="w1")
    with pytest.raises(InputError, match="always or never"):
        monitor.update(y, p)
    with pytest.raises(InputError, match="challenger is given now"):
        monitor.update(y, p, challenger=p, period="w1")
    with pytest.raises(InputError, match="y_proba row 1"):
        monitor.update(y, np.where(np.arange(4)[:, None] == 1, 0.7, p), period="w1")


def test_a_refused_batch_leaves_no_trace():
    y, p = cases(6)
    monitor = Monitor()
    monitor.update(None, p[:3], ids=range(3))
    before = as_text(monitor)
    bad = p.copy()
    bad[5] = 0.7
    for kwargs in ({}, {"challenger": p}, {"period": "w"}):
        with pytest.raises(InputError):
            monitor.update(y, bad, ids=range(6), **kwargs)
        assert as_text(monitor) == before


def test_a_refused_first_batch_leaves_no_trace():
    y, p = cases(4)
    monitor, bad = Monitor(), np.full((4, 3), 0.7)
    for kwargs in (
        {"y_proba": bad},
        {"y_proba": p, "ids": ["a", "a", "b", "c"]},
        {"y_proba": p, "challenger": bad},
    ):
        with pytest.raises(InputError):
            monitor.update(y, **kwargs)
    monitor.update(y, p, period="week 1")
    fresh = Monitor()
    fresh.update(y, p, period="week 1")
    assert as_text(monitor) == as_text(fresh)


def places(value, path=()):
    """The paths to all parts of plain data, of lists the first two."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def test_no_damage_to_a_state_is_more_than_a_sentence():
    y, p = cases(60)
    monitor = Monitor(typical_costs=COSTS, lag=2)
    labels = [None if i % 7 == 0 else int(k) for i, k in enumerate(y)]
    monitor.update(labels, p, challenger=p[::-1], ids=range(60), period=np.repeat(np.arange(6), 10))
    text, refused, rng = as_text(monitor), 0, np.random.default_rng(0)
    junk = [None, "x", -1, 0, 1e300, float("nan"), [], {}, True, 10**30, [[1]], -0.5, 2**63]
    for path in places(json.loads(text)):
        state = json.loads(text)
        part = state
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = junk[rng.integers(len(junk))]
        try:
            damaged = Monitor.from_state(state)
            damaged.update([0, 1], p[:2], challenger=p[2:4], ids=["q", "r"], period="9")
            damaged.close()
            damaged.summary()
            as_text(damaged)
        except InputError:
            refused += 1
    assert refused > 100


@pytest.mark.parametrize(
    "damage",
    [{"schema": "x"}, {"paid": {}}, {"seen": 3}, {"waiting": {"a": 1}}, {"base_costs": [1.0]}, {"lag": "x"}],
    ids=lambda damage: next(iter(damage)),
)
def test_a_damaged_state_is_refused(damage):
    y, p = cases(4)
    monitor = Monitor(typical_costs=COSTS)
    monitor.update(y, p, ids=range(4))
    with pytest.raises(InputError):
        Monitor.from_state(json.loads(as_text(monitor)) | damage)
