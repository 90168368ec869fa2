"""A plan's tree, followed: what it costs where chances are uncertain, and where cases with known outcomes end."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from math import prod
from typing import Any

import numpy as np

from pandora_regret.inputs import FloatArray, IntArray
from pandora_regret.workup.description import Workup
from pandora_regret.workup.format import HALF, ROUNDING, noisy_or
from pandora_regret.workup.tree import PlanNode

DRAWS = 500
SEED = 1


class Walk:
    """What the nodes of a plan's tree stand for."""

    def __init__(self, workup: Workup) -> None:
        self.workup, every = workup, np.arange(len(workup.classes))
        self.losses = {"unresolved": np.array(workup.unresolved)}  # of each end
        self.named: dict[str, int] = {}  # the class that an end names
        for stop in workup.stops:
            self.losses[stop.name] = np.array(stop.losses)
            for k, name in enumerate(workup.classes if stop.names_class else ()):
                self.losses[f"{stop.name} {name}"] = self.losses[stop.name] * (every != k)
                self.named[f"{stop.name} {name}"] = k

    def branches(self, node: PlanNode) -> Iterator[tuple[list[tuple[int, int]], PlanNode]]:
        """Steps and outcomes, by number, and where they lead; in a round several are made."""
        index, steps = self.workup.step_index, self.workup.steps
        made = [node.name] if node.name in index else node.name.split(" + ")
        for text, child in node.branches.items():
            shown = text.split(" + ") if len(made) > 1 else [text]
            pairs = zip((index[name] for name in made), shown, strict=True)
            yield [(step, steps[step].outcomes.index(outcome)) for step, outcome in pairs], child

    def costs(self, node: PlanNode, table: Callable[[int], FloatArray]) -> Any:
        """What a tree costs if each class is the truth, (..., K), where steps have these chances, (..., O, K)."""
        if not node.branches:
            return self.losses[node.name] if node.kind == "stop" else 0.0
        return node.cost + sum(
            prod(table(step)[..., outcome, :] for step, outcome in pairs) * self.costs(child, table)
            for pairs, child in self.branches(node)
        )

    def ends(
        self, node: PlanNode, outcomes: IntArray, cases: IntArray, spent: float = 0.0, made: tuple[int, ...] = ()
    ) -> Iterator[tuple[PlanNode, IntArray, float, tuple[int, ...]]]:
        """Where cases end whose outcomes are known, (N, M): the end, these cases, what was spent, steps made."""
        if not node.branches:
            yield node, cases, spent, made
        for pairs, child in self.branches(node):
            here = cases[np.all([outcomes[cases, step] == outcome for step, outcome in pairs], axis=0)]
            yield from self.ends(child, outcomes, here, spent + node.cost, (*made, *dict(pairs)))


def cost_interval(
    workup: Workup, tree: PlanNode, p: FloatArray | None, found: Mapping[str, str | None], level: float = 0.95
) -> tuple[float, float] | tuple[None, None]:
    """The credible interval of a plan's cost: for a forecast, or for cases like those learned from."""
    if not any(step.counts for step in workup.steps):
        return None, None
    rng, steps, cases = np.random.default_rng(SEED), workup.steps, np.array(workup.cases)

    @cache
    def table(number: int) -> FloatArray:
        """Chances of the outcomes of a step, (O, K) as stated, or (draws, O, K) from the posterior."""
        step = steps[number]
        if not step.counts:
            return np.array(step.chances)
        drawn = rng.standard_gamma(np.array(step.counts) + HALF, (DRAWS, *np.shape(step.counts)))
        drawn /= drawn.sum(axis=1, keepdims=True)
        for k, causes in workup.sets:
            drawn[..., k] = noisy_or(drawn, step.normal, causes)
        return drawn

    if p is None:  # shares that are stated are certain, those of counted cases are not
        p = cases if cases.sum() < 1 + ROUNDING else rng.standard_gamma(cases, (DRAWS, len(cases)))
    for name, value in found.items():
        number = workup.step_index[name]
        p = p * table(number)[..., steps[number].outcome(value) or 0, :]
    means = (p * Walk(workup).costs(tree, table)).sum(axis=-1) / p.sum(axis=-1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
