"""Forecasters over time, with guarantees at every moment; docs/theory/monitoring.md states them.

rows.py       the door: ids, times and labels of one update
queue.py      cases in the order of their forecasts, until their labels are known
streams.py    what forecasts may cost, and what they promise: two streams, paid beyond the promise and the promises
              themselves, each an e-process; and their history, in a few hundred points
monitor.py    `Monitor`: forecasts and labels come in, in batches of any size, and alarms come out
state.py      a monitor as plain data, under a hash by which damage shows
summary.py    where a monitor stands, in numbers
words.py      the same in sentences
"""

from pandora_regret.lazy import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)
