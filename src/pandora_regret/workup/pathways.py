"""Pathway files as work-ups: what the pathways of several classes begin with is a step of its own, paid once."""

import os
from dataclasses import replace
from itertools import takewhile
from typing import Any, NamedTuple

from pandora_regret.costs import Pathways, Step, load_costs
from pandora_regret.costs.pathways import rounded


class _Part(NamedTuple):
    """One payment of a pathway; two pathways share it if they agree on the step."""

    name: str
    cost: float
    step: Step


def shared_steps(pathways: str | os.PathLike[str] | Pathways) -> dict[str, Any]:
    """The work-up of a pathway file, under the keys of a work-up file."""
    source = pathways if isinstance(pathways, Pathways) else load_costs(pathways)
    parts, totals = dict[str, list[_Part]](), dict[str, float]()
    for pathway, followed in source.pathways.items():  # each after those it contains
        parts[pathway] = []
        for step in followed:  # a pathway that is certain to be followed once is written out
            paid = step.paid(step.chance)
            prices = (
                times * (totals[one.name] if one.item is None else source.items[one.name].amount)
                for one, times in paid
            )
            alone = _Part(step.name, sum(prices), replace(step, source=""))
            inner = parts[step.followed] if step.followed else [alone]
            parts[pathway] += [inner[0]._replace(name=step.name)] if len(inner) == 1 else inner
        totals[pathway] = sum(part.cost for part in parts[pathway])
    steps: dict[str, dict[str, Any]] = {}
    _grow([(one.name, one.pathway, parts[one.pathway]) for one in source.hypotheses], None, steps)
    about: dict[str, Any] = {"title": source.title, "setting": source.setting, "currency": source.currency}
    stated = {(item.source, item.year) for item in source.items.values()}
    if len(stated) == 1:
        [(about["source"], about["year"])] = stated
    about = {key: value for key, value in about.items() if value}
    return about | {"classes": list(source.classes), "steps": steps}


def _grow(ends: list[tuple[str, str, list[_Part]]], parent: str | None, steps: dict[str, dict[str, Any]]) -> None:
    """Add the steps that follow `parent`, for classes, their pathways, and the payments still to be made.

    Classes that go on in the same way do so together.
    """
    branches = dict[Step, list[tuple[str, str, list[_Part]]]]()
    for end in ends:
        branches.setdefault(end[2][0].step, []).append(end)
    for together in branches.values():
        side_by_side = zip(*([part.step for part in left] for _, _, left in together), strict=False)
        n_shared = len(list(takewhile(lambda steps: len(set(steps)) == 1, side_by_side)))
        pathway, shared = together[0][1], together[0][2][:n_shared]
        alone = len({one for _, one, _ in together}) == 1
        name = pathway if alone else " + ".join(part.name for part in shared)
        name = name if name not in steps else f"{name} after {parent}"
        steps[name] = {"cost": rounded(sum(part.cost for part in shared))}
        steps[name] |= {"requires": parent} if parent else {}
        done = [one for one, _, left in together if len(left) == n_shared]
        steps[name] |= {"tells_apart": done} if done else {}
        _grow([(one, path, left[n_shared:]) for one, path, left in together if one not in done], name, steps)
