"""Work-ups: tests that inform about several classes, hierarchies, shared visits, and ways to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pandora_regret.lazy import lazy_exports

if TYPE_CHECKING:
    from pandora_regret.workup.description import Requirement, Stop, Workup, WorkupStep
    from pandora_regret.workup.menu import Menu
    from pandora_regret.workup.plan import Alternative, PlanNode, WorkupPlan, plan_workup
    from pandora_regret.workup.scores import workup_cost, workup_entropy, workup_regret

_MODULE_OF = {
    "Alternative": "plan",
    "Menu": "menu",
    "PlanNode": "plan",
    "Requirement": "description",
    "Stop": "description",
    "Workup": "description",
    "WorkupPlan": "plan",
    "WorkupStep": "description",
    "plan_workup": "plan",
    "workup_cost": "scores",
    "workup_entropy": "scores",
    "workup_regret": "scores",
}

__all__ = [
    "Alternative",
    "Menu",
    "PlanNode",
    "Requirement",
    "Stop",
    "Workup",
    "WorkupPlan",
    "WorkupStep",
    "plan_workup",
    "workup_cost",
    "workup_entropy",
    "workup_regret",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULE_OF)
