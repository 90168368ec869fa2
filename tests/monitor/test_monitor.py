"""A monitor: what it counts, in which order, and that nothing depends on how rows are handed in."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from monitored import as_text, cases
from refusals import refused

from pandora_regret import (
    Beta,
    Fixed,
    Gamma,
    InputError,
    LogNormal,
    Workup,
    expected_search_cost,
    search_entropy,
    workup_cost,
)
from pandora_regret.core.inputs import read_probabilities
from pandora_regret.inference.estimate import Estimate
from pandora_regret.monitor import Monitor
from pandora_regret.monitor.streams import History, Point, overpaid, possible_costs
from pandora_regret.monitor.summary import Alarm
from pandora_regret.monitor.words import sentences
from pandora_regret.workup import workup_entropy

COSTS = [100.0, 200.0, 40.0]


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
    rows = possible_costs(read_probabilities(p).with_costs(base), prior)
    promised = search_entropy(p, prior=prior, costs=COSTS, per_instance=True)
    np.testing.assert_allclose(rows[:, -1], promised, rtol=1e-10)
    for truth in range(3):
        y = np.full(4, truth)
        paid = expected_search_cost(y, p, prior=prior, costs=COSTS, per_instance=True)
        np.testing.assert_allclose(rows[:, truth], paid, rtol=1e-10)
        x, low, high = overpaid(rows, y)
        assert ((low <= x) & (x <= high)).all()
        np.testing.assert_allclose(x, paid - promised, atol=1e-8)


@given(st.lists(st.integers(1, 9), max_size=5, unique=True), st.booleans(), st.booleans(), st.booleans())
@settings(deadline=None, max_examples=20)
def test_batches_cut_at_borders_of_periods_change_nothing(cuts, closing, dependent, shuffled):
    y, p = cases(100, power=1.5)
    q, ids, weeks = (
        cases(100, seed=1)[1],
        np.array([f"case {i}" for i in range(100)]),
        np.repeat(np.arange(10), 10),
    )
    how = {"costs": COSTS, "dependent": dependent}
    whole, parts = Monitor(**how), None
    order = np.random.default_rng(0).permutation(100) if shuffled else np.arange(100)
    whole.update(y[order], p[order], challenger=q[order], ids=ids[order], time=weeks[order])
    whole.close()
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), 10], strict=True):
        part = slice(10 * start, 10 * end)
        monitor = Monitor(**how) if parts is None else Monitor.from_state(json.loads(parts))
        monitor.update(y[part], p[part], challenger=q[part], ids=ids[part], time=weeks[part])
        if closing or end == 10:
            monitor.close()
        parts = as_text(monitor)
    assert essence(json.loads(parts)) == essence(json.loads(as_text(whole)))


def essence(state):
    """A state, less what the newest sums were added up from."""
    return {name: part for name, part in state.items() if name not in ("newest", "check")}


def test_rows_that_wait_to_be_counted_are_the_callers_no_more():
    """One case at a time from one buffer, now and then looked at, in two precisions."""
    y, p = cases(600, power=1.5)
    whole, single, row = Monitor(costs=COSTS), Monitor(costs=COSTS), np.empty((1, 3))
    whole.update(y[:300], p[:300])
    whole.update(y[300:], p[300:].astype(np.float32))
    for i in range(600):
        row[:] = p[i]
        single.update(y[i : i + 1], row if i < 300 else row.astype(np.float32))
        row[:] = 0.0
        if i % 101 == 0:
            assert single.summary().increments == i + 1
    assert essence(single.state()) == essence(whole.state())
    assert single.summary().last.cases == 1


def test_dependent_cases_are_one_bet_per_period():
    """The mean of a period is the increment: a period of cases that are all alike counts once."""
    y, p = cases(40, power=1.5)
    alone, alike = (Monitor(costs=COSTS, dependent=True) for _ in range(2))
    alone.update(y, p, time=np.arange(40))
    alike.update(np.repeat(y, 9), np.repeat(p, 9, axis=0), time=np.repeat(np.arange(40), 9))
    for monitor in (alone, alike):
        monitor.close()
    one, other = alone.summary(), alike.summary()
    assert one.increments == other.increments == 40
    assert (one.evidence, one.overpaid.low) == pytest.approx((other.evidence, other.overpaid.low))
    with pytest.raises(InputError, match="time"):
        alone.update(y, p)


def test_a_long_history_keeps_its_names():
    y, p = cases(1204)
    monitor = Monitor(costs=COSTS)
    monitor.update(y, p, time=np.arange(1204) // 2)
    monitor = Monitor.from_state(json.loads(as_text(monitor)))
    history, summary = monitor.bets.book.history, monitor.summary()
    assert (summary.last.name, summary.last.cases, summary.first) == ("601", 2, "0 to 3"[:1])
    assert summary.last.paid == pytest.approx(expected_search_cost(y[-2:], p[-2:], costs=COSTS))
    assert history.stride == 4
    assert history.name_of(808) == "404 to 407"
    assert history.points[-1].cases == 1204
    assert all(len(point.after) == 4 for point in history.points[:-1])


@pytest.mark.parametrize("prior", [Beta(1.0), Gamma(2.0)], ids=["beta", "gamma"])
def test_forecasts_that_nearly_sum_to_one_promise_what_they_pay(prior):
    """A uniform forecast written .3333 costs the same whatever the truth is: there is nothing to find."""
    p = np.full((20_000, 3), 0.3333)
    monitor = Monitor(prior=prior)
    monitor.update(np.arange(20_000) % 3, p)
    summary = monitor.summary()
    assert summary.overpaid.value == pytest.approx(0.0, abs=1e-12)
    assert not summary.alarmed


def test_an_overconfident_model_is_caught_and_dated():
    monitor = Monitor(costs=COSTS)
    for week in range(1, 25):
        y, p = cases(100, seed=week, power=1.0 if week < 15 else 4.0)
        monitor.update(y, p, time=f"week {week}")
    summary = monitor.summary()
    assert summary.alarm.above
    assert summary.alarm.stands
    assert 15 <= int(summary.alarm.noticed.split()[1]) <= 19
    assert 13 <= int(summary.since.split()[1]) <= 16
    assert summary.overpaid.low > 0
    assert summary.drift is not None  # its promises fell
    assert not summary.drift.above
    [headline, *_] = sentences(summary, "USD")
    assert headline.startswith(f"ALARM: since about {summary.since}")
    assert headline.endswith(f" {summary.alarm.noticed}.")


def test_a_model_that_keeps_its_promises_again_is_back_inside():
    monitor = Monitor(costs=COSTS)
    for week in range(1, 80):
        y, p = cases(100, seed=week, power=5.0 if 5 <= week < 9 else 1.0)
        monitor.update(y, p, time=f"week {week}")
        [headline, *_] = sentences(monitor.summary(), None)
        alarm, overpaid = monitor.summary().alarm, monitor.summary().overpaid
        assert headline.startswith("ALARM") == (alarm is not None)
        if alarm is not None:
            assert alarm.stands == (overpaid.low > 0)
    assert alarm is not None
    assert not alarm.stands
    assert headline.startswith(f"ALARM in {alarm.noticed}")
    assert "back inside" in headline


def test_a_difference_that_is_over_has_an_end():
    monitor = Monitor(costs=COSTS)
    for week in range(1, 21):
        y, p = cases(100, seed=week, power=5.0 if 5 <= week < 9 else 1.0)
        monitor.update(y, p, time=f"week {week}")
    summary = monitor.summary()
    assert summary.alarm.stands
    assert (summary.likely, summary.until) == ("week 5", "week 8")
    assert "week 5 to week 8" in sentences(summary, None)[0]
    one_week = sentences(replace(summary, likely="week 5", until="week 5"), None)[0]
    assert "most likely in week 5 alone" in one_week


@pytest.mark.parametrize(("afterwards", "last"), [(4, None), (6, 10)])  # likelier by exp(2.9) and by exp(3.6)
def test_a_difference_is_over_where_that_is_twenty_times_as_likely(afterwards, last):
    """Twelve increments of mean 1 and then some of mean 0, which all vary as much."""
    increments = np.concatenate([np.tile([1.8, 0.2], 6), np.tile([-0.8, 0.8], afterwards)])
    points = [
        Point(None, None, units=n, increments=n, cases=n, totals=(total, 0.0))
        for n, total in enumerate(increments.cumsum().tolist(), start=1)
    ]
    assert History(points=points).stretch(side=1, noticed=3) == (0, last)


@pytest.mark.parametrize(("dependent", "every", "largest_bet"), [(False, 32, 1.0), (True, 1, 4.0)])
def test_periods_are_bet_on_more_boldly_than_cases_and_a_change_may_begin_with_each(dependent, every, largest_bet):
    monitor = Monitor(costs=COSTS, dependent=dependent)
    monitor.update(*cases(4), time="week 1")
    assert monitor.bets.overpaid.every == every
    assert monitor.bets.overpaid.fractions.max() == largest_bet


def test_a_model_that_costs_less_after_an_alarm_is_not_back_inside():
    monitor = Monitor(costs=COSTS)
    monitor.update(*cases(100), time="week 1")
    below, alarm = Estimate(-0.37, -0.57, -0.16), Alarm("week 3", above=True, stands=False)
    summary = replace(monitor.summary(), overpaid=below, since="week 9", alarm=alarm)
    [headline, *_] = sentences(summary, None)
    assert headline.startswith("ALARM in week 3")
    assert "back inside" not in headline
    assert headline.index("week 9") < headline.index("0.37 typical test prices")
    assert "(0.16 to 0.57)" in headline


def test_costing_less_is_a_note_unless_both_sides_alarm():
    """Forecasts that are too cautious."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(3, 0.3), 1500)
    y, flat = (rng.random((1500, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(max=2), 0.5 * p + 0.5 / 3
    one, both = Monitor(costs=COSTS), Monitor(costs=COSTS, two_sided=True)
    for monitor in (one, both):
        monitor.update(y, flat)
    assert (one.summary().alarmed, both.summary().alarmed) == (False, True)
    assert not one.summary().note.above
    assert one.summary().overpaid.high < 0
    [headline, *_] = sentences(one.summary(), None)
    assert headline.startswith("No alarm.")
    assert " less " in headline
    assert sentences(both.summary(), None)[0].startswith("ALARM: ")


def test_a_false_alarm_has_a_probability_of_5_percent_unless_said_otherwise():
    monitor = Monitor(costs=COSTS)
    monitor.update(*cases(4))
    assert monitor.level == 0.05
    assert monitor.bets.overpaid.level == 0.05


def test_names_of_classes_are_matched():
    import pandas as pd

    y, p = cases(20)
    frame = pd.DataFrame(p, columns=["a", "b", "c"])
    named = Monitor(labels=["a", "b", "c"], costs={"c": 40.0, "a": 100.0, "b": 200.0})
    named.update(np.array(["a", "b", "c"])[y], frame[["b", "c", "a"]])
    plain = Monitor(costs=COSTS)
    plain.update(y, p)
    assert named.bets.state() == plain.bets.state()
    again = Monitor.from_state(json.loads(as_text(named)))
    again.update(np.array(["a", "b", "c"])[y], frame)
    assert again.summary().increments == 40


def test_mistakes_are_said():
    for change, message in (
        ({"level": 0.95}, "probability of a false alarm"),
        ({"level": 0.0}, "level"),
        ({"wait": 0}, "wait"),
    ):
        with pytest.raises(InputError, match=message):
            Monitor(**change)
    y, p = cases(4)
    monitor = Monitor()
    with pytest.raises(InputError, match="update"):
        monitor.summary()
    with pytest.raises(InputError, match="pass ids"):
        monitor.update([0, None, 1, 2], p)
    with pytest.raises(InputError, match="as is row 0"):
        monitor.update(y, p, ids=["a", "b", "a", "c"])
    with pytest.raises(InputError, match="time has 3 entries"):
        monitor.update(y, p, time=["w"] * 3)
    monitor.update(y, p, time="w1")
    with pytest.raises(InputError, match="always or never"):
        monitor.update(y, p)
    with refused(argument="challenger"):
        monitor.update(y, p, challenger=p, time="w1")
    with pytest.raises(InputError, match="y_proba row 1"):
        monitor.update(y, np.where(np.arange(4)[:, None] == 1, 0.7, p), time="w1")


def test_a_refused_batch_leaves_no_trace():
    y, p = cases(6)
    monitor = Monitor()
    monitor.update(None, p[:3], ids=range(3))
    before = as_text(monitor)
    bad = p.copy()
    bad[5] = 0.7
    for kwargs in ({}, {"challenger": p}, {"time": "w"}):
        with pytest.raises(InputError):
            monitor.update(y, bad, ids=range(6), **kwargs)
        assert as_text(monitor) == before


def test_a_work_up_is_watched_by_what_it_costs_and_promises():
    """As `workup_cost` and `workup_entropy` say, again after the state was written and read."""
    steps = {
        "look": {"cost": 3, "positive_for": ["a"], "sensitivity": 0.9, "specificity": 0.8},
        "panel": {"cost": 9, "tells_apart": "all"},
    }
    workup = Workup(["a", "b", "c"], steps, stops={"give up": {"loss": {"a": 40, "b": 5, "c": 8}}}, unit="minutes")
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 80)
    truth = [rng.choice(["a", "b", "c"], p=row) for row in p]
    monitor = Monitor(labels=["a", "b", "c"], workup=workup)
    monitor.update(truth[:40], p[:40], time="week 1")
    again = Monitor.from_state(json.loads(json.dumps(monitor.state())))
    again.update(truth[40:], p[40:], time="week 2")
    last = again.summary().last
    assert again.workup == workup
    assert last.paid == pytest.approx(workup_cost(truth[40:], p[40:], workup))
    assert last.promised == pytest.approx(workup_entropy(p[40:], workup))
