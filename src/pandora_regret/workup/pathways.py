"""Pathway files as work-ups: what the pathways of several classes begin with is a step of its own, paid once."""

from __future__ import annotations

import os
from dataclasses import replace
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
    parts = _parts(source)
    steps: dict[str, dict[str, Any]] = {}
    _grow({one.name: (one.pathway, parts[one.pathway]) for one in source.hypotheses}, 0, None, steps)
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


def _grow(
    ends: dict[str, tuple[str, list[_Part]]], depth: int, parent: str | None, steps: dict[str, dict[str, Any]]
) -> None:
    """Add the steps that follow `parent`: classes that go on in the same way do so together."""
    branches: dict[Step, dict[str, tuple[str, list[_Part]]]] = {}
    for name, (pathway, parts) in ends.items():
        if len(parts) > depth:
            branches.setdefault(parts[depth].step, {})[name] = (pathway, parts)
    for together in branches.values():
        start, stop = depth, depth + 1
        while _all_go_on_alike([parts for _, parts in together.values()], stop):
            stop += 1
        pathway, parts = next(iter(together.values()))
        done = [name for name, (_, listed) in together.items() if len(listed) == stop]
        alone = len({pathway for pathway, _ in together.values()}) == 1
        name = pathway if alone else " + ".join(part.name for part in parts[start:stop])
        name = name if name not in steps else f"{name} after {parent}"
        steps[name] = {"cost": rounded(sum(part.cost for part in parts[start:stop]))}
        steps[name] |= {"requires": parent} if parent else {}
        steps[name] |= {"tells_apart": done} if done else {}
        _grow({one: end for one, end in together.items() if one not in done}, stop, name, steps)


def _all_go_on_alike(lists: list[list[_Part]], depth: int) -> bool:
    """Whether no class ends here, and all take the same next payment."""
    return all(len(parts) > depth for parts in lists) and len({parts[depth].step for parts in lists}) == 1
