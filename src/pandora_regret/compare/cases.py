"""How many more cases would settle which of two models is cheaper."""

from __future__ import annotations

import math

from scipy.special import ndtri

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
    return more_cases(gap, result.data.rows, result.interval.level, power, difference)


def _gap(result: Comparison, against: str | None) -> Difference:
    """The cheapest model less another."""
    gaps = {gap.against: gap for gap in result.differences if gap.model == result.best.name}
    if not gaps:
        raise InputError("has one model", argument="result", fix="compare it with another")
    name = result.models[1].name if against is None else against
    if name not in gaps:
        raise InputError(f"is {against!r}", argument="against", fix=f"pass one of {', '.join(map(repr, gaps))}")
    return gaps[name]


def more_cases(gap: Difference, rows: int, level: float, power: float, size: float | None = None) -> int | None:
    """Beside so many rows; the interval's half-width shrinks with the root of their number."""
    if size is None and gap.is_settled:
        return 0
    size = abs(gap.difference if size is None else size)
    if gap.low is None or gap.high is None or size == 0:
        return None
    margin, normal = (gap.high - gap.low) / 2, float(ndtri((1 + level) / 2))
    needed = rows * ((normal + float(ndtri(power))) / normal * margin / size) ** 2
    return max(0, math.ceil(needed) - rows) if needed < MOST_CASES else None
