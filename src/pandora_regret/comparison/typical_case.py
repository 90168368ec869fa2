"""What a work-up does with a case of which only the frequencies of classes are known."""

from collections.abc import Sequence

from pandora_regret.comparison.parts import UNTITLED, StepSpending, WorkupPart
from pandora_regret.core.inputs import FloatArray, InputError
from pandora_regret.workup import Workup, plan_workup
from pandora_regret.workup.tree import PlanNode


def typical_case(workup: Workup, classes: Sequence[str], weights: FloatArray) -> WorkupPart:
    """What is done with a case of which only the frequencies of classes are known, and what that is spent on.

    Of a work-up with too many states to list there is no picture and no list of steps.
    """
    title = workup.title or UNTITLED
    try:
        plan = plan_workup(dict(zip(classes, (weights / weights.sum()).tolist(), strict=True)), workup)
    except InputError:  # too many states
        return WorkupPart(title, (), "")
    chances = dict[str, float]()
    costs = dict[str, float]()
    for node in _nodes(plan.tree):
        if node.kind == "done":
            continue
        name = node.name if node.kind == "step" else f"stop: {node.name}"
        chances[name] = chances.get(name, 0.0) + float(node.chance)
        costs[name] = costs.get(name, 0.0) + float(node.chance * node.cost)
    steps = [StepSpending(name, chance, costs[name]) for name, chance in chances.items()]
    steps.sort(key=lambda step: -step.cost)
    return WorkupPart(title, tuple(steps), plan.draw())


def _nodes(tree: PlanNode | None) -> list[PlanNode]:
    """All nodes of a tree, level by level; none of no tree."""
    nodes = [] if tree is None else [tree]
    for node in nodes:  # which grows meanwhile
        nodes.extend(node.branches.values())
    return nodes
