"""One case in plain Python, as the definitions have it: the specification of the fast path.

A search looks at candidates in their order and pays the price of each, the true one included. It ends with the
first true candidate (``until="first"``) or the last (``until="all"``). Elsewhere is one more candidate; it is
true where no listed candidate is, and its price is that of a miss. Candidates that tie are looked at in any
order, each as likely.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from pandora_regret.core.inputs import TOLERANCE
from pandora_regret.core.priors.base import TIE


@dataclass(frozen=True)
class Candidate:
    """One candidate of a case."""

    value: float  # its probability, or a score of which the highest comes first
    price: float
    is_true: bool


@dataclass(frozen=True)
class StopPlace:
    """A place in the order of a search: the lower comes first; equal ones tie."""

    level: int  # 0 for what is possible, 1 for what has probability 0, 2 for what comes last whatever it costs
    merit: float  # among the stops of a level the highest comes first
    price: float
    is_true: bool


def stops(listed: Sequence[Candidate], miss: float, has_probabilities: bool) -> list[StopPlace]:
    """The candidates of a case and elsewhere, in the order of the search.

    Parameters
    ----------
    listed
        The candidates of the case, in any order.
    miss
        The price of a miss.
    has_probabilities
        Whether values are probabilities, which a search divides by prices, or scores.
    """
    route = []
    for candidate in listed:
        if not has_probabilities:
            route.append(StopPlace(0, candidate.value, candidate.price, candidate.is_true))
        elif candidate.value > 0:
            route.append(StopPlace(0, candidate.value / candidate.price, candidate.price, candidate.is_true))
        else:  # the cheapest of what is held to be impossible first
            route.append(StopPlace(1, 1 / candidate.price, candidate.price, candidate.is_true))
    is_miss = not any(candidate.is_true for candidate in listed)
    rest = rest_of(listed) if has_probabilities else 0.0
    if rest == 0:
        route.append(StopPlace(2, 0.0, miss, is_miss))
    else:
        route.append(StopPlace(0, math.inf if miss == 0 else rest / miss, miss, is_miss))
    return sorted(route, key=lambda stop: (stop.level, -stop.merit))


def rest_of(listed: Sequence[Candidate]) -> float:
    """What the probabilities of a list leave for elsewhere; what rounding explains is nothing."""
    rest = 1 - math.fsum(candidate.value for candidate in listed)
    return rest if rest > TOLERANCE else 0.0


def tied_blocks(route: Sequence[StopPlace], has_probabilities: bool) -> list[list[StopPlace]]:
    """The stops in blocks of ties: a stop joins a block if its merit is that of the one before it.

    Scores tie as equal floats; quotients p / c do if they agree to a few units in the last place.
    """
    blocks: list[list[StopPlace]] = []
    for _, same_level in groupby(route, key=lambda stop: stop.level):
        merit_before = math.inf
        for stop in same_level:
            width = TIE * abs(stop.merit) if has_probabilities else 0.0
            if merit_before - stop.merit <= width:
                blocks[-1].append(stop)
            else:
                blocks.append([stop])
            merit_before = stop.merit
    return blocks


def mean_cost_over_ties(
    listed: Sequence[Candidate], miss: float, has_probabilities: bool = False, until: str = "first"
) -> float:
    """What the search of one case costs on average over the orders of what ties.

    In the block of the search's end, of h true stops, each other stop is looked at with probability ``1 / (h +
    1)`` before the first true one, and ``h / (h + 1)`` before the last; of the true ones the first is any, each
    with probability ``1 / h``, while all are paid before the last is found.
    """
    blocks = tied_blocks(stops(listed, miss, has_probabilities), has_probabilities)
    n_true_by_block = [sum(stop.is_true for stop in block) for block in blocks]
    with_truth = np.flatnonzero(n_true_by_block)
    end = with_truth[0] if until == "first" else with_truth[-1]
    cost = math.fsum(stop.price for block in blocks[:end] for stop in block)
    n_true = n_true_by_block[end]
    for stop in blocks[end]:
        if until == "first":
            chance = 1 / n_true if stop.is_true else 1 / (n_true + 1)
        else:
            chance = 1.0 if stop.is_true else n_true / (n_true + 1)
        cost += chance * stop.price
    return cost
