"""Labels that come later, twice, late or a few at a time: what a monitor counts of them."""

import json

import numpy as np
import pytest
from monitored import as_text, cases

from pandora_regret import expected_search_cost
from pandora_regret.monitor import Monitor

COSTS = [100.0, 200.0, 40.0]


def test_ids_seen_before_are_skipped():
    y, p = cases(20)
    once, twice = Monitor(), Monitor()
    once.update(y, p, ids=range(20))
    twice.update(y[:12], p[:12], ids=range(12))
    taken = twice.update(y, p, ids=range(20))
    assert (taken.counted, taken.skipped) == (8, 12)
    assert as_text(once) == as_text(twice)


def test_another_label_of_a_counted_case_is_said():
    y, p = cases(20)
    monitor = Monitor()
    monitor.update(y, p, ids=range(20))
    monitor = Monitor.from_state(json.loads(as_text(monitor)))
    before, other = as_text(monitor), np.where(np.arange(20) < 3, (y + 1) % 3, y)
    taken = monitor.update(other, p, ids=range(20))
    assert (taken.skipped, taken.differing) == (20, 3)
    assert monitor.label([0, 10], other[[0, 10]]).differing == 1
    assert as_text(monitor) == before


def test_labels_come_later_and_out_of_order():
    y, p = cases(40)
    ids, weeks = np.arange(40), np.repeat(["week 1", "week 2"], 20)
    late, order = Monitor(costs=COSTS), np.random.default_rng(0).permutation(20)
    assert late.update(None, p, ids=ids, period=weeks).waiting == 40
    assert late.summary().overpaid is None
    late = Monitor.from_state(json.loads(as_text(late)))
    for week in (0, 1):
        rows = 20 * week + order
        taken = late.label(ids[rows], y[rows])
        assert taken.counted == 20
    assert late.label([3, "nobody"], [0, 0]) == type(taken)(skipped=1, unknown=1)
    late.close()
    at_once = Monitor(costs=COSTS)
    at_once.update(y, p, ids=ids, period=weeks)
    at_once.close()
    assert len(late.waiting) == 0
    assert late.summary().increments == 2
    assert late.summary().overpaid.value == pytest.approx(at_once.summary().overpaid.value)
    assert late.promised.state() == at_once.promised.state()


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


def test_one_update_of_several_periods_does_not_depend_on_its_order():
    """Labels of forecasts that waited and new rows of the same weeks: no week closes before all of it is in."""
    y, p = cases(60)
    weeks, waits = np.repeat([1, 2, 3], 20), np.arange(60) % 2 == 0
    mixed, at_once = Monitor(costs=COSTS), Monitor(costs=COSTS)
    at_once.update(y, p, ids=range(60), period=weeks)
    first = np.flatnonzero(waits)
    mixed.update(None, p[first], ids=first, period=np.ones(30, dtype=int))
    mixed.update(y, p, ids=range(60), period=weeks)
    assert mixed.summary().late == 0
    together = Monitor(costs=COSTS)
    together.update(None, p[first], ids=first, period=weeks[first])
    with together.together():
        rest = np.flatnonzero(~waits)
        together.update(y[rest], p[rest], ids=rest, period=weeks[rest])
        together.label(first, y[first])
    at_once.close()
    for monitor in (mixed, together):
        monitor.close()
        assert monitor.summary().increments == 3
        assert monitor.summary().overpaid.value == pytest.approx(at_once.summary().overpaid.value)
