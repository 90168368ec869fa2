"""What models are ranked by: proper scores, decisions, ranks, calibration; and any metric of your own."""

from pandora_regret.metrics.base import Metric, weighted_means
from pandora_regret.metrics.registry import BASELINE, METRICS, default_metrics, read_metric, read_metrics

__all__ = ["BASELINE", "METRICS", "Metric", "default_metrics", "read_metric", "read_metrics", "weighted_means"]
