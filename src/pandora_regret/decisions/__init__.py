"""What a metric decides: log loss, accuracy and F1 as decision problems, and the desiderata of a search."""

from pandora_regret.decisions.checks import Desiderata, Verdict, Violation, desiderata
from pandora_regret.decisions.label_metrics import (
    ClassCounts,
    instance_f1,
    instance_f1_decision,
    macro_f1_decision,
    macro_f1_gains,
    single_shot_cost,
)
from pandora_regret.decisions.log_loss import (
    fixed_order_baseline,
    fixed_order_costs,
    fixed_order_regrets,
    fixed_order_residuals,
    parallel_costs,
)

__all__ = [
    "ClassCounts",
    "Desiderata",
    "Verdict",
    "Violation",
    "desiderata",
    "fixed_order_baseline",
    "fixed_order_costs",
    "fixed_order_regrets",
    "fixed_order_residuals",
    "instance_f1",
    "instance_f1_decision",
    "macro_f1_decision",
    "macro_f1_gains",
    "parallel_costs",
    "single_shot_cost",
]
