"""Pathway files as work-ups: what the pathways of several classes begin with is a step of its own, paid once."""

from __future__ import annotations

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


class _End(NamedTuple):
    """A class, its pathway, and the payments that are still to be made."""

    name: str
    pathway: str
    parts: list[_Part]


def shared_steps(pathways: str | os.PathLike[str] | Pathways) -> dict[str, Any]:
    """The work-up of a pathway file, under the keys of a work-up file."""
    source = pathways if isinstance(pathways, Pathways) else load_costs(pathways)
    parts = _parts(source)
    steps: dict[str, dict[str, Any]] = {}
    _grow([_End(one.name, one.pathway, parts[one.pathway]) for one in source.hypotheses], None, steps)
    about: dict[str, Any] = {"title": source.title, "setting": source.setting, "currency": source.currency}
    sources, years = ({getattr(item, key) for item in source.items.values()} for key in ("source", "year"))
    if len(sources) == len(years) == 1:
        about |= {"source": sources.pop(), "year": years.pop()}
    about = {key: value for key, value in about.items() if value}
    return about | {"classes": list(source.classes), "steps": steps}


def _parts(source: Pathways) -> dict[str, list[_Part]]:
    """Every pathway as a list of payments; a pathway that is certain to be followed once is written out."""
    prices = {key: item.amount for key, item in source.items.items()}
    totals: dict[str, float] = {}
    parts: dict[str, list[_Part]] = {}
    for pathway, steps in source.pathways.items():  # each after those it contains
        parts[pathway] = []
        for step in steps:
            paid = step.paid(step.chance)
            cost = sum(
                times * (prices[one.name] if one.item is not None else totals[one.name]) for one, times in paid
            )
            inner = parts[step.followed] if step.followed else [_Part(step.name, cost, replace(step, source=""))]
            parts[pathway] += [inner[0]._replace(name=step.name)] if len(inner) == 1 else inner
        totals[pathway] = sum(part.cost for part in parts[pathway])
    return parts


def _grow(ends: list[_End], parent: str | None, steps: dict[str, dict[str, Any]]) -> None:
    """Add the steps that follow `parent`: classes that go on in the same way do so together."""
    branches: dict[Step, list[_End]] = {}
    for end in ends:
        branches.setdefault(end.parts[0].step, []).append(end)
    for together in branches.values():
        side_by_side = zip(*([part.step for part in end.parts] for end in together), strict=False)
        n_shared = len(list(takewhile(lambda steps: len(set(steps)) == 1, side_by_side)))
        first, shared = together[0], together[0].parts[:n_shared]
        alone = all(end.pathway == first.pathway for end in together)
        name = first.pathway if alone else " + ".join(part.name for part in shared)
        name = name if name not in steps else f"{name} after {parent}"
        steps[name] = {"cost": rounded(sum(part.cost for part in shared))}
        steps[name] |= {"requires": parent} if parent else {}
        done = [end.name for end in together if len(end.parts) == n_shared]
        steps[name] |= {"tells_apart": done} if done else {}
        _grow([end._replace(parts=end.parts[n_shared:]) for end in together if end.name not in done], name, steps)
