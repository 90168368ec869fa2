"""Which models a page shows: beyond fifty, the cheapest, the dearest and those that were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pandora_regret.compare import Comparison
from pandora_regret.compare.result import Breakdown
from pandora_regret.inputs import InputError
from pandora_regret.text import count, listed

MOST_MODELS = 50  # with every pair of them; a page of 500 would take a browser more than 100 MB
CHEAPEST, DEAREST = 40, 10


def select_models(comparison: Comparison, names: Sequence[str] = ()) -> tuple[Comparison, str | None]:
    """The comparison of the models to show, and a sentence about those left out; None where all are shown.

    Ranks, chances and sentences stay those of all models.
    """
    every = [model.name for model in comparison.models]
    unknown = next((name for name in names if name not in every), None)
    if unknown is not None:
        raise InputError(argument="show", value=unknown, fix=f"the models are {listed(every[:8])}")
    if len(every) <= MOST_MODELS:
        return comparison, None
    shown = {*every[:CHEAPEST], *every[-DEAREST:], *names}
    return _only(comparison, shown), _sentence(len(every), len(shown) - CHEAPEST - DEAREST)


def _only(comparison: Comparison, names: set[str]) -> Comparison:
    numbers = [number for number, model in enumerate(comparison.models) if model.name in names]
    return replace(
        comparison,
        models=tuple(comparison.models[number] for number in numbers),
        differences=tuple(gap for gap in comparison.differences if {gap.model, gap.against} <= names),
        ranks={key: tuple(ranks[number] for number in numbers) for key, ranks in comparison.ranks.items()},
        largest_pairs=tuple(pair for pair in comparison.largest_pairs if pair.model in names),
        by=tuple(_breakdown(each, numbers) for each in comparison.by),
        sample=comparison.sample
        and replace(
            comparison.sample, odds={name: odds for name, odds in comparison.sample.odds.items() if name in names}
        ),
    )


def _breakdown(breakdown: Breakdown, numbers: Sequence[int]) -> Breakdown:
    """Groups under some of the models, of which the cheapest leads where the group's leader is not shown."""
    groups = []
    for group in breakdown.groups:
        models = tuple(group.models[number] for number in numbers)
        shown = {model.name: model.cost.value or 0.0 for model in models}
        leader = group.leader if group.leader in shown else min(shown, key=shown.__getitem__)
        groups.append(replace(group, models=models, leader=leader))
    return replace(breakdown, groups=tuple(groups))


def _sentence(n_models: int, n_asked: int) -> str:
    parts = [f"the {CHEAPEST} cheapest", f"the {DEAREST} dearest"]
    if n_asked:
        parts.append(f"{n_asked} that {'was' if n_asked == 1 else 'were'} asked for")
    return f"Of {count(n_models)} models this page shows {listed(parts)}; pandora compare --json tells of all."
