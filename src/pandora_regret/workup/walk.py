"""A plan's tree, followed by classes whose chances are uncertain, or by cases whose outcomes are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from math import prod

import numpy as np

from pandora_regret.inputs import FloatArray
from pandora_regret.workup.description import Workup
from pandora_regret.workup.format import HALF, ROUNDING, noisy_or
from pandora_regret.workup.tree import PlanNode

DRAWS, SEED = 500, 1


def follow(workup: Workup, node: PlanNode, table: Callable[[int], FloatArray]) -> FloatArray:
    """What comes of a tree on average, (..., 5, K), where the outcomes of a step have the chances (..., O, K).

    If each class is the truth: what steps cost, what the end loses, and how likely it is that an end is reached,
    that it names a class, and that it names a wrong one.
    """
    if not node.branches:
        nothing = (0.0,) * len(workup.classes)
        names = [(-1, ""), *((k, f" {name}") for k, name in enumerate(workup.classes))]
        ends = {end.name + name: (end.losses, k) for k, name in names for end in workup.endings}
        losses, named = ends[node.name] if node.kind == "stop" else (nothing, -1)
        wrong, ones = np.arange(len(losses)) != named, np.ones(len(losses))
        return np.stack([nothing, losses * wrong, ones, ones * (named >= 0), wrong * (named >= 0)])
    index, total = workup.step_index, np.array([[node.cost], [0.0], [0.0], [0.0], [0.0]])
    made = [node.name] if node.name in index else node.name.split(" + ")  # in a round, several steps
    for text, child in node.branches.items():
        shown = zip(made, text.split(" + ") if len(made) > 1 else [text], strict=True)
        numbers = ((index[name], workup.steps[index[name]].outcomes.index(outcome)) for name, outcome in shown)
        chance = prod(table(step)[..., outcome, None, :] for step, outcome in numbers)
        total = total + chance * follow(workup, child, table)
    return total


def cost_interval(
    workup: Workup, tree: PlanNode, p: FloatArray | None, found: Mapping[str, str | None], level: float = 0.95
) -> tuple[float, float] | tuple[None, None]:
    """The credible interval of a plan's cost: for a forecast, or for cases like those learned from."""
    if not any(step.counts for step in workup.steps):
        return None, None
    rng, steps, cases = np.random.default_rng(SEED), workup.steps, np.array(workup.cases)

    @cache
    def table(number: int) -> FloatArray:
        """As stated, or drawn from the posterior."""
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
    costs = follow(workup, tree, table)[..., :2, :].sum(axis=-2)
    low, high = np.quantile((p * costs).sum(axis=-1) / p.sum(axis=-1), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
