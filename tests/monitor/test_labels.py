"""Labels that come later, twice, late or a few at a time: what a monitor counts of them."""

import json

import numpy as np
import pandas as pd
import pytest
from monitored import as_text, cases
from refusals import refused

from pandora_regret import expected_search_cost
from pandora_regret.monitor import Monitor
from pandora_regret.monitor.words import sentences

COSTS = [100.0, 200.0, 40.0]


def reopened(monitor):
    return Monitor.from_state(json.loads(as_text(monitor)))


def overpaid_so_far(monitor):
    """The e-process alone: what bets were made, and how they ended."""
    return monitor.bets.overpaid.state()


def test_another_label_of_a_counted_case_is_said():
    y, p = cases(20)
    monitor = Monitor()
    monitor.update(y, p, ids=range(20))
    monitor = reopened(monitor)
    before, other = as_text(monitor), np.where(np.arange(20) < 3, (y + 1) % 3, y)
    taken = monitor.update(other, p, ids=range(20))
    assert (taken.skipped, taken.differing) == (20, 3)
    assert monitor.label([0, 10], other[[0, 10]]).differing == 1
    assert as_text(reopened(monitor)) == before


@pytest.mark.parametrize(("timed", "dependent"), [(True, True), (True, False), (False, False)])
def test_the_order_in_which_labels_come_changes_no_bet(timed, dependent):
    """All at once, or each week's labels two weeks later, shuffled, with the state stored in between."""
    y, p = cases(200, power=2.0)
    weeks, late = np.repeat(np.arange(10), 20), np.random.default_rng(0).random(200) < 0.5
    late[:20] = False  # the file of week 0 has all of its labels
    at_once, waiting = (Monitor(costs=COSTS, dependent=dependent) for _ in range(2))
    for week in range(10):
        rows = np.flatnonzero(weeks == week)
        time = {"time": f"week {week}"} if timed else {}
        at_once.update(y[rows], p[rows], ids=rows, **time)
        waiting = waiting if waiting.bets is None else reopened(waiting)
        with waiting.one_run():
            waiting.update([None if late[row] else y[row] for row in rows], p[rows], ids=rows, **time)
            before = np.random.default_rng(week).permutation(np.flatnonzero((weeks == week - 2) & late))
            waiting.label(before, y[before])
        assert waiting.summary().late == 0
    rest = np.flatnonzero(late & (weeks >= 8))
    waiting.label(rest, y[rest])
    for monitor in (at_once, waiting):
        monitor.close()
    assert waiting.queue.cases == []
    assert overpaid_so_far(waiting) == overpaid_so_far(at_once)
    assert waiting.bets.drift.state() == at_once.bets.drift.state()


def test_a_case_holds_up_those_behind_it_until_it_is_given_up():
    y, p = cases(100)
    monitor, without = Monitor(costs=COSTS), Monitor(costs=COSTS)
    for week in range(5):
        rows = np.arange(20 * week, 20 * week + 20)
        monitor.update([None if row == 7 else y[row] for row in rows], p[rows], ids=rows, time=f"week {week}")
        kept = rows[rows != 7]
        without.update(y[kept], p[kept], ids=kept, time=f"week {week}")
        summary = monitor.summary()
        assert summary.waiting == (week < 3)
        assert (summary.held > 0) == (week < 3)
    assert overpaid_so_far(monitor) == overpaid_so_far(without)
    assert monitor.label([7], [y[7]]).counted == 1
    assert overpaid_so_far(monitor) == overpaid_so_far(without)
    summary = monitor.summary()
    assert (summary.late, summary.late_share, summary.needed_wait) == (1, 0.01, 4)
    shown = "\n".join(sentences(summary, None))
    assert "1 label (1.0 %)" in shown
    assert "wait of 4 periods" in shown


@pytest.mark.parametrize(
    ("wait", "timed", "late"), [(3, False, 10), (30, False, 5), (45, False, 0), (1, True, 10), (2, True, 0)]
)
def test_how_long_to_wait(wait, timed, late):
    """In cases, or periods: labels of every second case come two weeks of 20 cases later."""
    y, p = cases(60)
    monitor = Monitor(wait=wait)
    for week in range(3):
        rows = np.arange(20 * week, 20 * week + 20)
        with monitor.one_run():
            about = {"time": f"week {week}"} if timed else {}
            monitor.update([None if row % 2 else y[row] for row in rows], p[rows], ids=rows, **about)
            if week == 2:
                monitor.label(np.arange(1, 20, 2), y[1:20:2])
    assert monitor.summary().late == late


def test_a_row_with_its_label_finds_the_forecast_that_waited():
    """The forecast that was made first counts, not one that comes with the label."""
    y, p = cases(10)
    monitor = Monitor()
    labels = [None] * 5 + y[5:].tolist()
    assert monitor.update(labels, p, ids=range(10)).waiting == 5
    assert monitor.update(y, p[::-1], ids=range(10)).counted == 5
    paid = expected_search_cost(y, p)
    assert sum(monitor.bets.book.history.points[-1].totals[:2]) / 10 == pytest.approx(paid)
    assert monitor.label([3, "nobody"], [y[3], 0]) == type(monitor.label([3], [y[3]]))(skipped=1, unknown=1)


@pytest.mark.parametrize("label", [0, None])
def test_ids_that_begin_anew_every_week_are_refused(label):
    """Labels of the second week would otherwise go to forecasts of the first."""
    _, p = cases(10)
    monitor = Monitor()
    monitor.update([label] * 10, p, ids=range(10), time="week 1")
    assert monitor.update([0] * 10, p, ids=range(10), time="week 1").unknown == 0
    with refused(argument="ids", row=0, value=0):
        monitor.update([0] * 10, p, ids=pd.Series(range(10), index=range(5, 15)), time="week 2")


def test_rows_of_a_period_that_was_bet_on_are_late():
    """What they share with their period would make later bets depend on it."""
    y, p = cases(30)
    late, punctual = Monitor(dependent=True), Monitor(dependent=True)
    for monitor in (late, punctual):
        monitor.update(y[:10], p[:10], ids=range(10), time="week 1")
        monitor.close()
    late.update(y[10:20], p[10:20], ids=range(10, 20), time="week 1")
    assert late.update(y[10:20], p[10:20], ids=range(10, 20), time="week 1").skipped == 10
    for monitor in (late, punctual):
        monitor.update(y[20:], p[20:], ids=range(20, 30), time="week 2")
        monitor.close()
    assert (late.summary().increments, late.summary().late) == (2, 10)
    assert overpaid_so_far(late) == overpaid_so_far(punctual)
    assert late.bets.ranks.state() == punctual.bets.ranks.state()


@pytest.mark.parametrize("dependent", [False, True])
def test_noticed_is_when_the_alarm_came(dependent):
    """Not the period of the cases that raised it, where these waited behind one without a label."""
    monitor, first = Monitor(costs=COSTS, dependent=dependent), None
    for week in range(1, 24):
        y, p = cases(100, seed=week, power=1.0 if week < 9 else 6.0)
        labels = [None if week % 4 == 1 and not row else y[row] for row in range(100)]
        monitor.update(labels, p, ids=[f"{week}/{row}" for row in range(100)], time=f"week {week}")
        if monitor.summary().alarmed and first is None:
            first = week
    assert monitor.summary().alarm.noticed == f"week {first}"


def test_files_of_one_run_do_not_wait_for_each_other():
    """Nor for a label that is missing behind them."""
    one_by_one, together = Monitor(costs=COSTS), Monitor(costs=COSTS)
    weeks = [(week, *cases(100, seed=week, power=6.0)) for week in range(1, 12)]
    with together.one_run():
        for monitor in (one_by_one, together):
            for week, y, p in weeks:
                labels = [None if week > 8 and not row else y[row] for row in range(100)]
                monitor.update(labels, p, ids=[f"{week}/{row}" for row in range(100)], time=f"week {week}")
    alarm = together.summary().alarm
    assert alarm == one_by_one.summary().alarm
    assert int(alarm.noticed.split()[1]) < 8


def test_what_was_read_before_is_taken_by_class_number():
    from pandora_regret.core.inputs import read_forecast

    proba = [[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]
    labels = ["cold", "flu", "mumps"]
    named = Monitor(costs=[20.0, 35.0, 5.0], labels=labels)
    named.update(["flu", "flu", None], proba, ids=["a", "b", "c"])
    named.label(["c"], ["mumps"])
    numbered = Monitor(costs=[20.0, 35.0, 5.0], labels=labels)
    forecast = read_forecast(["flu", "flu", "flu"], proba, labels=labels).check()
    forecast.truth[2] = -1
    counts = numbered.take_forecasts(forecast, ids=["a", "b", "c"])
    assert (counts.counted, counts.waiting) == (2, 1)
    assert numbered.take_labels(["c"], np.array([2])).counted == 1
    assert numbered.state() == named.state()
