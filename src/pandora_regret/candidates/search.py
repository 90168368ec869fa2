"""The order of a search along the lists of all cases at once, and how likely each look is.

All that a search costs or counts is a sum over looks: of prices, or of ones. So what is computed here is one
number per candidate, the probability that it is looked at; `reference.py` says what that is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
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
COMES_LAST = 2  # elsewhere, where the list leaves nothing or is an order
N_LEVELS = 3
DIGIT = 16  # bits: whole numbers so small are sorted in one pass


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

    @cached_property
    def block_starts(self) -> IntArray:
        """The place where each block begins, (B,)."""
        return np.flatnonzero(np.diff(self.block, prepend=-1))

    @cached_property
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


@dataclass(frozen=True)
class Looks:
    """How likely each look is."""

    on_list: FloatArray  # (C,) at each candidate, in the order of the lists as they were handed in
    elsewhere: FloatArray  # (N,) in each case


def looks_along(route: Route, n_candidates: int, until: Until) -> Looks:
    """The looks of searches in which elsewhere comes last."""
    chances = route.chances(until)
    by_row = np.empty(len(chances))
    by_row[route.row] = chances
    return Looks(by_row[:n_candidates], by_row[n_candidates:])


@dataclass(frozen=True)
class Elsewhere:
    """What it takes to move elsewhere along the lists of all cases, as the price of a miss changes.

    A case with a true candidate looks at the same candidates wherever elsewhere comes: it is looked at, too, if it
    comes before the end of the search. A case without one ends elsewhere: it looks at what comes before.
    """

    last: Looks  # where it comes last
    case: IntArray  # (C,)
    merit: FloatArray  # (C,) the quotient of each candidate
    rest: FloatArray  # (N,) its probability
    is_missed: BoolArray  # (N,)
    end_merit: FloatArray  # (N,) the quotient at which the search ends that finds a true candidate
    n_true_at_end: IntArray  # (N,) how many true ones tie there
    until: Until

    def at(self, miss: float) -> Looks:
        """The looks where a miss costs so much: elsewhere comes at its probability over that."""
        with np.errstate(divide="ignore", invalid="ignore"):
            merit = np.where(self.rest > 0, self.rest / np.float64(miss), -np.inf)
        n_true = np.maximum(self.n_true_at_end, 1)
        of_tie = 1 / (n_true + 1) if self.until == "first" else n_true / (n_true + 1)
        elsewhere = np.where(self.is_missed, 1.0, _chance_before(merit, self.end_merit, of_tie))
        if not self.is_missed.any():
            return Looks(self.last.on_list, elsewhere)
        of_case = merit[self.case]
        before = np.where(of_case == -np.inf, 1.0, _chance_before(self.merit, of_case, 0.5))
        return Looks(np.where(self.is_missed[self.case], before, self.last.on_list), elsewhere)


def _chance_before(merit: FloatArray, end: FloatArray, of_tie: FloatArray | float) -> FloatArray:
    """How likely a look at one merit is before a search ends at another; `of_tie` where they tie."""
    with np.errstate(invalid="ignore"):
        gap = merit - end
        is_tie = np.abs(gap) <= TIE * np.minimum(np.abs(merit), np.abs(end))
    return np.where(is_tie, of_tie, np.where(gap > 0, 1.0, 0.0))


def end_of_searches(
    route: Route, merit: FloatArray, is_true: BoolArray, case: IntArray, until: Until
) -> tuple[FloatArray, IntArray]:
    """The merit at which each search ends on its list, and how many true candidates tie there, (N,) each."""
    n_true = route.true_in_block[route.end_blocks(until)]
    ends = np.full(route.n_cases, -np.inf if until == "first" else np.inf)
    choose = np.maximum if until == "first" else np.minimum
    choose.at(ends, case[is_true], merit[is_true])
    return ends, n_true


def sums_by_case(values: FloatArray, case: IntArray, n_cases: int) -> FloatArray:
    """The sum of each case's values, (N,)."""
    return np.asarray(np.bincount(case, values, n_cases), dtype=np.float64)


def rests(probabilities: FloatArray, case: IntArray, n_cases: int) -> FloatArray:
    """What the probabilities of each list leave for elsewhere, (N,); what rounding explains is nothing."""
    rest = 1 - sums_by_case(probabilities, case, n_cases)
    return np.where(rest > TOLERANCE, rest, 0.0)


def quotients(probabilities: FloatArray, prices: FloatArray) -> FloatArray:
    """``p / c`` of each candidate, (C,); ``-c`` where it is held to be impossible: the cheapest leads."""
    return np.where(probabilities > 0, probabilities / prices, -prices)


def route_of_probabilities(
    case: IntArray, probabilities: FloatArray, prices: FloatArray, is_true: BoolArray, n_cases: int
) -> Route:
    """By falling p / c; what is impossible after that, the cheapest first; elsewhere last, as if a miss cost much.

    Parameters
    ----------
    case
        Of each candidate, (C,), rising.
    probabilities, prices, is_true
        Of each candidate, (C,).
    n_cases
        How many cases there are, those with empty lists included.
    """
    levels = np.concatenate([np.where(probabilities > 0, POSSIBLE, IMPOSSIBLE), np.full(n_cases, COMES_LAST)])
    merits = np.concatenate([quotients(probabilities, prices), np.zeros(n_cases)])
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
    levels = np.concatenate([np.full(len(case), POSSIBLE), np.full(n_cases, COMES_LAST)])
    merits = np.concatenate([scores, np.zeros(n_cases)])
    return _route(case, levels, merits, is_true, n_cases, relative_tie=0.0)


def _sorted_by(places: IntArray, merits: FloatArray) -> IntArray:
    """The rows by place, not negative, and by falling merit within a place, (R,).

    By merit first, and then, stably, by the digits of the place, the lowest first: several times as fast as to
    compare both.
    """
    order = np.argsort(-merits)
    for shift in range(0, int(places.max(initial=0)).bit_length(), DIGIT):
        digits = (places >> shift).astype(np.uint16)
        order = order[np.argsort(digits[order], kind="stable")]
    return order


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
    order = _sorted_by(cases * N_LEVELS + levels, merits)
    case_along = cases[order]
    level_along = levels[order]
    merit_along = merits[order]
    with np.errstate(invalid="ignore"):
        step = merit_along[:-1] - merit_along[1:]
        ties = step <= relative_tie * np.abs(merit_along[1:])
    ties &= (case_along[1:] == case_along[:-1]) & (level_along[1:] == level_along[:-1])
    block = np.cumsum(np.concatenate([[True], ~ties])) - 1
    return Route(order, case_along, truths[order], block, n_cases)
