"""What to do, as far as the data settle it: deploy, recalibrate first, or gather so many more cases."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from scipy.special import ndtri, stdtrit

from pandora_regret.compare.result import Comparison, Decision, Difference, ModelResult, Recalibrated
from pandora_regret.compare.words import DO_NOT_TRUST, per_case
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inputs import InputError
from pandora_regret.inputs.numbers import read_number
from pandora_regret.text import listed, money, percent

POWER = 0.8
MOST_CASES = 1e12  # beyond it nobody would count
MOST_NAMES = 4  # in one sentence
NOTHING = 1e-3  # of the cost: a saving that no reader would notice


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
    gaps = {gap.against: gap for gap in result.differences if gap.model == result.best.name}
    if not gaps:
        raise InputError("has one model", argument="result", fix="compare it with another")
    name = result.models[1].name if against is None else against
    if name not in gaps:
        raise InputError(f"is {against!r}", argument="against", fix=f"pass one of {', '.join(map(repr, gaps))}")
    data = result.data
    return more_cases(gaps[name], data.rows, data.clusters, result.interval.level, power, difference)


def more_cases(
    gap: Difference, cases: int, clusters: int | None, level: float, power: float, size: float | None = None
) -> int | None:
    """Beside so many cases; the standard error behind the interval shrinks with the root of their number."""
    if size is None and gap.is_settled:
        return 0
    fewest, size = (0, abs(size)) if size is not None else (1, abs(gap.difference))
    if gap.low is None or gap.high is None or size == 0:
        return None
    units, tail = clusters or cases, (1 + level) / 2
    error = (gap.high - gap.low) / 2 / stdtrit(units - 1, tail)

    def is_enough(more: int) -> bool:
        """Student's quantile falls, as the standard error does, while cases come in."""
        share = 1 + more / cases
        return bool((stdtrit(units * share - 1, tail) + ndtri(power)) * error / math.sqrt(share) <= size)

    enough = 1
    while not is_enough(enough):
        enough *= 2
        if enough > MOST_CASES:
            return None
    return bisect_left(range(enough), True, lo=fewest, key=is_enough)


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on; the cheapest model comes first."""

    models: Sequence[ModelResult]
    differences: Sequence[Difference]
    both_recalibrated: Mapping[str, Estimate]  # each model's recalibrated cost less the leader's recalibrated cost
    cases: int
    clusters: int | None  # None where every case is one of its own
    level: float
    unit: str | None  # of the costs; None where nobody said what tests cost
    what: str = "search"

    @property
    def leader(self) -> ModelResult:
        """The model of least cost."""
        return self.models[0]

    @property
    def gaps(self) -> dict[str, Difference]:
        """The leader against each other model."""
        return {gap.against: gap for gap in self.differences if gap.model == self.leader.name}

    @property
    def undecided(self) -> tuple[str, ...]:
        """The models that the data do not tell apart from the leader.

        Zero inside its own paired interval is what counts, however many models there are: that the one which came
        out first is told apart from all others by chance is likeliest if there are two (Gutmann and Maymin, Is the
        selected population the best?, 1987).
        """
        return tuple(name for name, gap in self.gaps.items() if not gap.is_settled)

    @property
    def lifted(self) -> list[ModelResult]:
        """The models that recalibrating lifts to the leader, or past it, the cheapest then first.

        Recalibrating must save them something beyond doubt. Where they were told apart from the leader, they then
        cost no more than it does, as it is and recalibrated too; where they were not, they come out ahead.
        """
        return [model for model in self.worth_recalibrating if model is not self.leader and self._is_lifted(model)]

    @property
    def caught_up(self) -> list[ModelResult]:
        """The models that cost more than the leader, and recalibrated still do, but no longer beyond doubt.

        That may be for want of cases, so it is no reason to recalibrate them first.
        """
        settled = [model for model in self.worth_recalibrating if model.name in set(self.gaps) - {*self.undecided}]
        behind = [model for model in settled if not self._is_lifted(model)]
        return [model for model in behind if not any(gap.is_above_zero for gap in self._gaps_recalibrated(model))]

    @property
    def worth_recalibrating(self) -> list[ModelResult]:
        """The models that recalibrating makes cheaper beyond doubt, the cheapest then first."""
        able = [model for model in self.models if model.recalibrated is not None]
        able = [model for model in able if _recalibrated(model).saved.is_above_zero]
        return sorted(able, key=_cost_recalibrated)

    def _gaps_recalibrated(self, model: ModelResult) -> tuple[Estimate, Estimate]:
        return _recalibrated(model).against_leader, self.both_recalibrated[model.name]

    def _is_lifted(self, model: ModelResult) -> bool:
        gaps = self._gaps_recalibrated(model)
        if model.name in self.undecided:
            return all(gap.is_below_zero for gap in gaps)
        return all(self._is_nothing(gap) or (gap.is_trusted and (gap.value or 0.0) <= 0) for gap in gaps)

    def _is_nothing(self, gap: Estimate) -> bool:
        """Whether no reader would notice it, wherever in its interval it lies."""
        if gap.low is None or gap.high is None:
            return False
        return max(-gap.low, gap.high) <= NOTHING * self.leader.cost

    @property
    def cases_needed(self) -> int | None:
        """So many more would settle every difference that is not; None where that cannot be said."""
        needed = []
        for name in self.undecided:
            more = more_cases(self.gaps[name], self.cases, self.clusters, self.level, POWER)
            if more is None:
                return None
            needed.append(more)
        return max(needed, default=None)

    def per_case(self, estimate: Estimate, more: str = "") -> str:
        """An amount and its interval."""
        return per_case(estimate, self.unit, more)


def verdict(evidence: Evidence) -> Decision:
    """Deploy the cheapest model if the data tell it apart from every other and recalibrating changes nothing."""
    kind: Literal["deploy", "undecided", "recalibrate", "single"] = "deploy"
    if len(evidence.models) == 1:
        kind = "single"
    elif evidence.lifted:
        kind = "recalibrate"
    elif evidence.undecided:
        kind = "undecided"
    first = {"deploy": _deploy, "undecided": _undecided, "recalibrate": _recalibrate, "single": _single}[kind]
    sentences = (*first(evidence), *_at_stated_prices(evidence))
    lifted = tuple(model.name for model in evidence.lifted)
    return Decision(kind, evidence.leader.name, evidence.undecided, evidence.cases_needed, lifted, sentences)


def _single(evidence: Evidence) -> list[str]:
    cost = evidence.per_case(evidence.leader.scores["expected_cost"])
    return [f"A {evidence.what} by {evidence.leader.name} costs {cost}.", *_own_saving(evidence)]


def _deploy(evidence: Evidence) -> list[str]:
    leader, cost = evidence.leader.name, evidence.per_case(evidence.leader.scores["expected_cost"])
    best = f"its {evidence.what} costs {cost}, the least of {len(evidence.models)} models"
    return [f"Deploy {leader}: {best}.", _runner_up(evidence), *_own_saving(evidence), *_caught_up(evidence)]


def _undecided(evidence: Evidence) -> list[str]:
    """Who is not told apart, how many cases would do so, and who costs more all the same."""
    sentences = _not_told_apart(evidence, evidence.undecided)
    settled = [name for name in evidence.gaps if name not in evidence.undecided]
    if settled:
        sentences.append(f"{_named(settled)} cost{'s' * (len(settled) == 1)} more than {evidence.leader.name}.")
    return [*sentences, _runner_up(evidence), *_might_be_lifted(evidence), *_caught_up(evidence)]


def _not_told_apart(evidence: Evidence, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    return [f"{_named((evidence.leader.name, *names))} cannot be told apart yet: {_why_undecided(evidence)}."]


def _why_undecided(evidence: Evidence) -> str:
    gaps = [evidence.gaps[name] for name in evidence.undecided]
    if all(gap.difference == 0 for gap in gaps):
        return "they cost the same"
    doubt = next((gap.warning for gap in gaps if gap.warning is not None), None)
    if doubt is not None:
        return doubt.removesuffix(f": {DO_NOT_TRUST}")
    if any(gap.low is None for gap in gaps):
        return "it takes more than one independent case"
    if (cases := evidence.cases_needed) is None:
        return "their costs are too close"
    size = 10 ** max(0, len(str(cases)) - 2)  # to two digits, upwards
    settle = f"would settle a difference of this size ({100 * POWER:.0f} % power)"
    return f"about {-(-cases // size) * size:,} more cases {settle}"


def _recalibrate(evidence: Evidence) -> list[str]:
    leader, model = evidence.leader.name, evidence.lifted[0]
    gap = _recalibrated(model).against_leader
    then, now = (money(amount, evidence.unit) for amount in (_cost_recalibrated(model), evidence.leader.cost))
    if gap.is_below_zero:
        costs = evidence.per_case(gap.turned, f" less than {leader}")
    else:
        level = "no more than" if (gap.value or 0.0) <= 0 else "about as much as"
        costs = f"{level} {leader} ({then} against {now} per case)"
    others = [other.name for other in evidence.lifted[1:]]
    more = [f"The same goes for {_named(others)}."] if others else []
    undecided = [name for name in evidence.undecided if name != model.name]
    as_it_is = f"As they are, {leader} and {model.name} cannot be told apart."
    if model.name not in evidence.undecided:
        more_now = evidence.per_case(evidence.gaps[model.name].more, f" more than {leader}")
        as_it_is = f"As it is, {model.name} costs {more_now}."
    first = f"Recalibrate {model.name} first: it then costs {costs}."
    return [first, *_not_told_apart(evidence, undecided), *more, as_it_is]


def _might_be_lifted(evidence: Evidence) -> list[str]:
    """The cheapest recalibrated self among models that the data do not tell apart anyway, if it saves for sure."""
    names = (evidence.leader.name, *evidence.undecided)
    best = next((model for model in evidence.worth_recalibrating if model.name in names), None)
    if best is None:
        return []
    saved, then = evidence.per_case(_recalibrated(best).saved), money(_cost_recalibrated(best), evidence.unit)
    return [f"Recalibrate {best.name} in any case: that saves {saved}, and it then costs {then}."]


def _caught_up(evidence: Evidence) -> list[str]:
    """What recalibrating makes of worse models that these data then no longer tell apart from the leader."""
    if not (models := evidence.caught_up):
        return []
    then, others = money(_cost_recalibrated(models[0]), evidence.unit), [model.name for model in models[1:]]
    also = f"; nor could {_named(others)}" if others else ""
    apart = f"could not be told apart from {evidence.leader.name}{also}"
    return [f"Recalibrated, {models[0].name} costs {then} per case and {apart}."]


def _own_saving(evidence: Evidence) -> list[str]:
    """What recalibrating the leader itself would save, where that is beyond doubt."""
    later = evidence.leader.recalibrated
    if later is None or not later.saved.is_above_zero:
        return []
    if (later.saved.value or 0.0) < NOTHING * evidence.leader.cost:
        return []
    return [f"Recalibrate it, too: that saves {evidence.per_case(later.saved)}."]


def _runner_up(evidence: Evidence) -> str:
    second, leader = evidence.models[1].name, evidence.leader
    gap = evidence.gaps[second]
    if gap.low is None or leader.probability_best is None:
        return "How sure that is cannot be said: it takes more than one independent case."
    sure = f"{leader.name} is the cheapest with probability {percent(leader.probability_best)}"
    more = "the same" if gap.difference == 0 else evidence.per_case(gap.more, " more")
    return f"The runner-up, {second}, costs {more}; {sure}."


def _at_stated_prices(evidence: Evidence) -> list[str]:
    """One sentence, if another model is the cheapest where prices are exactly as stated."""
    costs = {model.name: model.at_stated_prices.value for model in evidence.models if model.at_stated_prices}
    if evidence.unit is None or len(costs) < 2:
        return []
    first = min(costs, key=lambda name: costs[name] or 0.0)
    if first == evidence.leader.name or not (gap := evidence.gaps[first].realised).value:
        return []
    doubt = "" if gap.is_above_zero else ", which these data do not settle"
    less = evidence.per_case(gap, f" less than {evidence.leader.name}")
    return [f"If prices are exactly as stated, {first} is the cheapest: {less}{doubt}."]


def _recalibrated(model: ModelResult) -> Recalibrated:
    assert model.recalibrated is not None
    return model.recalibrated


def _cost_recalibrated(model: ModelResult) -> float:
    return _recalibrated(model).cost.value or 0.0


def _named(names: Sequence[str]) -> str:
    """All of a few names, or the first and how many more there are."""
    if len(names) <= MOST_NAMES:
        return listed(names)
    return listed([*names[: MOST_NAMES - 1], f"{len(names) - MOST_NAMES + 1} others"])
