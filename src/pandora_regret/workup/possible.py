"""Whether a work-up can be carried out: no circles, no steps that can never be made, no classes never found."""

from graphlib import CycleError

import numpy as np

from pandora_regret.core.records import fail, path
from pandora_regret.workup.data import Pair, WorkupData


def check_possible(workup: WorkupData) -> None:
    """That every step can be made and, where there is no way to stop, every class be found."""
    try:
        before_steps = workup.before
    except CycleError as error:
        circle = [workup.steps[step].name for step in reversed(error.args[1])]
        problem = f"requires itself ({' -> '.join(circle)}), so it can never be made"
        fail(f"{path('steps', circle[0])}.requires", problem, "take one of these out")
    for step, before in enumerate(before_steps):
        check_requirements(workup, step, before)
        check_budget(workup, step, before)
    if not workup.stops and workup.confirm:
        check_all_confirmed(workup)
    elif not workup.stops:
        check_all_told_apart(workup)


def check_requirements(workup: WorkupData, step: int, before: set[Pair]) -> None:
    """That some class can have all outcomes that a step requires, directly or not, and none ends the work-up."""
    required = [(earlier, outcome) for earlier, outcome in before if outcome is not None]
    two_of_one_step = len(dict(required)) < len(required)
    has_ended = workup.confirm and any(
        workup.steps[earlier].confirmed[outcome] is not None for earlier, outcome in required
    )
    if has_ended or two_of_one_step or not workup.likelihood(before).any():
        place = f"{path('steps', workup.steps[step].name)}.requires"
        problem = "asks for outcomes that no case has at once, or that end the work-up"
        fail(place, problem, "the step can never be made")


def check_budget(workup: WorkupData, step: int, before: set[Pair]) -> None:
    """That a step can be paid out of the budget, if there is one, with all steps before it."""
    if workup.budget is None:
        return
    earlier_steps = dict(before)
    cost = workup.steps[step].cost + sum(workup.steps[earlier].cost for earlier in earlier_steps) + workup.fee
    if cost > workup.budget:
        place = f"{path('steps', workup.steps[step].name)}.cost"
        problem = f"costs {cost:g} with all that it requires, more than the budget of {workup.budget:g}"
        fail(place, problem, "the step can never be made")


def check_all_confirmed(workup: WorkupData) -> None:
    """That for every class there is a step that may confirm it."""
    confirmed = set[int]()
    for step, before in zip(workup.steps, workup.before, strict=True):
        chances = workup.likelihood(before)
        confirmed |= {k for k in step.confirmed if k is not None and chances[k] > 0}
    for k, name in enumerate(workup.classes):
        if k not in confirmed:
            fix = "add a step that confirms it, a way to stop, or confirm = false"
            fail("classes", f"contains {name!r}, which nothing can ever confirm", fix)


def check_all_told_apart(workup: WorkupData) -> None:
    """That every class may be the only one left: it may have an outcome that excludes each of the others."""
    told_apart = np.eye(len(workup.classes), dtype=bool)  # (K, K): a class, and one that an outcome of it excludes
    for step, before in zip(workup.steps, workup.before, strict=True):
        can_be_made = workup.likelihood(before) > 0
        for row in np.array(step.chances):
            told_apart |= np.outer((row > 0) & can_be_made, row == 0)
    for k, other in np.argwhere(~told_apart).tolist():
        problem = f"contains {workup.classes[k]!r}, which nothing can ever tell from {workup.classes[other]!r}"
        fail("classes", problem, "add a step that tells them apart, or a way to stop")
