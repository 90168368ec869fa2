"""A monitor: what it counts, in which order, and that nothing depends on how rows are handed in."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from monitored import as_text, cases

from pandora_regret import (
    Beta,
    Fixed,
    Gamma,
    InputError,
    LogNormal,
    expected_search_cost,
    search_entropy,
)
from pandora_regret.inputs import read_probabilities
from pandora_regret.monitor import Monitor
from pandora_regret.monitor.possible_costs import bounds, overpaid, possible_costs

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
    least, most = bounds(base, prior)
    for truth in range(3):
        y = np.full(4, truth)
        paid = expected_search_cost(y, p, prior=prior, costs=COSTS, per_instance=True)
        np.testing.assert_allclose(rows[:, truth], paid, rtol=1e-10)
        x, low, high = overpaid(rows, y)
        assert ((low <= x) & (x <= high)).all()
        np.testing.assert_allclose(x, paid - promised, atol=1e-8)
        assert (least * (1 - 1e-12) <= paid).all()
        assert (paid <= most * (1 + 1e-12)).all()


def test_summary_in_plain_numbers():
    y, p = cases(50)
    monitor = Monitor(costs=COSTS)
    monitor.update(y, p, period="week 1")
    so_far = monitor.summary()
    assert (so_far.increments, so_far.overpaid, so_far.last.complete) == (0, None, False)
    monitor.close()
    summary = monitor.summary()
    paid = expected_search_cost(y, p, costs=COSTS)
    promised = search_entropy(p, costs=COSTS)
    assert (summary.last.name, summary.last.cases, summary.last.complete) == ("week 1", 50, True)
    assert (so_far.last.paid, so_far.last.promised) == (summary.last.paid, summary.last.promised)
    assert summary.last.paid == pytest.approx(paid)
    assert summary.last.promised == summary.predicted == pytest.approx(promised)
    assert summary.overpaid.value == pytest.approx(paid - promised)
    assert summary.overpaid.low <= 0 <= summary.overpaid.high
    assert not summary.alarmed


@given(st.lists(st.integers(1, 9), max_size=5, unique=True), st.booleans())
@settings(deadline=None, max_examples=20)
def test_batches_cut_at_period_borders_change_nothing(cuts, closing):
    y, p = cases(100, power=1.5)
    q, ids, weeks = cases(100, seed=1)[1], [f"case {i}" for i in range(100)], np.repeat(np.arange(10), 10)
    whole, parts = Monitor(costs=COSTS, lag=2), None
    whole.update(y, p, challenger=q, ids=ids, period=weeks)
    whole.close()
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), 10], strict=True):
        part = slice(10 * start, 10 * end)
        monitor = Monitor(costs=COSTS, lag=2) if parts is None else Monitor.from_state(json.loads(parts))
        monitor.update(y[part], p[part], challenger=q[part], ids=ids[part], period=weeks[part])
        if closing or end == 10:
            monitor.close()
        parts = as_text(monitor)
    assert parts == as_text(whole)


def test_the_last_period_is_one_however_long_the_history_is():
    y, p = cases(302)
    monitor = Monitor(costs=COSTS)
    monitor.update(y, p, period=np.arange(302))
    monitor.close()
    monitor = Monitor.from_state(json.loads(as_text(monitor)))
    summary = monitor.summary()
    assert (summary.last.name, summary.last.cases) == ("301", 1)
    assert summary.last.paid == pytest.approx(expected_search_cost(y[-1:], p[-1:], costs=COSTS))
    assert summary.last.promised == summary.predicted == pytest.approx(search_entropy(p[-1:], costs=COSTS))


@pytest.mark.parametrize("prior", [Beta(1.0), Gamma(2.0)], ids=["beta", "gamma"])
def test_forecasts_that_nearly_sum_to_one_promise_what_they_pay(prior):
    """A uniform forecast written .3333 costs the same whatever the truth is: there is nothing to find."""
    p = np.full((20_000, 3), 0.3333)
    monitor = Monitor(prior=prior)
    monitor.update(np.arange(20_000) % 3, p)
    summary = monitor.summary()
    assert summary.overpaid.value == pytest.approx(0.0, abs=1e-12)
    assert not summary.alarmed
    x, low, high = overpaid(possible_costs(read_probabilities(p[:5]), prior), np.zeros(5, dtype=np.intp))
    assert ((low <= 0) & (high >= 0) & (low <= x) & (x <= high)).all()


def test_an_overconfident_model_is_caught_and_dated():
    monitor = Monitor(costs=COSTS)
    for week in range(60):
        y, p = cases(100, seed=week, power=1.0 if week < 30 else 4.0)
        monitor.update(y, p, period=f"week {week + 1}")
    summary = monitor.summary()
    assert summary.alarm.above
    assert 31 <= int(summary.alarm.period.split()[1]) <= 50
    assert 15 <= int(summary.change.began.split()[1]) <= 33
    assert summary.drift is not None  # its promises fell
    assert not summary.drift.above


def test_names_of_classes_are_matched():
    import pandas as pd

    y, p = cases(20)
    frame = pd.DataFrame(p, columns=["a", "b", "c"])
    named = Monitor(labels=["a", "b", "c"], costs={"c": 40.0, "a": 100.0, "b": 200.0})
    named.update(np.array(["a", "b", "c"])[y], frame[["b", "c", "a"]])
    plain = Monitor(costs=COSTS)
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
