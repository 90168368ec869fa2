"""Rules of thumb that look one step ahead: advice for one case, never a score.

A policy that a rule computes from the forecast is not the best one for it, so a forecaster can gain by shading:
with unit costs, groups {0, 1}, {0, 2}, {1, 3} and four equally likely classes, the greedy order of the honest
forecast costs 1.75, that of (.2, .2, .3, .3) only 1.50. Not a proper score.
"""

from __future__ import annotations

import numpy as np

from pandora_regret.inputs import FloatArray
from pandora_regret.workup.states import Branch, State, StateSpace


class Myopic:
    """The step that gains most per cost.

    Gained is by "greedy" the chance of being done, or what stopping then loses less; by "information" entropy.
    Where there are ways to stop, it stops as soon as no single step pays for itself.
    """

    def __init__(self, space: StateSpace, p: FloatArray, rule: str) -> None:
        self.space, self.p, self.rule, self.stops = space, p, rule, space.workup.stops

    def option(self, state: State, likelihood: FloatArray) -> tuple[int, list[Branch]] | None:
        """The action to take and its branches, or None to stop."""
        terms = self.p * likelihood
        terms = terms if terms.any() else likelihood  # as if all classes were alike
        moves = list(self.space.moves(state))
        if not moves or (self.stops and not any(self._pays(terms, state, *move) for move in moves)):
            return None
        return max(moves, key=lambda move: self._merit(terms, state, *move))  # the first of equals

    def _pays(self, terms: FloatArray, state: State, action: int, branches: list[Branch]) -> bool:
        """Whether the best stop after the step, with what it costs, is better than the best stop now."""
        gain, cost = self._gain(terms, state, action, branches, "greedy", 0.0)
        return bool(gain > cost * terms.sum())

    def _merit(self, terms: FloatArray, state: State, action: int, branches: list[Branch]) -> float:
        gain, cost = self._gain(terms, state, action, branches, self.rule, 0.0)
        return gain / cost if cost > 0 else np.inf

    def _gain(
        self, terms: FloatArray, state: State, action: int, branches: list[Branch], rule: str, spent: float
    ) -> tuple[float, float]:
        """What an action gains and costs; one that tells nothing by itself counts with the best that it allows."""
        workup = self.space.workup
        cost = spent + workup.fee + sum(workup.steps[step].cost for step in self.space.actions[action])
        if len(branches) == 1 and branches[0].state is not None:
            after = branches[0].state
            further = [self._gain(terms, after, *move, rule, cost) for move in self.space.moves(after)]
            return max(further, key=lambda pair: pair[0] / pair[1] if pair[1] else np.inf, default=(0.0, cost))
        parts = [(terms * self.space.chance(action, branch), branch.state is None) for branch in branches]
        if rule == "information":
            return _entropy(terms) - sum(_entropy(part) for part, _ in parts), cost
        if self.stops:
            return self._stop_loss(terms) - sum(self._stop_loss(part) for part, ended in parts if not ended), cost
        return float(sum(part.sum() for part, ended in parts if ended)), cost

    def _stop_loss(self, terms: FloatArray) -> float:
        return min(stop_loss(terms, stop.losses, stop.names_class) for stop in self.stops)


def stop_loss(terms: FloatArray, losses: tuple[float, ...], names_class: bool) -> float:
    """What a way to stop is expected to lose, times the probability of being there."""
    weighted = terms * losses
    return float(weighted.sum() - (weighted.max() if names_class else 0.0))


def _entropy(terms: FloatArray) -> float:
    """Shannon's entropy of unnormalised probabilities, times their sum."""
    positive = terms[terms > 0]
    return float(-(positive * np.log(positive / positive.sum())).sum())
