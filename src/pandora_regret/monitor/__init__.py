"""Forecasters over time, with guarantees at every moment; docs/monitoring.md states them.

monitor.py         `Monitor`: forecasts and labels come in, in batches of any size, and alarms come out
possible_costs.py  what each forecast may cost, what it promises, what it did cost
streams.py         the two streams, by period: paid beyond the promise, and the promises themselves
summary.py         where a monitor stands, in numbers and in sentences
"""

from pandora_regret.monitor.monitor import Monitor, Taken
from pandora_regret.monitor.summary import Alarm, MonitorSummary, Period

__all__ = ["Alarm", "Monitor", "MonitorSummary", "Period", "Taken"]
