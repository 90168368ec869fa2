"""What comes of a plan's tree: for each class on average, for cases with known outcomes, or for drawn rates."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.random import Generator

from pandora_regret.core.inputs import FloatArray
from pandora_regret.workup.data import HALF, ROUNDING, WorkupData, noisy_or
from pandora_regret.workup.states import Findings, ShownOutcomes, list_results, result_in_words
from pandora_regret.workup.tree import PlanNode

N_DRAWS = 500  # of rates, for the credible interval
SEED = 1

OutcomeTable: TypeAlias = Callable[[int], FloatArray]  # of a step's number: chances of its outcomes, (..., O, K)


def follow(workup: WorkupData, node: PlanNode, outcome_table: OutcomeTable) -> FloatArray:
    """What comes of a tree on average, if each class is the truth.

    Parameters
    ----------
    workup
        K classes, and the steps that the tree names.
    node
        Where to begin.
    outcome_table
        The chances of the outcomes of a step, (..., O, K), by its number. Leading axes may be cases or draws.

    Returns
    -------
    array
        Shape (..., 5, K): what steps cost, what the end loses, and how likely it is that an end is reached, that
        it names a class, and that it names a wrong one.
    """
    if not node.branches:
        return end_of(workup, node)
    steps = steps_of(workup, node)
    total: FloatArray = np.array([[node.cost], [0.0], [0.0], [0.0], [0.0]])
    results = results_by_name(workup, steps)
    for text, child in node.branches.items():
        chance: FloatArray = np.ones(1)
        for step, outcome in results[text]:
            chance = chance * outcome_table(step)[..., outcome, None, :]
        total = total + chance * follow(workup, child, outcome_table)
    return total


def steps_of(workup: WorkupData, node: PlanNode) -> list[int]:
    """The numbers of the steps that are made at one point of a tree: one, or in a round several."""
    return [workup.step_index[name] for name in node.steps]


def results_by_name(workup: WorkupData, steps: Sequence[int]) -> dict[str, ShownOutcomes]:
    """All that some steps may show together, by how the branches of a tree call it."""
    return {result_in_words(workup, result): result for result in list_results(workup, steps)}


def end_of(workup: WorkupData, node: PlanNode) -> FloatArray:
    """As `follow`, where a tree ends: (5, K)."""
    n_classes = len(workup.classes)
    losses = np.zeros(n_classes)
    named = None
    if node.stop is not None:
        [stop] = [stop for stop in workup.endings if stop.name == node.stop]
        losses = np.array(stop.losses)
    if node.named is not None:
        named = workup.classes.index(node.named)
    is_wrong = np.arange(n_classes) != named
    names_class = float(named is not None)
    return np.stack(
        [
            np.zeros(n_classes),
            losses * is_wrong,
            np.ones(n_classes),
            np.full(n_classes, names_class),
            is_wrong * names_class,
        ]
    )


def cost_by_class(workup: WorkupData, tree: PlanNode) -> dict[str, float]:
    """What a tree costs on average if a class is the truth, of the classes that may be."""

    def stated(step: int) -> FloatArray:
        return np.array(workup.steps[step].chances)

    spent, lost, *_ = follow(workup, tree, stated)
    costs = (spent + lost).tolist()
    return {name: cost for name, cost in zip(workup.classes, costs, strict=True) if tree.posterior[name] > 0}


def cost_interval(
    workup: WorkupData, tree: PlanNode, p: FloatArray | None, found: Findings, level: float = 0.95
) -> tuple[float, float] | tuple[None, None]:
    """The credible interval of a plan's cost, where rates were learned.

    Parameters
    ----------
    workup, tree
        The plan is followed with rates drawn from their posterior.
    p
        A forecast, (K,); None for cases like those learned from, whose shares are then drawn, too.
    found
        Outcomes of steps made so far.
    level
        How likely it is that the cost lies within the interval.

    Returns
    -------
    tuple
        Its ends; None and None where all rates are stated.
    """
    if not any(step.counts for step in workup.steps):
        return None, None
    rng = np.random.default_rng(SEED)

    @cache
    def drawn(step: int) -> FloatArray:
        return draw_outcomes(workup, step, rng)

    weights = draw_shares(workup, rng) if p is None else p
    for name, value in found.items():
        number = workup.step_index[name]
        weights = weights * drawn(number)[..., workup.steps[number].outcome(value), :]
    costs = follow(workup, tree, drawn)[..., :2, :].sum(axis=-2)
    means = (weights * costs).sum(axis=-1) / weights.sum(axis=-1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return low, high


def draw_outcomes(workup: WorkupData, number: int, rng: Generator) -> FloatArray:
    """The chances of a step's outcomes: (O, K) as stated, or (draws, O, K) from the posterior of learned ones."""
    step = workup.steps[number]
    if not step.counts:
        return np.array(step.chances)
    counts = np.array(step.counts)
    rates = rng.standard_gamma(counts + HALF, (N_DRAWS, *counts.shape))
    rates /= rates.sum(axis=1, keepdims=True)
    for k, causes in workup.sets:
        rates[..., k] = noisy_or(rates, step.normal, causes)
    return rates


def draw_shares(workup: WorkupData, rng: Generator) -> FloatArray:
    """The classes' shares: (K,) where they are stated, or (draws, K) from the posterior of counted cases."""
    cases = np.array(workup.cases)
    if cases.sum() < 1 + ROUNDING:
        return cases
    return rng.standard_gamma(cases, (N_DRAWS, len(cases)))
