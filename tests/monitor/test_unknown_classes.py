"""Cases of a class that no forecast has, models that have it later, and alarms that somebody looked into."""

import json

import numpy as np
import pytest

from pandora_regret import InputError, Monitor

LABELS = ["flu", "covid", "cold"]
COSTS = [20.0, 35.0, 5.0]
WHOLE_SEARCH = 60.0


def monitor_of(**options):
    return Monitor(costs=COSTS, labels=LABELS, **options)


def week(monitor, name, truth, skill=0.8, ids=True, columns=3):
    rest = (1 - skill) / (columns - 1)
    forecasts = np.full((len(truth), columns), rest)
    for row, label in enumerate(truth):
        column = monitor.labels.index(label) if label in monitor.labels else 0
        forecasts[row, column] = skill
    numbers = [f"{name}-{row}" for row in range(len(truth))] if ids else None
    return monitor.update(truth, forecasts, ids=numbers, time=name)


def test_cases_of_an_unknown_class_are_counted_apart_and_charged_the_whole_search():
    monitor = monitor_of(miss=40.0)
    week(monitor, "week 1", ["flu", "cold"] * 10)
    week(monitor, "week 2", ["flu", "tls", "cold", "tls"])
    summary = monitor.summary()
    (unknown,) = summary.unknown
    assert (unknown.name, unknown.cases, unknown.first, unknown.alarms) == ("tls", 2, "week 2", True)
    assert summary.last.unknown == {"tls": 2}
    assert summary.last.cases == 4
    usual = monitor_of()
    week(usual, "week 1", ["flu", "cold"])
    paid = usual.summary().last.paid
    assert summary.last.paid == pytest.approx((2 * paid + 2 * (WHOLE_SEARCH + 40)) / 4)


def test_they_are_no_bets():
    with_them = monitor_of()
    without = monitor_of()
    for monitor, extra in ((with_them, ["tls"] * 5), (without, [])):
        for number in range(1, 5):
            week(monitor, f"week {number}", ["flu", "cold", "covid", *extra])
        monitor.close()
    assert with_them.bets.n == without.bets.n == 12
    assert with_them.bets.promised == pytest.approx(without.bets.promised)


@pytest.mark.parametrize(("cases", "alarmed"), [(1, False), (2, True)])
def test_one_case_may_be_a_typo_and_two_are_an_alarm(cases, alarmed):
    monitor = monitor_of()
    week(monitor, "week 1", ["flu", "cold", *["tls"] * cases])
    assert monitor.summary().alarmed is alarmed
    assert monitor.summary().alarm is None


def test_late_labels_of_an_unknown_class_find_their_forecasts():
    monitor = monitor_of()
    week(monitor, "week 1", ["flu", None, None])
    counts = monitor.label(["week 1-1", "week 1-2"], ["tls", "cold"])
    assert counts.counted == 2
    assert monitor.summary().waiting == 0
    assert monitor.summary().unknown[0].cases == 1
    again = monitor.label(["week 1-1"], ["tls"])
    assert (again.skipped, again.differing) == (1, 0)


def test_spellings_of_an_unknown_class_are_one_class():
    monitor = monitor_of()
    week(monitor, "week 1", ["flu", "tls", "TLS"])
    assert [(known.name, known.cases) for known in monitor.summary().unknown] == [("TLS", 2)]


def test_labels_that_come_after_an_acknowledgement_are_evidence_of_the_past():
    monitor = monitor_of()
    broken(monitor, 3, 1)
    wrong = np.full((60, 3), 0.05)
    wrong[:, 0] = 0.9
    monitor.update([None] * 60, wrong, ids=range(60), time="week 3")
    monitor.acknowledge("the columns were mixed up")
    monitor.label(range(60), ["covid"] * 60)
    week(monitor, "week 4", ["flu"])
    monitor.close()
    assert monitor.bets.n == 1
    assert not monitor.summary().alarmed


def test_names_that_no_column_has_need_columns_with_names():
    monitor = Monitor(costs=COSTS)
    with pytest.raises(InputError):
        monitor.update(["tls"], [[0.5, 0.3, 0.2]])


def test_a_model_that_has_the_class_goes_on_in_the_same_state():
    monitor = monitor_of()
    week(monitor, "week 1", ["flu", "tls", "tls", None])
    monitor.add_classes(["tls"], [10.0])
    assert not monitor.summary().alarmed
    monitor = Monitor.from_state(json.loads(json.dumps(monitor.state())))
    week(monitor, "week 2", ["tls", "flu", "tls", "cold"], columns=4)
    monitor.label(["week 1-3"], ["tls"])  # the old forecast did not know it: the whole search was made in vain
    monitor.close()
    assert monitor.summary().unknown[0].cases == 2
    assert monitor.summary().last.unknown == {}
    assert monitor.bets.n == 1 + 4 + 1
    assert list(monitor.labels) == [*LABELS, "tls"]


@pytest.mark.parametrize(
    ("labels", "costs", "argument"),
    [
        (["flu"], [3.0], "labels"),
        (["a", "a"], [3.0, 3.0], "labels"),
        (["tls"], None, "costs"),
        (["tls"], [1, 2], "costs"),
    ],
)
def test_classes_that_cannot_be_added_are_refused(labels, costs, argument):
    monitor = monitor_of()
    week(monitor, "week 1", ["flu", "cold"])
    with pytest.raises(InputError) as refused:
        monitor.add_classes(labels, costs)
    assert refused.value.argument == argument
    assert list(monitor.labels) == LABELS


def broken(monitor, weeks, start):
    """A model that is sure of the wrong class."""
    for number in range(start, start + weeks):
        truth = ["flu", "cold", "covid"] * 20
        forecasts = np.full((60, 3), 0.05)
        for row, label in enumerate(truth):
            forecasts[row, (LABELS.index(label) + 1) % 3] = 0.9
        ids = [f"{number}-{row}" for row in range(60)]
        monitor.update(truth, forecasts, ids=ids, time=f"week {number}")


def test_an_acknowledged_alarm_ends_stays_in_the_history_and_a_new_one_can_come():
    monitor = monitor_of()
    broken(monitor, 3, 1)
    noticed = monitor.summary().alarm.noticed
    monitor.acknowledge("wrong units, fixed")
    assert not monitor.summary().alarmed
    for number in range(4, 8):
        week(monitor, f"week {number}", ["flu", "cold", "covid"] * 5)
    restored = Monitor.from_state(json.loads(json.dumps(monitor.state())))
    summary = restored.summary()
    (earlier,) = summary.acknowledged
    assert (earlier.note, earlier.noticed, earlier.at) == ("wrong units, fixed", noticed, "week 3")
    assert restored.acknowledged[0].history.points[-1].cases >= 120
    assert not summary.alarmed
    broken(monitor, 4, 8)
    assert monitor.summary().alarmed


def test_an_acknowledged_class_is_no_alarm_any_more():
    monitor = monitor_of()
    week(monitor, "week 1", ["tls", "tls", "flu"])
    monitor.acknowledge("tls is new: retraining")
    week(monitor, "week 2", ["tls", "tls", "flu"])
    assert not monitor.summary().alarmed
    assert monitor.summary().acknowledged[0].classes == ["tls"]
    assert monitor.summary().unknown[0].cases == 4


def test_without_an_alarm_there_is_nothing_to_acknowledge():
    monitor = monitor_of()
    week(monitor, "week 1", ["flu", "cold"])
    with pytest.raises(InputError) as refused:
        monitor.acknowledge("nothing")
    assert refused.value.argument == "note"
