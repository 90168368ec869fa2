"""Work-ups: tests that inform about several classes, hierarchies, shared visits, and ways to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pandora_regret.lazy import lazy_exports

if TYPE_CHECKING:
    from pandora_regret.workup.description import Workup as Workup
    from pandora_regret.workup.plan import Alternative as Alternative
    from pandora_regret.workup.plan import Plan as Plan
    from pandora_regret.workup.plan import PlanStep as PlanStep
    from pandora_regret.workup.plan import plan_search as plan_search
    from pandora_regret.workup.plan import plan_workup as plan_workup
    from pandora_regret.workup.scores import workup_cost as workup_cost
    from pandora_regret.workup.scores import workup_entropy as workup_entropy
    from pandora_regret.workup.scores import workup_regret as workup_regret
    from pandora_regret.workup.steps import Requirement as Requirement
    from pandora_regret.workup.steps import Stop as Stop
    from pandora_regret.workup.steps import WorkupStep as WorkupStep
    from pandora_regret.workup.summary import Summary as Summary
    from pandora_regret.workup.summary import summarise as summarise
    from pandora_regret.workup.tree import PlanNode as PlanNode

__all__, __getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "description": ("Workup",),
        "plan": ("Alternative", "Plan", "PlanStep", "plan_search", "plan_workup"),
        "scores": ("workup_cost", "workup_entropy", "workup_regret"),
        "steps": ("Requirement", "Stop", "WorkupStep"),
        "summary": ("Summary", "summarise"),
        "tree": ("PlanNode",),
    },
)
