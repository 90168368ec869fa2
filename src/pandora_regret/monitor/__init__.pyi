from pandora_regret.monitor.monitor import Monitor as Monitor
from pandora_regret.monitor.monitor import UpdateCounts as UpdateCounts
from pandora_regret.monitor.summary import Alarm as Alarm
from pandora_regret.monitor.summary import MonitorSummary as MonitorSummary
from pandora_regret.monitor.summary import Period as Period
