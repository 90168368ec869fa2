"""Which exact method a work-up allows: told from its structure, whoever wrote it in whatever form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pandora_regret.workup.description import Requirement, Workup, WorkupStep
from pandora_regret.workup.graph import GraphPolicy
from pandora_regret.workup.policies import Forest, Nested, Policy, Prefix


@dataclass(frozen=True)
class Node:
    """A step of a hierarchy: the classes it asks for, and the steps that are searched if it says yes."""

    step: int
    classes: frozenset[int]
    children: tuple[Node, ...] = ()


def exact_policy(workup: Workup) -> Policy:
    """The fastest exact method that applies."""
    plain = workup.confirm and workup.budget is None and not workup.fee and (workup.costs > 0).all()
    tree = hierarchy(workup) if plain else None
    if tree is not None and not workup.stops:
        return Nested(workup, tree)
    flat = tree is not None and not any(node.children for node in tree)
    if tree is not None and flat and all(stop.is_constant for stop in workup.stops):
        return Prefix(workup, tree)
    if plain and not workup.stops and (parents := forest(workup)) is not None:
        return Forest(workup, parents)
    return GraphPolicy(workup)


def hierarchy(workup: Workup) -> tuple[Node, ...] | None:
    """The top level of a hierarchy whose every level covers its classes without overlap, if it is one."""
    level = _level(workup, None)
    every_class = frozenset(range(len(workup.classes)))
    return (
        level
        if level is not None and _used(level) == len(workup.steps) and _partition(level, every_class)
        else None
    )


def _level(workup: Workup, parent: Requirement | None) -> tuple[Node, ...] | None:
    """The steps that require exactly this, and below each those that require one outcome of it."""
    nodes: list[Node] = []
    for index, step in enumerate(workup.steps):
        if step.requires != (() if parent is None else (parent,)):
            continue
        node = _leaf(index, step) or _inner(workup, index, step)
        if node is None:
            return None
        nodes.append(node)
    return tuple(nodes)


def _leaf(index: int, step: WorkupStep) -> Node | None:
    """A step that confirms some classes and tells nothing about the others."""
    settled = step.settles
    others = sum(k is None for k in step.confirmed)
    return Node(index, settled) if settled and step.is_certain and others <= 1 and _covers(step) else None


def _covers(step: WorkupStep) -> bool:
    """Whether each confirming outcome settles a class."""
    return len(step.settles) == sum(k is not None for k in step.confirmed)


def _inner(workup: Workup, index: int, step: WorkupStep) -> Node | None:
    """A step that says in which of two parts the truth lies, where only one of them is searched further."""
    wanted = {one for other in workup.steps for one in other.requires if one.step == step.name}
    if (
        len(wanted) != 1
        or len(step.outcomes) != 2
        or not step.is_certain
        or any(k is not None for k in step.confirmed)
    ):
        return None
    [parent] = wanted
    if parent.outcome is None:
        return None
    row = step.chances[step.outcomes.index(parent.outcome)]
    classes = frozenset(k for k, chance in enumerate(row) if chance)
    children = _level(workup, parent)
    return Node(index, classes, children) if children is not None and _partition(children, classes) else None


def _partition(nodes: Sequence[Node], classes: frozenset[int]) -> bool:
    return sum(len(node.classes) for node in nodes) == len(classes) and _union(nodes) == classes


def _union(nodes: Sequence[Node]) -> frozenset[int]:
    return frozenset().union(*(node.classes for node in nodes))


def _used(nodes: Sequence[Node]) -> int:
    return sum(1 + _used(node.children) for node in nodes)


def forest(workup: Workup) -> tuple[int, ...] | None:
    """For each step the one that must come before it, or -1, where steps settle disjoint sets of classes."""
    nodes = []
    for index, step in enumerate(workup.steps):
        if step.outcomes != ("done",) and _leaf(index, step) is None:
            return None
        if len(step.requires) > 1 or not all(_any_outcome(one, workup) for one in step.requires):
            return None
        nodes.append(Node(index, step.settles))
    if not _partition(nodes, frozenset(range(len(workup.classes)))):
        return None
    index_of = workup.step_index
    return tuple(index_of[step.requires[0].step] if step.requires else -1 for step in workup.steps)


def _any_outcome(one: Requirement, workup: Workup) -> bool:
    """Whether the requirement holds as soon as the step has been made and the work-up goes on."""
    step = workup.steps[workup.step_index[one.step]]
    return one.outcome is None or step.confirmed[step.outcomes.index(one.outcome)] is None
