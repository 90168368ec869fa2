"""However the rows of a period are cut into files, and in whichever order they come, a monitor says the same."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from monitored import as_text, cases

from pandora_regret.monitor import Monitor

COSTS = [100.0, 200.0, 40.0]
WEEKS, SIZE = 8, 30
N = WEEKS * SIZE
WEEK_OF_ROW = np.repeat(np.arange(WEEKS), SIZE)


def season(power, few_forecasts):
    """Labels and forecasts of a model and a challenger; good until week 3, then too sure."""
    good, bad = cases(3 * SIZE, 1), cases(N - 3 * SIZE, 2, power)
    y, p = (np.concatenate(parts) for parts in zip(good, bad, strict=True))
    challenger = cases(N, 3)[1]
    if few_forecasts:  # so that rows without ids are alike, with different truths
        p = np.eye(3)[p.argmax(axis=1)] * 0.7 + 0.1
        challenger = np.full((N, 3), 1 / 3)
    return y, p, challenger


def numbers_of(monitor):
    """All that a summary says, and the evidence of every process."""
    paid = monitor.bets
    evidence = [process.evidence for process in (paid.overpaid, paid.saved, paid.drift)]
    return {"summary": asdict(monitor.summary()), "evidence": evidence}


def assert_same(one, other, path=""):
    """Plain values that are equal, numbers to 1e-12."""
    if isinstance(one, dict):
        assert one.keys() == other.keys(), path
        for key in one:
            assert_same(one[key], other[key], f"{path}.{key}")
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other), path
        for place, pair in enumerate(zip(one, other, strict=True)):
            assert_same(*pair, f"{path}[{place}]")
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-12, abs=1e-12), path
    else:
        assert one == other, path


def watch(files_of_week, data, *, has_ids, late, dependent, stores):
    """A monitor that sees the weeks' files, and late labels two weeks later; what it says after each week."""
    y, p, challenger = data
    monitor = Monitor(costs=COSTS, dependent=dependent)
    said = []
    for week, files in enumerate(files_of_week):
        for rows in files:
            with monitor.one_run():
                labels = [None if late[row] else y[row] for row in rows]
                ids = {"ids": rows} if has_ids else {}
                monitor.update(labels, p[rows], challenger=challenger[rows], time=f"week {week}", **ids)
                due = np.flatnonzero(late & (week - 2 == WEEK_OF_ROW))
                if rows is files[-1] and len(due):
                    monitor.label(due, y[due])
            if stores:
                monitor = Monitor.from_state(json.loads(as_text(monitor)))
        said.append(numbers_of(monitor))
    monitor.close()
    return [*said, numbers_of(monitor)]


@given(
    seed=st.integers(0, 10**6),
    most_files=st.integers(2, 5),
    has_ids=st.booleans(),
    share_late=st.sampled_from([0.0, 0.1]),
    dependent=st.booleans(),
    stores=st.booleans(),
    power=st.sampled_from([1.0, 5.0]),
    few_forecasts=st.booleans(),
)
@example(0, 2, True, 0.1, False, False, 5.0, False)
@example(1, 3, False, 0.0, False, True, 5.0, True)
@settings(deadline=None, max_examples=25)
def test_cuts_within_periods_change_nothing(
    seed, most_files, has_ids, share_late, dependent, stores, power, few_forecasts
):
    """With and without ids, with late labels, with the state written between files; looked at after every week."""
    rng = np.random.default_rng(seed)
    data = season(power, few_forecasts)
    late = np.zeros(N, bool) if not has_ids else rng.random(N) < share_late
    whole, cut = [], []
    for week in range(WEEKS):
        rows = np.flatnonzero(week == WEEK_OF_ROW)
        whole.append([rows])
        places = np.sort(rng.integers(1, SIZE, rng.integers(1, most_files)))
        cut.append([part for part in np.split(rng.permutation(rows), places) if len(part)])
    how = {"has_ids": has_ids, "late": late, "dependent": dependent, "stores": stores}
    assert_same(watch(whole, data, **how), watch(cut, data, **how))


def test_all_periods_in_one_run_are_those_that_come_one_by_one():
    data = season(5.0, False)
    y, p, challenger = data
    weeks = [[np.flatnonzero(week == WEEK_OF_ROW)] for week in range(WEEKS)]
    none = np.zeros(N, bool)
    one_by_one = watch(weeks, data, has_ids=True, late=none, dependent=False, stores=False)[-1]
    assert one_by_one["summary"]["alarm"] is not None
    order = np.random.default_rng(0).permutation(N)
    at_once = Monitor(costs=COSTS)
    time = [f"week {week}" for week in WEEK_OF_ROW[order]]
    at_once.update(y[order], p[order], challenger=challenger[order], ids=order, time=time)
    at_once.close()
    assert_same(numbers_of(at_once), one_by_one)


def test_an_open_period_counts_once_its_labels_are_there():
    """For now; for good when a later one begins, in the order of ids, also of those that came in between."""
    y, p, _ = season(1.0, False)
    rows = np.arange(SIZE)
    monitor = Monitor(costs=COSTS)
    monitor.update([None, *y[1:10]], p[:10], ids=rows[:10], time="week 0")
    summary = monitor.summary()
    assert (summary.increments, summary.waiting, summary.held) == (0, 1, 9)
    monitor.label([0], [y[0]])
    summary = monitor.summary()
    assert (summary.increments, summary.waiting, summary.held) == (10, 0, 0)
    monitor.update(y[10:SIZE], p[10:SIZE], ids=rows[10:], time="week 0")
    assert monitor.summary().increments == SIZE
    assert monitor.state()["paid"]["overpaid"]["n"] == 0
    monitor.update(y[SIZE:40], p[SIZE:40], ids=range(SIZE, 40), time="week 1")
    assert monitor.state()["paid"]["overpaid"]["n"] == SIZE
    assert monitor.summary().increments == 40


def test_rows_of_a_period_that_had_its_turn_count_when_they_come():
    y, p, _ = season(1.0, False)
    monitor = Monitor(costs=COSTS)
    for week, rows in ((0, range(20)), (1, range(30, 50)), (0, range(20, 30))):
        monitor.update(y[rows], p[rows], ids=rows, time=f"week {week}")
    summary = monitor.summary()
    assert (summary.increments, summary.late, summary.first, summary.last.name) == (50, 0, "week 0", "week 1")


def test_a_label_is_given_up_after_files_with_later_periods_alone():
    """Not sooner because the periods before come in several files."""
    y, p, _ = season(1.0, False)
    monitor = Monitor(costs=COSTS)
    monitor.update([None, *y[1:10]], p[:10], ids=range(10), time="week 0")
    for start in range(10, 30, 5):
        rows = range(start, start + 5)
        monitor.update(y[rows], p[rows], ids=rows, time="week 0")
    for week, waiting in ((1, 1), (2, 1), (3, 0)):
        rows = np.flatnonzero(week == WEEK_OF_ROW)
        for half in np.split(rows, 2):
            monitor.update(y[half], p[half], ids=half, time=f"week {week}")
        assert monitor.summary().waiting == waiting
