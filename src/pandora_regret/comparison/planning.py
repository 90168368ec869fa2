"""How many more cases to gather, asked of a comparison that is complete."""

from pandora_regret.comparison.judge import Evidence, more_cases
from pandora_regret.comparison.result import Comparison
from pandora_regret.core.inputs import InputError, read_number


def cases_needed(
    result: Comparison, power: float | None = None, *, against: str | None = None, difference: float | None = None
) -> int | None:
    """How many more cases would settle whether two models differ by as much as is worth acting on.

    The interval of their difference, between cases as varied as these, is then no wider than that: models that
    differ by so much are told apart, and models that cost the same come out as level, each with the probability
    `power`. That holds for this difference, not jointly for several.

    Parameters
    ----------
    result
        What `compare` returned.
    power
        The probability; unless given, that with which an end of an interval holds (97.5 % at a level of 95 %),
        after which the verdict cannot be "undecided".
    against
        The model that the cheapest one is told apart from; the runner-up unless given.
    difference
        Of the mean cost per case; the comparison's margin (`worth`) unless given.

    Returns
    -------
    0 where these cases are enough; None where no number is, as for a difference of zero.

    Examples
    --------
    >>> import numpy as np
    >>> from pandora_regret import compare
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 3, 200)
    >>> models = {name: rng.dirichlet([1.0, 1.0, 1.0], 200) for name in ("one", "other")}
    >>> cases_needed(compare(truth, models)) > 200
    True
    """
    if power is not None:
        power = read_number(power, "power")
        if not 0 < power < 1:
            raise InputError(f"is {power:g}", argument="power", fix="it must lie between 0 and 1, such as 0.8")
    gaps = result.gaps
    if not gaps:
        raise InputError("has one model", argument="result", fix="compare it with another")
    name = result.models[1].name if against is None else against
    if name not in gaps:
        raise InputError(f"is {against!r}", argument="against", fix=f"pass one of {', '.join(map(repr, gaps))}")
    size = result.verdict.margin if difference is None else abs(difference)
    evidence = Evidence(result.data.rows, result.data.clusters, result.interval.level)
    return more_cases(gaps[name].more, evidence, size, power)
