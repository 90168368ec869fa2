"""The order of a search along the lists of all cases at once, and how likely each look is.

All that a search costs or counts is a sum over looks: of prices, or of ones. So what is computed here is one
number per candidate, the probability that it is looked at; `reference.py` says what that is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs import TOLERANCE, FloatArray, IntArray
from pandora_regret.core.priors.base import TIE

BoolArray: TypeAlias = NDArray[np.bool_]
Until: TypeAlias = Literal["first", "all"]
UNTIL = {"first": "the search ends with the first true candidate", "all": "it goes on to the last one listed"}

POSSIBLE = 0  # levels of an order: all of one come before the next
IMPOSSIBLE = 1  # probability 0
LAST = 2  # elsewhere, where the list leaves nothing or is an order


@dataclass(frozen=True)
class Route:
    """The candidates of all cases, and elsewhere of each, in the order of their searches: R = all candidates + N.

    Blocks are runs of ties, numbered through all cases.
    """

    row: IntArray  # (R,) the candidate's number; elsewhere of case n is the number of candidates + n
    case: IntArray  # (R,) rising
    is_true: BoolArray  # (R,)
    block: IntArray  # (R,) rising
    n_cases: int

    @property
    def block_starts(self) -> IntArray:
        """The place where each block begins, (B,)."""
        return np.flatnonzero(np.diff(self.block, prepend=-1))

    @property
    def true_in_block(self) -> IntArray:
        """How many stops of each block are true, (B,)."""
        return np.add.reduceat(self.is_true.astype(np.intp), self.block_starts)

    def end_blocks(self, until: Until) -> IntArray:
        """The block in which the search of each case ends, (N,)."""
        with_truth = np.flatnonzero(self.true_in_block)
        cases = self.case[self.block_starts[with_truth]]
        ends = np.empty(self.n_cases, dtype=np.intp)
        if until == "first":
            ends[cases[::-1]] = with_truth[::-1]  # of equal cases the assignment that comes last stays
        else:
            ends[cases] = with_truth
        return ends

    def chances(self, until: Until) -> FloatArray:
        """The probability that each stop is looked at, (R,), over the orders of what ties."""
        ends = self.end_blocks(until)[self.case]
        n_true = np.maximum(self.true_in_block[self.block], 1)  # where there are none, it is not the end
        if until == "first":
            in_last_block = np.where(self.is_true, 1 / n_true, 1 / (n_true + 1))
        else:
            in_last_block = np.where(self.is_true, 1.0, n_true / (n_true + 1))
        return np.where(self.block < ends, 1.0, np.where(self.block == ends, in_last_block, 0.0))


def sums_by_case(values: FloatArray, case: IntArray, n_cases: int) -> FloatArray:
    """The sum of each case's values, (N,)."""
    return np.asarray(np.bincount(case, values, n_cases), dtype=np.float64)


def rests(probabilities: FloatArray, case: IntArray, n_cases: int) -> FloatArray:
    """What the probabilities of each list leave for elsewhere, (N,); what rounding explains is nothing."""
    rest = 1 - sums_by_case(probabilities, case, n_cases)
    return np.where(rest > TOLERANCE, rest, 0.0)


def route_of_probabilities(
    case: IntArray, probabilities: FloatArray, prices: FloatArray, is_true: BoolArray, n_cases: int, miss: float
) -> Route:
    """By falling p / c, elsewhere among them; what is impossible after that, the cheapest first.

    Parameters
    ----------
    case
        Of each candidate, (C,), rising.
    probabilities, prices, is_true
        Of each candidate, (C,).
    n_cases
        How many cases there are, those with empty lists included.
    miss
        The price of a miss; infinity where it is not known, and elsewhere then comes last.
    """
    is_possible = probabilities > 0
    level = np.where(is_possible, POSSIBLE, IMPOSSIBLE)
    merit = np.where(is_possible, probabilities, 1.0) / prices
    rest = rests(probabilities, case, n_cases)
    has_place = (rest > 0) & (miss < np.inf)
    elsewhere_level = np.where(has_place, POSSIBLE, LAST)
    with np.errstate(divide="ignore", invalid="ignore"):
        elsewhere_merit = np.where(has_place, rest / np.float64(miss), 0.0)
    merits = np.concatenate([merit, elsewhere_merit])
    levels = np.concatenate([level, elsewhere_level])
    return _route(case, levels, merits, is_true, n_cases, relative_tie=TIE)


def route_of_scores(case: IntArray, scores: FloatArray, is_true: BoolArray, n_cases: int) -> Route:
    """By falling score, elsewhere last; equal scores tie.

    Parameters
    ----------
    case, is_true, n_cases
        As in `route_of_probabilities`.
    scores
        Of each candidate, (C,); the highest comes first.
    """
    levels = np.concatenate([np.full(len(case), POSSIBLE), np.full(n_cases, LAST)])
    merits = np.concatenate([scores, np.zeros(n_cases)])
    return _route(case, levels, merits, is_true, n_cases, relative_tie=0.0)


def _route(
    case: IntArray,
    levels: IntArray,
    merits: FloatArray,
    is_true: BoolArray,
    n_cases: int,
    relative_tie: float,
) -> Route:
    """The stops of all cases, those of elsewhere after the others, put in order."""
    cases = np.concatenate([case, np.arange(n_cases)])
    hits = np.bincount(case, is_true, n_cases)
    truths = np.concatenate([is_true, hits == 0])
    order = np.lexsort((-merits, levels, cases))
    case_along = cases[order]
    level_along = levels[order]
    merit_along = merits[order]
    with np.errstate(invalid="ignore"):
        step = merit_along[:-1] - merit_along[1:]
        ties = step <= relative_tie * np.abs(merit_along[1:])
    ties &= (case_along[1:] == case_along[:-1]) & (level_along[1:] == level_along[:-1])
    block = np.cumsum(np.concatenate([[True], ~ties])) - 1
    return Route(order, case_along, truths[order], block, n_cases)
