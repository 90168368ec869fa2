"""Pathway files as work-ups: what the pathways of several classes begin with is a step of its own, paid once."""

import os
from collections.abc import Callable
from dataclasses import replace
from itertools import takewhile
from typing import Any

from pandora_regret.costs import Pathways, Step, load_costs
from pandora_regret.costs.pathways import rounded

Parts = list[tuple[str, Step]]  # the payments of a pathway; two pathways share one if they agree on the step


def shared_steps(pathways: str | os.PathLike[str] | Pathways) -> dict[str, Any]:
    """The work-up of a pathway file, under the keys of a work-up file."""
    source = pathways if isinstance(pathways, Pathways) else load_costs(pathways)
    spent, parts, steps = source.spent(), dict[str, Parts](), dict[str, dict[str, Any]]()

    def cost(step: Step) -> float:
        prices = (
            times * (source.items[one.name].amount if one.item else sum(spent[one.name].values()))
            for one, times in step.paid(step.chance)
        )
        return float(sum(prices))

    for pathway, followed in source.pathways.items():  # each after those it contains
        parts[pathway] = []
        for step in followed:  # a pathway that is certain to be followed once is written out
            inner = parts[step.followed] if step.followed else [(step.name, replace(step, source=""))]
            parts[pathway] += [(step.name, inner[0][1])] if len(inner) == 1 else inner
    _grow([(one.name, one.pathway, parts[one.pathway]) for one in source.hypotheses], None, steps, cost)
    about: dict[str, Any] = {"title": source.title, "setting": source.setting, "currency": source.currency}
    stated = {(item.source, item.year) for item in source.items.values()}
    if len(stated) == 1:
        [(about["source"], about["year"])] = stated
    about = {key: value for key, value in about.items() if value}
    return about | {"classes": list(source.classes), "steps": steps}


def _grow(
    ends: list[tuple[str, str, Parts]],
    parent: str | None,
    steps: dict[str, dict[str, Any]],
    cost: Callable[[Step], float],
) -> None:
    """Add the steps that follow `parent`, for classes, their pathways, and the payments still to be made.

    Classes that go on in the same way do so together.
    """
    branches = dict[Step, list[tuple[str, str, Parts]]]()
    for end in ends:
        branches.setdefault(end[2][0][1], []).append(end)
    for together in branches.values():
        side_by_side = zip(*(left for _, _, left in together), strict=False)
        shared = [ps[0] for ps in takewhile(lambda parts: len({step for _, step in parts}) == 1, side_by_side)]
        followed = {pathway for _, pathway, _ in together}
        name = " + ".join(followed if len(followed) == 1 else [part for part, _ in shared])
        name = name if name not in steps else f"{name} after {parent}"
        left = [(one, pathway, parts[len(shared) :]) for one, pathway, parts in together]
        done = [one for one, _, parts in left if not parts]
        told = {"requires": parent, "tells_apart": done or None}
        steps[name] = {"cost": rounded(sum(cost(step) for _, step in shared)), **told}
        _grow([end for end in left if end[2]], name, steps, cost)
