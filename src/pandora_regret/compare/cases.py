"""How many more cases would settle which of two models is cheaper."""

from __future__ import annotations

import math
from bisect import bisect_left

from scipy.special import ndtri, stdtrit

from pandora_regret.compare.result import Comparison, Difference
from pandora_regret.inputs import InputError
from pandora_regret.inputs.numbers import read_number

POWER = 0.8
MOST_CASES = 1e12  # beyond it nobody would count


def cases_needed(
    result: Comparison, power: float = POWER, *, against: str | None = None, difference: float | None = None
) -> int | None:
    """How many more cases would settle which of two models is cheaper.

    A difference of the size that was found, between cases as varied as these, would then lie outside zero's
    interval, at the comparison's level, with the probability `power`. That holds for this difference, not jointly
    for several; and as models that lead by luck seem further ahead than they are, the number of a difference that
    was found is an optimistic one: pass the `difference` that matters to you where you plan a study.

    Parameters
    ----------
    result
        What `compare` returned.
    power
        The probability that so many cases settle it.
    against
        The model that the cheapest one is told apart from; the runner-up unless given.
    difference
        Of the mean cost per case, instead of the one that was found: the least that would matter to you.

    Returns
    -------
    0 where these cases are enough; None where no number is, as for a difference of zero.

    Examples
    --------
    >>> import numpy as np
    >>> from pandora_regret.compare import compare
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 3, 200)
    >>> models = {name: rng.dirichlet([1.0, 1.0, 1.0], 200) for name in ("one", "other")}
    >>> cases_needed(compare(truth, models)) > 200
    True
    """
    if not 0 < (power := read_number(power, "power")) < 1:
        raise InputError(f"is {power:g}", argument="power", fix="it must lie between 0 and 1, such as 0.8")
    gap = _gap(result, against)
    return more_cases(gap, result.data.rows, result.data.clusters, result.interval.level, power, difference)


def _gap(result: Comparison, against: str | None) -> Difference:
    """The cheapest model less another."""
    gaps = {gap.against: gap for gap in result.differences if gap.model == result.best.name}
    if not gaps:
        raise InputError("has one model", argument="result", fix="compare it with another")
    name = result.models[1].name if against is None else against
    if name not in gaps:
        raise InputError(f"is {against!r}", argument="against", fix=f"pass one of {', '.join(map(repr, gaps))}")
    return gaps[name]


def more_cases(
    gap: Difference, rows: int, clusters: int | None, level: float, power: float, size: float | None = None
) -> int | None:
    """Beside so many rows; the standard error behind the interval shrinks with the root of their number."""
    if size is None and gap.is_settled:
        return 0
    fewest, size = (0, abs(size)) if size is not None else (1, abs(gap.difference))
    if gap.low is None or gap.high is None or size == 0:
        return None
    units, tail = clusters or rows, (1 + level) / 2
    error = (gap.high - gap.low) / 2 / stdtrit(units - 1, tail)

    def is_enough(more: int) -> bool:
        """Student's quantile falls, as the standard error does, while cases come in."""
        share = 1 + more / rows
        return bool((stdtrit(units * share - 1, tail) + ndtri(power)) * error / math.sqrt(share) <= size)

    enough = 1
    while not is_enough(enough):
        enough *= 2
        if enough > MOST_CASES:
            return None
    return bisect_left(range(enough), True, lo=fewest, key=is_enough)
