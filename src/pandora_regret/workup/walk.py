"""A plan's tree, followed: what it costs where chances are uncertain, and where cases with known outcomes end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, combinations, product
from math import prod
from typing import Any

import numpy as np

from pandora_regret.inputs import FloatArray, IntArray
from pandora_regret.workup.description import Workup
from pandora_regret.workup.format import HALF, noisy_or
from pandora_regret.workup.tree import PlanNode

DRAWS = 1000
SEED = 1


class Walk:
    """What the nodes of a plan's tree stand for."""

    def __init__(self, workup: Workup) -> None:
        self.workup, names = workup, [step.name for step in workup.steps]
        rounds = (combinations(workup.together, size) for size in range(2, len(workup.together) + 1))
        made = chain(((name,) for name in names), *rounds)
        self.steps = {" + ".join(each): [names.index(name) for name in each] for each in made}
        self.losses: dict[str, FloatArray] = {"unresolved": np.array(workup.unresolved)}
        self.named: dict[str, int] = {}  # the class that an end names
        for stop in workup.stops:
            self.losses[stop.name] = np.array(stop.losses)
            for k, name in enumerate(workup.classes if stop.names_class else ()):
                self.losses[f"{stop.name} {name}"] = self.losses[stop.name] * (np.arange(len(workup.classes)) != k)
                self.named[f"{stop.name} {name}"] = k

    def branches(self, node: PlanNode) -> Iterator[tuple[list[tuple[int, int]], PlanNode]]:
        """Steps and outcomes, by number, and where they lead."""
        steps = self.steps[node.name]
        for results in product(*(range(len(self.workup.steps[step].outcomes)) for step in steps)):
            pairs = list(zip(steps, results, strict=True))
            text = " + ".join(self.workup.steps[step].outcomes[outcome] for step, outcome in pairs)
            if text in node.branches:
                yield pairs, node.branches[text]

    def used(self, node: PlanNode) -> set[int]:
        """The steps of a tree."""
        below = (self.used(child) for child in node.branches.values())
        return set().union(self.steps[node.name] if node.branches else (), *below)

    def costs(self, node: PlanNode, tables: list[FloatArray]) -> Any:
        """What a tree costs if each class is the truth, (..., K), where outcomes are as likely as tables say."""
        if not node.branches:
            return self.losses[node.name] if node.kind == "stop" else 0.0
        return node.cost + sum(
            prod(tables[step][..., outcome, :] for step, outcome in pairs) * self.costs(child, tables)
            for pairs, child in self.branches(node)
        )

    def ends(
        self, node: PlanNode, outcomes: IntArray, cases: IntArray
    ) -> Iterator[tuple[IntArray, PlanNode, float]]:
        """Where some of the cases end whose outcomes are known, (N, M), and what their steps cost."""
        if not node.branches:
            yield cases, node, 0.0
        for pairs, child in self.branches(node) if node.branches else ():
            here = cases[np.all([outcomes[cases, step] == outcome for step, outcome in pairs], axis=0)]
            yield from ((some, end, node.cost + spent) for some, end, spent in self.ends(child, outcomes, here))


def drawn_tables(workup: Workup, rng: np.random.Generator) -> list[FloatArray]:
    """Chances of each step's outcomes, (O, K) as stated, or (draws, O, K) from the posterior."""
    tables = []
    for step in workup.steps:
        table = np.array(step.chances)
        if step.counts:
            table = rng.standard_gamma(np.array(step.counts) + HALF, (DRAWS, *table.shape))
            table /= table.sum(axis=1, keepdims=True)
        for k, causes in workup.sets if step.counts else ():
            table[..., k] = noisy_or(table, step.normal, causes)
        tables.append(table)
    return tables


def cost_interval(
    workup: Workup, tree: PlanNode, p: FloatArray | None, found: Mapping[str, str | None], level: float = 0.95
) -> tuple[float, float] | tuple[None, None]:
    """The credible interval of a plan's cost: for a forecast, or for cases like those learned from."""
    if not any(step.counts for step in workup.steps):
        return None, None
    rng, walk, index = np.random.default_rng(SEED), Walk(workup), workup.step_index
    tables = drawn_tables(workup, rng)
    p = rng.standard_gamma(np.array(workup.cases) + HALF, (DRAWS, len(workup.classes))) if p is None else p
    for name, value in found.items():
        p = p * tables[index[name]][..., workup.steps[index[name]].outcome(value) or 0, :]
    means = (p * walk.costs(tree, tables)).sum(axis=-1) / p.sum(axis=-1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
