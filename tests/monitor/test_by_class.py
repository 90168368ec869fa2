"""What each class cost and was promised: both add up, and the fault of a class shows where it is."""

import json

import numpy as np
import pytest

from pandora_regret import Monitor
from pandora_regret.monitor.streams import MOST_CLASSES
from pandora_regret.report.monitor import write_monitor_page

LABELS = ["flu", "covid", "cold"]
COSTS = [20.0, 35.0, 5.0]


def calibrated(rows, seed, n_classes=3):
    """Forecasts and truths drawn from them."""
    rng = np.random.default_rng(seed)
    forecasts = rng.dirichlet(np.ones(n_classes), rows)
    truth = (forecasts.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
    return truth, forecasts


def watched(weeks, rows=150, broken_from=None, **options):
    """A monitor of a model that takes covid for a cold from a week on."""
    monitor = Monitor(costs=COSTS, labels=LABELS, **options)
    for number in range(1, weeks + 1):
        truth, forecasts = calibrated(rows, number)
        if broken_from is not None and number >= broken_from:
            forecasts[:, 2] += 0.9 * forecasts[:, 1]
            forecasts[:, 1] *= 0.1
        labels = [LABELS[k] for k in truth]
        ids = [f"{number}-{row}" for row in range(rows)]
        monitor.update(labels, forecasts, ids=ids, time=f"week {number}")
    return monitor


@pytest.mark.parametrize("dependent", [False, True])
def test_classes_add_up_to_the_whole(dependent):
    monitor = watched(4, dependent=dependent)
    monitor.close()
    bets = monitor.bets
    costs = bets.costs_by_class(0)
    overpaid, promised = bets.book.history.points[-1].totals[:2]
    assert costs[:, 1].sum() == pytest.approx(promised / bets.n)
    assert (costs[:, 0] - costs[:, 1]).sum() == pytest.approx(overpaid / bets.n)


def test_they_are_about_the_time_since_costs_are_above_the_promise():
    summary = watched(12, broken_from=9).summary()
    assert summary.alarm is not None
    assert summary.since == "week 9"
    assert summary.by_class[0].name == "covid"
    assert sum(cost.beyond for cost in summary.by_class) == pytest.approx(summary.overpaid.value)
    assert summary.by_class[0].beyond > 0.9 * summary.overpaid.value


def test_of_a_calibrated_model_no_class_stands_out():
    for cost in watched(40).summary().by_class:
        assert abs(cost.beyond) < 0.05 * cost.promised


def test_a_state_keeps_them():
    monitor = watched(5, broken_from=3)
    again = Monitor.from_state(json.loads(json.dumps(monitor.state())))
    assert again.summary().by_class == monitor.summary().by_class


def test_a_class_that_comes_later_was_promised_nothing_before():
    monitor = watched(3)
    before = monitor.summary().by_class
    monitor.add_classes(["tls"], [30.0])
    after = {cost.name: cost for cost in monitor.summary().by_class}
    assert (after["tls"].paid, after["tls"].promised) == (0.0, 0.0)
    assert all(after[cost.name] == cost for cost in before)
    truth, forecasts = calibrated(200, 9, n_classes=4)
    monitor.update([monitor.labels[k] for k in truth], forecasts, ids=range(200), time="week 4")
    after = {cost.name: cost for cost in monitor.summary().by_class}
    assert after["tls"].paid > 0
    assert after["tls"].promised > 0


def test_of_many_classes_they_are_not_kept():
    monitor = Monitor(labels=[f"class {n}" for n in range(MOST_CLASSES + 1)])
    truth, forecasts = calibrated(50, 0, n_classes=MOST_CLASSES + 1)
    monitor.update([monitor.labels[k] for k in truth], forecasts)
    assert monitor.summary().by_class == ()
    assert monitor.bets.costs_by_class(0).shape == (0, 2)


def test_too_many_classes_end_them():
    monitor = Monitor(labels=[f"class {n}" for n in range(MOST_CLASSES)])
    forecasts = calibrated(60, 0, n_classes=MOST_CLASSES)
    names = [monitor.labels[k] for k in forecasts[0]]
    monitor.update([*names[:-1], None], forecasts[1], ids=range(60), time="week 1")
    monitor.update(names[:1], forecasts[1][:1], ids=["next"], time="week 2")
    monitor.add_classes(["new"])
    truth, forecasts = calibrated(60, 1, n_classes=MOST_CLASSES + 1)
    monitor.update([monitor.labels[k] for k in truth], forecasts, ids=range(100, 160), time="week 3")
    monitor.label([59], ["class 0"])
    assert monitor.bets.n == 121
    assert monitor.summary().by_class == ()


def test_the_page_lists_the_dearest_first(tmp_path):
    pytest.importorskip("jinja2")
    page = write_monitor_page(watched(12, broken_from=9), tmp_path / "page.html", unit="EUR")
    table = page.read_text(encoding="utf-8").partition('id="class-table"')[2].partition("</table>")[0]
    assert table.index("covid") < min(table.index("flu"), table.index("cold"))
