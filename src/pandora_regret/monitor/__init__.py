"""Forecasters over time, with guarantees at every moment; docs/theory/monitoring.md states them.

queue.py      cases in the order of their forecasts, until their labels are known
streams.py    what forecasts may cost, and what they promise: two streams, paid beyond the promise and the promises
              themselves, each an e-process; and their history, in a few hundred points
monitor.py    `Monitor`: forecasts and labels come in, in batches of any size, and alarms come out
summary.py    where a monitor stands, in numbers and in sentences
"""

from pandora_regret.lazy import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)
