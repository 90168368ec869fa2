"""What each of the paper's four rules tests, for one forecast of three classes and all over the simplex."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations, product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.inputs import FloatArray, read_choice, read_costs, read_probabilities
from pandora_regret.inputs.labels import read_truth
from pandora_regret.plots.simplex import LONGEST_NAME, WHOLE, area_and_centre, clipped, three_classes
from pandora_regret.text import shortened

RULES = {
    "simultaneous": "tests every class with p > c",
    "pairwise": "tests the better of the truth and one other class",
    "top1": "tests the class of largest p / c, and no other",
    "sequential": "tests by falling p / c until it finds the truth",
}
COSTS, FORECAST = (0.25, 0.2, 0.35), (0.35, 0.5, 0.15)  # of the paper's figure as it is drawn here
NOTHING = 1e-12  # a part of the simplex so small is rounding


@dataclass(frozen=True)
class Region:
    """Forecasts that make a rule test the same classes."""

    tested: tuple[int, ...]  # in the order of the tests, where there is one
    corners: FloatArray  # (n, 3)


@dataclass(frozen=True)
class Case:
    """A rule, and one instance it is applied to."""

    rule: str
    forecast: FloatArray  # (3,)
    costs: FloatArray  # (3,)
    truth: int
    names: tuple[str, ...]

    @property
    def tested(self) -> tuple[int, ...]:
        """What the rule tests: that of the part of the simplex where the forecast lies deepest."""
        cuts = _CUTS[self.rule](self.costs, self.truth)
        return max(cuts, key=lambda cut: min(side @ self.forecast for side in cut[1]))[0]

    @property
    def rival(self) -> int:
        """The class that the truth is compared with, in a pairwise comparison."""
        return _rival(self.truth)

    def regions(self) -> list[Region]:
        """All parts of the simplex that the rule tells apart; together they are all of it."""
        regions = []
        for tested, sides in _CUTS[self.rule](self.costs, self.truth):
            corners = WHOLE
            for side in sides:
                corners = clipped(corners, side)
            regions.append(Region(tested, corners))
        return [region for region in regions if area_and_centre(region.corners)[0] > NOTHING]


def read_case(rule: str, forecast: Any, costs: Any, truth: Any, labels: ArrayLike | None) -> Case:
    """A rule and an instance of three classes, checked."""
    read_choice(rule, "rule", RULES)
    case = three_classes(read_probabilities([forecast], labels=labels, name="forecast")).check()
    prices = np.broadcast_to(read_costs(costs, case.labels, len(case)), (1, 3))[0]
    number = 0 if truth is None else int(read_truth([truth], case.labels, 1)[0])
    names = (
        ("1", "2", "3") if labels is None else tuple(shortened(str(label), LONGEST_NAME) for label in case.labels)
    )
    return Case(rule, case.values[0].astype(np.float64), prices, number, names)


Cuts: TypeAlias = Iterator[tuple[tuple[int, ...], Sequence[FloatArray]]]  # tested where every ``side @ p >= 0``


def _simultaneous(costs: FloatArray, truth: int) -> Cuts:
    above = np.eye(3) - costs[:, None]  # p_k - c_k, as p adds up to 1
    for signs in product([1.0, -1.0], repeat=3):
        yield tuple(k for k in range(3) if signs[k] > 0), list(np.array(signs)[:, None] * above)


def _pairwise(costs: FloatArray, truth: int) -> Cuts:
    other = _rival(truth)
    yield (truth,), [_before(truth, other, costs)]
    yield (other,), [_before(other, truth, costs)]


def _top1(costs: FloatArray, truth: int) -> Cuts:
    for k in range(3):
        yield (k,), [_before(k, j, costs) for j in range(3) if j != k]


def _sequential(costs: FloatArray, truth: int) -> Cuts:
    others = [k for k in range(3) if k != truth]
    for first in (order for n in range(3) for order in permutations(others, n)):
        tests = (*first, truth)
        pairs = [*pairwise(tests), *((truth, k) for k in others if k not in first)]
        yield tests, [_before(a, b, costs) for a, b in pairs]


def _rival(truth: int) -> int:
    return (truth + 1) % 3


def _before(a: int, b: int, costs: FloatArray) -> FloatArray:
    """``p_a / c_a - p_b / c_b``."""
    side = np.zeros(3)
    side[[a, b]] = 1 / costs[a], -1 / costs[b]
    return side


_CUTS = {"simultaneous": _simultaneous, "pairwise": _pairwise, "top1": _top1, "sequential": _sequential}
