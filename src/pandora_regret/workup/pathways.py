"""Pathway files as work-ups: what the pathways of several classes begin with is a step of its own, paid once."""

from __future__ import annotations

import os
from decimal import Decimal
from typing import Any, NamedTuple

from pandora_regret.costs import Pathways, Step, load_costs


class _Part(NamedTuple):
    """One payment of a pathway; two pathways share it if they agree on all of this."""

    name: str
    cost: Decimal
    step: Step


def shared_steps(pathways: str | os.PathLike[str] | Pathways) -> dict[str, Any]:
    """The work-up of a pathway file, under the keys of a work-up file."""
    source = pathways if isinstance(pathways, Pathways) else load_costs(pathways)
    parts = _parts(source)
    steps: dict[str, dict[str, Any]] = {}
    ends = {hypothesis.name: (hypothesis.pathway, parts[hypothesis.pathway]) for hypothesis in source.hypotheses}
    _grow(ends, 0, None, steps)
    about: dict[str, Any] = {"title": source.title, "setting": source.setting, "currency": source.currency}
    sources, years = {item.source for item in source.items}, {item.year for item in source.items}
    if len(sources) == len(years) == 1:
        about |= {"source": sources.pop(), "year": years.pop()}
    return {key: value for key, value in about.items() if value} | {
        "classes": list(source.classes),
        "steps": steps,
    }


def _parts(source: Pathways) -> dict[str, list[_Part]]:
    """Every pathway as a list of payments; a pathway that is certain to be followed once is written out."""
    amounts = {item.key: item.amount for item in source.items}
    totals: dict[str, Decimal] = {}
    parts: dict[str, list[_Part]] = {}
    for pathway in source.pathways:  # each after those it contains
        listed: list[_Part] = []
        for step in pathway.steps:
            paid = step.paid(step.chance.probability, Decimal)
            cost = sum((times * (amounts | totals)[payment.name] for payment, times in paid), Decimal(0))
            inner = parts.get(step.payment.name, []) if step.payment.is_pathway else []
            written_out = inner and step.chance.probability == 1 and step.payment.quantity == 1
            single = [part._replace(name=step.payment.name) for part in inner] if len(inner) == 1 else inner
            listed += single if written_out else [_Part(step.payment.name, cost, step)]
        parts[pathway.name] = listed
        totals[pathway.name] = sum((part.cost for part in listed), Decimal(0))
    return parts


def _grow(
    ends: dict[str, tuple[str, list[_Part]]], depth: int, parent: str | None, steps: dict[str, dict[str, Any]]
) -> None:
    """Add the steps that follow `parent`: classes that go on in the same way do so together."""
    branches: dict[_Key, dict[str, tuple[str, list[_Part]]]] = {}
    for name, (pathway, parts) in ends.items():
        if len(parts) > depth:
            branches.setdefault(_key(parts[depth]), {})[name] = (pathway, parts)
    for together in branches.values():
        start, stop = depth, depth + 1
        while _all_go_on_alike(together, stop):
            stop += 1
        _, parts = next(iter(together.values()))
        done = [name for name, (_, listed) in together.items() if len(listed) == stop]
        alone = len({pathway for pathway, _ in together.values()}) == 1
        name = next(iter(together.values()))[0] if alone else " + ".join(part.name for part in parts[start:stop])
        name = name if name not in steps else f"{name} after {parent}"
        steps[name] = {"cost": sum((part.cost for part in parts[start:stop]), Decimal(0))}
        steps[name] |= {"requires": parent} if parent else {}
        steps[name] |= {"tells_apart": done} if done else {}
        _grow({one: end for one, end in together.items() if one not in done}, stop, name, steps)


_Key = tuple[Any, ...]


def _key(part: _Part) -> _Key:
    return part.step.payment, part.step.chance, part.step.otherwise


def _all_go_on_alike(together: dict[str, tuple[str, list[_Part]]], depth: int) -> bool:
    """Whether no class ends here, and all take the same next payment."""
    if any(len(parts) <= depth for _, parts in together.values()):
        return False
    return len({_key(parts[depth]) for _, parts in together.values()}) == 1
