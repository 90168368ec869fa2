"""What makes a work-up impossible: circles, steps that can never be made, classes that nothing can confirm."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np

from pandora_regret.costs.section import Section
from pandora_regret.inputs import FloatArray
from pandora_regret.workup.description import Requirement, WorkupStep


def check_workup(root: Section, described: dict[str, Any]) -> None:
    """An error in one sentence where the fields of a Workup do not fit together."""
    steps = {step.name: step for step in described["steps"]}
    _check_circles(root, steps)
    reach = {name: _check_reachable(root, step, steps, described) for name, step in steps.items()}
    _check_together(root, steps, described)
    if described["confirm"] and not described["stops"]:
        _check_confirmable(root, described, reach)


def _check_circles(root: Section, steps: dict[str, WorkupStep]) -> None:
    graph = {name: [one.step for one in step.requires] for name, step in steps.items()}
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        circle = list(reversed(error.args[1]))
        problem = f"requires itself ({' -> '.join(circle)}), so it can never be made"
        where = Section(root.file, f"steps.{circle[0]}", {})
        where.fail("requires", f"{problem}: take one of these out.")


def _check_reachable(
    root: Section, step: WorkupStep, steps: dict[str, WorkupStep], described: dict[str, Any]
) -> FloatArray:
    """For each class, how likely it is that what the step requires comes about, if it is the truth."""
    needed = requirements(step, steps)
    chances, section = np.ones(len(described["classes"])), Section(root.file, f"steps.{step.name}", {})
    for name in {one.step for one in needed}:
        outcomes = {one.outcome for one in needed if one.step == name and one.outcome is not None}
        if len(outcomes) > 1:
            section.fail("requires", f"asks {name} for two outcomes at once, so the step can never be made.")
        for outcome in outcomes:
            index = steps[name].outcomes.index(outcome)
            if steps[name].confirmed[index] is not None and described["confirm"]:
                section.fail("requires", f"is {name}={outcome}, which confirms a class and ends the work-up.")
            chances = chances * steps[name].chances[index]
    if not chances.any():
        section.fail("requires", "asks for outcomes that no class can have, so the step can never be made.")
    together = {step.name, *(one.step for one in needed)}
    least = sum(steps[name].cost for name in together) + described["fee"]
    if described["budget"] is not None and least > described["budget"]:
        problem = f"costs {least:g} with all that it requires, more than the budget of {described['budget']:g}"
        section.fail("cost", f"{problem}: the step can never be made.")
    return chances


def requirements(step: WorkupStep, steps: dict[str, WorkupStep]) -> set[Requirement]:
    """Everything that must have come before a step, directly or not."""
    needed: set[Requirement] = set()
    for one in step.requires:
        needed |= {one} | requirements(steps[one.step], steps)
    return needed


def _check_together(root: Section, steps: dict[str, WorkupStep], described: dict[str, Any]) -> None:
    for name in described["together"]:
        if name not in steps:
            Section(root.file, "rounds", {}).fail(
                "together", f"contains {name!r}, which is no step: correct the name."
            )


def _check_confirmable(root: Section, described: dict[str, Any], reach: dict[str, FloatArray]) -> None:
    for k, name in enumerate(described["classes"]):
        steps = [step for step in described["steps"] if k in step.confirmed and reach[step.name][k] > 0]
        if not steps:
            fix = "add a step that confirms it, a way to stop, or confirm = false"
            root.fail("classes", f"contains {name!r}, which nothing can ever confirm: {fix}.")
