"""What to do, as far as the data settle it: deploy, recalibrate first, or gather so many more cases."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy.special import ndtri

from pandora_regret.compare.result import Comparison, Difference, ModelResult, Verdict
from pandora_regret.inputs import InputError
from pandora_regret.inputs.numbers import read_number

POWER = 0.8


def cases_needed(
    result: Comparison, power: float = POWER, *, against: str | None = None, difference: float | None = None
) -> int | None:
    """How many more cases would settle which of two models is cheaper.

    A difference of the size that was found, between cases as varied as these, would then lie outside zero's
    interval, at the comparison's level, with the probability `power`.

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
    size = abs(gap.difference if size is None else size)
    if gap.low is None or gap.high is None or size == 0:
        return None
    margin, normal = (gap.high - gap.low) / 2, float(ndtri((1 + level) / 2))
    needed = rows * ((normal + float(ndtri(power))) / normal * margin / size) ** 2
    return max(0, math.ceil(needed) - rows) if math.isfinite(needed) else None


def verdict(
    models: Sequence[ModelResult],
    differences: Sequence[Difference],
    rows: int,
    level: float,
    sentences: tuple[str, ...],
) -> Verdict:
    """Deploy the cheapest model if the data tell it apart from every other.

    Zero outside each of the paired intervals is enough, however many models there are: that the model which came
    out first is told apart from all others by chance is the likeliest if there are two of them (Gutmann and
    Maymin, Is the selected population the best?, 1987).
    """
    leader = models[0].name
    gaps = [gap for gap in differences if gap.model == leader and not gap.is_settled]
    if len(models) == 1:
        return Verdict("single", leader, (), None, (), sentences)
    needed = [cases for gap in gaps if (cases := more_cases(gap, rows, level, POWER)) is not None]
    kind = "undecided" if gaps else "deploy"
    return Verdict(kind, leader, tuple(gap.against for gap in gaps), max(needed, default=None), (), sentences)
