"""Which exact method a work-up allows: told from its structure, whoever wrote it in whatever form."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, permutations
from typing import Literal, TypeAlias

import numpy as np

from pandora_regret.workup.data import Pair, WorkupData, WorkupStep

Method = Literal["search", "hierarchy", "forest", "graph"]
HierarchyLevel: TypeAlias = dict[
    int, frozenset[int]
]  # steps that are searched, and the classes that each asks for
MOST_SHARED = 6  # steps that others need together: all their orders are looked at


@dataclass(frozen=True)
class Structure:
    """The fastest exact method for a work-up, and what it needs to know."""

    method: Method
    levels: tuple[HierarchyLevel, ...] = ()  # of a search, which has one, or a hierarchy
    parents: tuple[tuple[int, ...], ...] = ()  # of a forest, for each order: what comes before each step, or -1


def find_structure(workup: WorkupData) -> Structure:
    """The fastest exact method: a closed form where there is one, else the state graph."""
    if not workup.confirm or workup.budget is not None or workup.fee:
        return Structure("graph")
    if (workup.costs > 0).all() and not workup.stops:
        levels = hierarchy_levels(workup, (), range(len(workup.classes)))
        if levels is not None and sum(map(len, levels)) == len(workup.steps):
            method: Method = "hierarchy" if len(levels) > 1 else "search"
            return Structure(method, levels=tuple(levels))
    if all(not stop.names_class and len(set(stop.losses)) == 1 for stop in workup.stops):
        parents = forest_parents(workup)
        if parents is not None:
            return Structure("forest", parents=tuple(map(tuple, parents)))
    return Structure("graph")


def hierarchy_levels(
    workup: WorkupData, requires: tuple[Pair, ...], classes: Iterable[int]
) -> list[HierarchyLevel] | None:
    """The levels below an outcome, each of which covers its classes without overlap; None if that is not so.

    The first level are the steps that require exactly this. A step that confirms nothing says in which of two
    parts the truth lies, and only one of them is searched on: what requires that outcome is the next level.
    """
    level = HierarchyLevel()
    below = list[HierarchyLevel]()
    for number, step in enumerate(workup.steps):
        if workup.requires[number] != requires:
            continue
        if is_definitive(step):
            level[number] = step.settles
            continue
        outcome = only_required_outcome(workup, number)
        if outcome is None or not step.is_certain or step.confirmed != (None, None):
            return None
        inside = frozenset(np.flatnonzero(step.chances[outcome]).tolist())
        inner_levels = hierarchy_levels(workup, ((number, outcome),), inside)
        if inner_levels is None:
            return None
        level[number] = inside
        below += inner_levels
    covered = sorted(chain.from_iterable(level.values()))
    return [level, *below] if covered == sorted(classes) else None


def only_required_outcome(workup: WorkupData, step: int) -> int | None:
    """The outcome of a step that others require, if all who require anything of it require the same."""
    required = set[Pair]()
    for pairs in workup.requires:
        required.update(pair for pair in pairs if pair[0] == step)
    if len(required) != 1:
        return None
    [(_, outcome)] = required
    return outcome


def is_definitive(step: WorkupStep) -> bool:
    """Whether a step confirms some classes, one per outcome, and tells nothing about the others."""
    return bool(step.settles) and step.is_certain and step.confirmed.count(None) <= 1


def forest_parents(workup: WorkupData) -> list[list[int]] | None:
    """For each step the one that must come before it, or -1, if the work-up is a forest; None if it is not.

    A forest has definitive tests of disjoint sets of classes, and visits. Steps that another needs together are
    made in some order, in which they are a chain: each order is a forest of its own.
    """
    if not has_definitive_tests_only(workup):
        return None
    before = [set(dict(pairs)) for pairs in workup.before]
    if len(shared_steps(before)) > MOST_SHARED:
        return None
    return list(chained_parents(before))


def ends_before(before: list[set[int]]) -> list[set[int]]:
    """For each step those that it needs, without those that another of them needs, too."""
    ends = list[set[int]]()
    for needed in before:
        needed_by_others = set[int]().union(*(before[step] for step in needed))
        ends.append(needed - needed_by_others)
    return ends


def shared_steps(before: list[set[int]]) -> set[int]:
    """All that stands before a step that needs several others which do not need each other."""
    shared = set[int]()
    for needed, ends in zip(before, ends_before(before), strict=True):
        if len(ends) > 1:
            shared |= needed
    return shared


def chained_parents(before: list[set[int]]) -> Iterator[list[int]]:
    """For each order of the shared steps, in which they are a chain: what comes before each step, or -1."""
    ends = ends_before(before)
    for order in permutations(shared_steps(before)):
        if respects(order, before):
            yield parents_in_order(order, ends)


def has_definitive_tests_only(workup: WorkupData) -> bool:
    """Whether steps are visits, or definitive tests of disjoint classes; of all, unless it may be given up.

    Where a test is required, any outcome must do that does not end the work-up.
    """
    for step in workup.steps:
        is_visit = step.outcomes == ("done",)
        if not is_visit and not is_definitive(step):
            return False
    for number, outcome in chain.from_iterable(workup.requires):
        if outcome is not None and workup.steps[number].confirmed[outcome] is not None:
            return False
    settled = sorted(chain.from_iterable(step.settles for step in workup.steps))
    if workup.stops:
        return len(set(settled)) == len(settled)
    return settled == list(range(len(workup.classes)))


def respects(order: tuple[int, ...], before: list[set[int]]) -> bool:
    """Whether no step comes before one that must come before it, of those that are ordered."""
    made = set[int]()
    for step in order:
        if not before[step] & set(order) <= made:
            return False
        made.add(step)
    return True


def parents_in_order(order: tuple[int, ...], last: list[set[int]]) -> list[int]:
    """For each step the one before it, or -1, where shared steps are made in an order, one after the other."""
    place = {step: position for position, step in enumerate(order)}
    parents = [max(needed, key=lambda step: place.get(step, 0), default=-1) for needed in last]
    for step, parent in zip(order, (-1, *order), strict=False):
        parents[step] = parent
    return parents
