"""Forecasters over time, with guarantees at every moment; docs/monitoring.md states them.

monitor.py    `Monitor`: forecasts and labels come in, in batches of any size, and alarms come out
reading.py    what comes in: forecasts, labels of which some are not known yet, settings
rows.py       what each forecast may cost, what it promises, what it did cost; loops.py is its compiled pass
periods.py    rows gathered into periods, whose means are the increments
streams.py    the two streams: paid beyond the promise, and the promises themselves
history.py    what happened along a stream, in at most a few hundred points
ids.py        cases by id: counted, or waiting for their labels
stored.py     the state as plain data
summary.py    where a monitor stands; words.py says it in sentences
"""

from pandora_regret.monitor.monitor import Monitor, Taken
from pandora_regret.monitor.summary import Alarm, Interval, MonitorSummary, Period

__all__ = ["Alarm", "Interval", "Monitor", "MonitorSummary", "Period", "Taken"]
